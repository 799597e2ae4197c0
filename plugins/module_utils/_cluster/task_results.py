# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Converts the registered results of a role's tasks to the outcome of a plan.

Most of these tasks run `kubernetes.core.k8s`.
"""

from __future__ import annotations

import ast
import json
import re
import typing as t

from .._base.types import Json
from .._engine.api_resources import ObjectKey, identity, key_of
from .._engine.desired import Outcome, Refusal
from .._engine.plan import Plan
from .._engine.stages import APPLIED, STAGES, stages_of
from .._engine.write_order import turns

_NO_SUCH_KIND = re.compile(r"Failed to find exact match for (?P<version>\S+)\.(?P<kind>\w+) by ")
_NO_SUCH_PATH = "404 page not found"
_LOST = "Max retries exceeded"
_NO_CONNECTION = re.compile(r"[\]:(] ?([\w ]+)[\"')]*$")
_TAIL = 300
_FIXED = re.compile(r"metadata\.uid: Invalid value: .*: field is immutable")


Results = t.Mapping[str, Json]
"""Stage → the registered result of its task; empty or marked as skipped if it did not run."""


def writable(plan: Plan, stage: str, results: Results) -> list[Json]:
    """The children of a stage, except those that refer to a child that was not written."""
    tally = _Tally(plan, results)
    tally.count(until=stage)
    return tally.unblocked(tally.stages[stage])


def make_outcome(plan: Plan, results: Results, failure: str, *, dry: bool) -> Outcome:
    """The outcome of a plan, from the results of the tasks that executed it.

    ``failure``: why the run ended early, if it did. After a ``dry`` run nothing counts as written.
    The next pass repeats an adoption that was refused for any reason but a race.
    """
    tally = _Tally(plan, results)
    tally.count()
    return Outcome(
        written={} if dry else tally.written,
        deleted=[] if dry else tally.deleted,
        raced=tally.raced,
        refusals=[*plan.refusals, *tally.refusals, *tally.waiting],
        failure=failure or plan.failure,
        failure_reason=("" if failure else plan.failure_reason) or "Failed",
        held=tally.held,
    )


class _Tally:
    """The results so far, counted stage by stage."""

    def __init__(self, plan: Plan, results: Results) -> None:
        order = turns(plan.apply)
        self.stages = stages_of(plan, order)
        self.written: dict[str, Json] = {}
        self.deleted: list[str] = []
        self.raced: list[str] = []
        self.refusals: list[Refusal] = []
        self.waiting: list[Refusal] = []
        """Refusals of children whose references were not written; listed after the root cause."""
        self.held: dict[str, str] = {}
        self._results = results
        self._turns = {identity(turn.manifest): turn for turn in order}
        self._failed: set[ObjectKey] = set()

    def count(self, until: str = "") -> None:
        """Count the results of the stages before ``until``, or of all stages."""
        for name in STAGES:
            if name == until:
                return
            result, items = self._results.get(name) or {}, self.stages[name]
            if name in APPLIED:
                self._count_applied(self.unblocked(items), result)
            elif name == "adopt":
                self._count_adopted(items, result)
            elif name == "prune":
                self._count_deleted(items, result)
            else:
                self._count_ours(self.unblocked(items), result.get("outcome") or {})

    def unblocked(self, items: t.Iterable[Json]) -> list[Json]:
        """The items whose references were written; the others count as failed."""
        return [item for item in items if not self._is_blocked(item)]

    def _is_blocked(self, item: Json) -> bool:
        key = identity(item)
        refers = self._turns[key].refers if key in self._turns else []
        target = next((target for target in refers if target in self._failed), None)
        if target is None:
            return False
        self._failed.add(key)
        if str(target) in self.raced:
            self.raced.append(str(key))
        else:
            text = f'waits for {target.kind} "{target.name}"'
            self.waiting.append(Refusal(key.kind, key.name, text))
        return True

    def _count_applied(self, items: list[Json], result: Json) -> None:
        for want, item in zip(items, _results(result), strict=False):
            if error := item.get("error"):
                _sort_error(want, error, self.raced, self.refusals)
                self._failed.add(identity(want))
            elif item.get("result"):
                self.written[key_of(want)] = item["result"]

    def _count_adopted(self, items: list[Json], result: Json) -> None:
        for patch, item in zip(items, _results(result), strict=False):
            error = item.get("error")
            if error and is_race(status_code(str(error.get("msg"))), ""):
                self.raced.append(key_of(patch))

    def _count_deleted(self, items: list[Json], result: Json) -> None:
        for reference, item in zip(items, _results(result), strict=False):
            error = item.get("error")
            if error and status_code(str(error.get("msg"))) != 404:
                _sort_error(reference, error, self.raced, self.refusals)
            else:
                self.deleted.append(key_of(reference))

    def _count_ours(self, items: list[Json], outcome: Json) -> None:
        self.written |= outcome.get("written") or {}
        self.deleted += outcome.get("deleted") or []
        self.raced += outcome.get("raced") or []
        self.held |= outcome.get("held") or {}
        refusals = [Refusal(**item) for item in outcome.get("refusals") or []]
        self.refusals += refusals
        failed = {(item.kind, item.name) for item in refusals}
        for key in map(identity, items):
            if str(key) in self.raced or (key.kind, key.name) in failed:
                self._failed.add(key)


def _results(result: Json) -> list[Json]:
    """One result for each object: a loop has one per iteration, and a skipped task has none.

    The module unwraps a list of one.
    """
    if "results" in result:
        return list(result["results"])
    below = result.get("result") or {}
    if "results" in below and "kind" not in below:
        return list(below["results"])
    return [result] if "result" in result else []


def _sort_error(manifest: Json, error: Json, raced: list[str], refusals: list[Refusal]) -> None:
    """Record an error as a race, which the next pass resolves, or as a refusal."""
    text = str(error.get("msg"))
    if is_race(status_code(text), refusal_text(text, "", "")):
        raced.append(key_of(manifest))
    else:
        refusals.append(_refusal(manifest, error))


def is_race(status: int, message: str) -> bool:
    """Whether the API server refused because the object is not the observed one."""
    return status == 409 or (status == 422 and bool(_FIXED.search(message)))


def _refusal(manifest: Json, error: Json) -> Refusal:
    text = str(error.get("msg") or error.get("reason") or "rejected without a message")
    return Refusal(
        manifest["kind"],
        manifest["metadata"]["name"],
        refusal_text(text, manifest["kind"], manifest["apiVersion"]),
    )


def refusal_text(text: str, kind: str, version: str) -> str:
    """The API server's own message, from the module's ``Failed to apply object: b'{…}'``."""
    if _NO_SUCH_KIND.search(text) or _NO_SUCH_PATH in text:
        return f'no matches for kind "{kind}" in version "{version}"'
    if _LOST in text and (match := _NO_CONNECTION.search(text[-_TAIL:])):
        return f"the API server cannot be reached: {match[1].strip().lower()}"
    intro, body = _body_of(text)
    message = (_parse_status(body) or {}).get("message")
    return str(message or (f"{intro}: {body}" if intro else body))


def status_code(text: str) -> int:
    """The HTTP status of the `Status` object in the module's message, 0 if there is none."""
    code = (_parse_status(_body_of(text)[1]) or {}).get("code")
    return code if isinstance(code, int) else 0


def _body_of(text: str) -> tuple[str, str]:
    """(the module's introduction, the body), which the module prints as a Python bytes literal."""
    intro, found, body = text.partition(": ")
    if not found or not intro.startswith("Failed to "):
        return "", text
    if body.startswith(("b'", 'b"')):
        try:
            return intro, ast.literal_eval(body).decode(errors="replace").strip()
        except (ValueError, SyntaxError):
            pass
    return intro, body.strip()


def _parse_status(body: str) -> Json | None:
    try:
        status = json.loads(body)
    except ValueError:
        return None
    return status if isinstance(status, dict) else None
