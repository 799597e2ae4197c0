# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Converts results of `kubernetes.core.k8s` to the outcome of a plan. Pure."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass, field

from .._base.types import Json
from .._engine.api_resources import key_of
from .._engine.desired import Outcome, Refusal
from .._engine.plan import Plan

_NO_SUCH_KIND = re.compile(r"Failed to find exact match for (?P<version>\S+)\.(?P<kind>\w+) by ")
_NO_SUCH_PATH = "404 page not found"
_LOST = "Max retries exceeded"
_NO_CONNECTION = re.compile(r"[\]:(] ?([\w ]+)[\"')]*$")
_TAIL = 300
_FIXED = re.compile(r"metadata\.uid: Invalid value: .*: field is immutable")


@dataclass(frozen=True)
class TaskResults:
    """What the tasks registered that executed a plan: its `adopt`, `apply` and `prune`.

    Each is empty, or marked as skipped, if the task did not run.
    """

    adopted: Json = field(default_factory=dict)
    written: Json = field(default_factory=dict)
    deleted: Json = field(default_factory=dict)


def make_outcome(plan: Plan, results: TaskResults, failure: str, *, dry: bool) -> Outcome:
    """The outcome of a plan, from the results of the tasks that executed it.

    ``failure`` is why the run ended early, if it did. After a ``dry`` run nothing counts as
    written. An adoption that was refused for another reason than a race is tried again by the next
    pass, whenever that is.
    """
    refusals = list(plan.refusals)
    applied: dict[str, Json] = {}
    gone: list[str] = []
    raced: list[str] = []
    for patch, result in zip(plan.adopt, _results(results.adopted), strict=False):
        if (error := result.get("error")) and is_race(status_code(str(error.get("msg"))), ""):
            raced.append(key_of(patch))
    for want, result in zip(plan.apply, _results(results.written), strict=False):
        if error := result.get("error"):
            _sort_error(want, error, raced, refusals)
        elif result.get("result"):
            applied[key_of(want)] = result["result"]
    for reference, result in zip(plan.prune, _results(results.deleted), strict=False):
        error = result.get("error")
        if error and status_code(str(error.get("msg"))) != 404:
            _sort_error(reference, error, raced, refusals)
        else:
            gone.append(key_of(reference))
    return Outcome(
        written={} if dry else applied,
        deleted=[] if dry else gone,
        raced=raced,
        refusals=refusals,
        failure=failure or plan.failure,
        failure_reason=("" if failure else plan.failure_reason) or "Failed",
    )


def _results(result: Json) -> list[Json]:
    """One result for each object: the module unwraps a list of one, and a skipped task has none.

    A loop has one for each iteration.
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
    """Whether the API server refused because the object is not the one that was observed."""
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
    """(the module's words, the body), which the module prints as a Python bytes literal."""
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
