# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""From the results of `kubernetes.core.k8s` to what came of a plan. Pure."""

from __future__ import annotations

import ast
import json
import re
import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.desired import (
    Outcome,
    Refusal,
    key_of,
)

Json = dict[str, t.Any]

_NO_SUCH_KIND = re.compile(r"Failed to find exact match for (?P<version>\S+)\.(?P<kind>\w+) by ")
_NO_SUCH_PATH = "404 page not found"
_LOST = "Max retries exceeded"
_NO_CONNECTION = re.compile(r"[\]:(] ?([\w ]+)[\"')]*$")
_TAIL = 300
_FIXED = re.compile(r"metadata\.uid: Invalid value: .*: field is immutable")


def make_outcome(plan: Json, written: Json, deleted: Json, failure: str, *, dry: bool) -> Outcome:
    """What came of a plan (of the filter), from the results of the tasks that carried it out.

    ``written`` and ``deleted`` are the results of applying ``plan.apply`` and of deleting
    ``plan.prune``, empty or marked as skipped if those did not run. ``failure`` is why the run
    ended early, if it did. After a ``dry`` run nothing counts as written.
    """
    refusals = [Refusal(**item) for item in plan.get("refusals", [])]
    applied: dict[str, Json] = {}
    gone: list[str] = []
    raced: list[str] = []
    for want, result in zip(plan.get("apply", []), _results(written), strict=False):
        if error := result.get("error"):
            _sort_error(want, error, raced, refusals)
        elif result.get("result"):
            applied[key_of(want)] = result["result"]
    for reference, result in zip(plan.get("prune", []), _results(deleted), strict=False):
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
        failure=failure or plan.get("failure", ""),
        failure_reason=("" if failure else plan.get("failure_reason", "")) or "Failed",
    )


def _results(result: Json) -> list[Json]:
    """One result for each object: the module folds a list of one, and a skipped task has none.

    A loop has one for each turn.
    """
    if "results" in result:
        return list(result["results"])
    below = result.get("result") or {}
    if "results" in below and "kind" not in below:
        return list(below["results"])
    return [result] if "result" in result else []


def _sort_error(manifest: Json, error: Json, raced: list[str], refusals: list[Refusal]) -> None:
    """Note what the API server said no to, by whether another look will do."""
    text = str(error.get("msg"))
    if is_race(status_code(text), refusal_text(text, "", "")):
        raced.append(key_of(manifest))
    else:
        refusals.append(_refusal(manifest, error))


def is_race(status: int, message: str) -> bool:
    """Whether the API server refused as the object is not the one that was seen."""
    return status == 409 or (status == 422 and bool(_FIXED.search(message)))


def _refusal(manifest: Json, error: Json) -> Refusal:
    text = str(error.get("msg") or error.get("reason") or "refused without a message")
    return Refusal(
        manifest["kind"],
        manifest["metadata"]["name"],
        refusal_text(text, manifest["kind"], manifest["apiVersion"]),
    )


def refusal_text(text: str, kind: str, version: str) -> str:
    """The API server's own message, out of the module's ``Failed to apply object: b'{…}'``."""
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
    """(the module's words, the body): the module prints the body's bytes as Python writes them."""
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
