# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Results have the shapes of kubernetes.core 6; tests/unit/plugins/action shows that they do."""

from __future__ import annotations

import json

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._cluster.task_results import (
    make_outcome,
    refusal_text,
    status_code,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import Refusal
from ansible_collections.nimops.nim.plugins.module_utils._engine.plan import Plan


def status(message, code=422):
    return json.dumps({"kind": "Status", "message": message, "code": code})


def in_bytes(message, code=422, what="apply"):
    return f"Failed to {what} object: {(status(message, code) + chr(10)).encode()!r}"


INVALID = 'Deployment.apps "llm" is invalid: spec.replicas: Invalid value: -1: must be >= 0'


REFUSAL_TEXT_CASES = {
    "bytes": (in_bytes(INVALID), INVALID),
    "text": (f"Failed to apply object: {status(INVALID)}", INVALID),
    "quotes": (in_bytes('it\'s "quoted" \\ and\nlong ÷ ü'), 'it\'s "quoted" \\ and\nlong ÷ ü'),
    "delete": (in_bytes(INVALID, what="delete"), INVALID),
    "retrieve": (f"Failed to retrieve requested object: {status('no')}", "no"),
    "plain body": (
        "Failed to apply object: b'upstream broke\\n'",
        "Failed to apply object: upstream broke",
    ),
    "cut": ("Failed to apply object: b'broken", "Failed to apply object: b'broken"),
    "no Status": ("Failed to apply object: [1]", "Failed to apply object: [1]"),
    "no message": ("Failed to apply object: {}", "Failed to apply object: {}"),
    "other": ("something else: it broke", "something else: it broke"),
    "no colon": ("nothing known", "nothing known"),
    "kind is missing": (
        "Failed to find exact match for x.io/v1.HTTPRoute by [kind, name, singularName, shortNames]",
        'no matches for kind "HTTPRoute" in version "x.io/v1"',
    ),
    "kind went missing": (
        "Failed to apply object: b'404 page not found\\n'",
        'no matches for kind "HTTPRoute" in version "x.io/v1"',
    ),
    "down": (
        "Failed to apply object: HTTPConnectionPool(host='127.0.0.1', port=1): Max retries exceeded with url:"
        " /x (Caused by NewConnectionError(\"HTTPConnection(host='127.0.0.1', port=1): Failed to establish"
        ' a new connection: [Errno 111] Connection refused"))',
        "the API server cannot be reached: connection refused",
    ),
    "down in another way": (
        "Failed to apply object: HTTPSConnectionPool(host='h', port=1): Max retries exceeded with url: /x"
        " (Caused by ConnectTimeoutError(<HTTPSConnection(host='h', port=1) at 0x7f>,"
        " 'Connection to h timed out. (connect timeout=5)'))",
        "Failed to apply object: HTTPSConnectionPool",
    ),
}


@pytest.mark.parametrize(("text", "expected"), REFUSAL_TEXT_CASES.values(), ids=REFUSAL_TEXT_CASES)
def test_refusal_text(text, expected):
    found = refusal_text(text, "HTTPRoute", "x.io/v1")
    assert found == expected or (expected.endswith("Pool") and found.startswith(expected))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (in_bytes("gone", 404), 404),
        (in_bytes("no", 403), 403),
        (in_bytes("no", "x"), 0),
        ("Failed to delete object: b'404 page not found'", 0),
        ("None", 0),
    ],
)
def test_status_code(text, code):
    assert status_code(text) == code


def want(name, kind="Service"):
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "nim"}}


A, B = want("a"), want("b")
DONE_A = A | {"spec": {"clusterIP": "10.0.0.1"}}
OK_A = {"changed": True, "result": DONE_A, "method": "apply"}
REFUSED = {
    "changed": False,
    "result": {},
    "error": {"reason": "Unprocessable Entity", "msg": in_bytes("no")},
}
SKIPPED = {"changed": False, "skipped": True, "skip_reason": "Conditional result was False"}


def many(*results):
    return {"changed": True, "result": {"results": list(results)}}


def outcome(plan, written=None, deleted=None, failure="", dry=False):
    results = {"first": written or {}, "prune": deleted or {}}
    return make_outcome(Plan.from_dict(plan), results, failure, dry=dry)


MAKE_OUTCOME_WRITTEN_CASES = {
    "one": ({"apply": [A]}, OK_A, ["Service/nim/a"], []),
    "one refused": ({"apply": [A]}, REFUSED, [], [("Service", "a", "no")]),
    "several": (
        {"apply": [A, B]},
        many(OK_A, {"result": B}),
        ["Service/nim/a", "Service/nim/b"],
        [],
    ),
    "some refused": (
        {"apply": [A, B]},
        many(REFUSED, {"result": B}),
        ["Service/nim/b"],
        [("Service", "a", "no")],
    ),
    "refused without a message": (
        {"apply": [A]},
        {"changed": False, "result": {}, "error": {"reason": ""}},
        [],
        [("Service", "a", "rejected without a message")],
    ),
    "skipped": ({"apply": []}, SKIPPED, [], []),
    "nothing": ({}, {}, [], []),
    "no object": ({"apply": [A]}, {"result": {}, "changed": False}, [], []),
    "has results": ({"apply": [A]}, {"result": A | {"results": [1]}}, ["Service/nim/a"], []),
    "ours come first": (
        {"apply": [A], "refusals": [{"kind": "Job", "name": "j", "message": "not ours"}]},
        REFUSED,
        [],
        [("Job", "j", "not ours"), ("Service", "a", "no")],
    ),
}


@pytest.mark.parametrize(
    ("plan", "written", "names", "refusals"),
    MAKE_OUTCOME_WRITTEN_CASES.values(),
    ids=MAKE_OUTCOME_WRITTEN_CASES,
)
def test_make_outcome_written(plan, written, names, refusals):
    found = outcome(plan, written)
    assert list(found.written) == names
    assert found.refusals == [Refusal(*item) for item in refusals]


MAKE_OUTCOME_DELETED_CASES = {
    "one": (
        {"changed": True, "result": {"status": "Success"}, "method": "delete"},
        ["Service/nim/a"],
        [],
    ),
    "was gone": ({"changed": False, "result": {}, "method": "delete"}, ["Service/nim/a"], []),
    "just gone": (
        {"result": {}, "error": {"msg": in_bytes("not found", 404, "delete")}},
        ["Service/nim/a"],
        [],
    ),
    "refused": (
        {"result": {}, "error": {"msg": in_bytes("may not", 403, "delete")}},
        [],
        [("Service", "a", "may not")],
    ),
    "skipped": (SKIPPED, [], []),
}


@pytest.mark.parametrize(
    ("deleted", "names", "refusals"),
    MAKE_OUTCOME_DELETED_CASES.values(),
    ids=MAKE_OUTCOME_DELETED_CASES,
)
def test_make_outcome_deleted(deleted, names, refusals):
    found = outcome({"prune": [A]}, deleted=deleted)
    assert found.deleted == names
    assert found.refusals == [Refusal(*item) for item in refusals]


REPLACED = 'Deployment.apps "a" is invalid: metadata.uid: Invalid value: "u1": field is immutable'


@pytest.mark.parametrize(
    ("message", "code", "is_raced"),
    [
        pytest.param("the object has been modified", 409, True, id="appeared"),
        pytest.param("the UID in the precondition does not match", 409, True, id="went"),
        pytest.param(REPLACED, 422, True, id="replaced"),
        pytest.param('"a" is invalid: spec.selector: field is immutable', 422, False, id="refused"),
        pytest.param("no", 403, False, id="forbidden"),
        pytest.param(REPLACED, 400, False, id="another answer that says so"),
    ],
)
def test_make_outcome_raced(message, code, is_raced):
    result = {"result": {}, "error": {"msg": in_bytes(message, code)}}
    applied = outcome({"apply": [A]}, result)
    deleted = outcome({"prune": [A]}, deleted={"results": [result]})
    assert applied.raced == deleted.raced == (["Service/nim/a"] if is_raced else [])
    assert len(applied.refusals) == len(deleted.refusals) == (0 if is_raced else 1)
    assert (applied.written, deleted.deleted) == ({}, [])


@pytest.mark.parametrize(
    "deleted", [{"results": [REFUSED, {"result": {}}]}, many(REFUSED, {"result": {}})]
)
def test_make_outcome_several_deleted(deleted):
    found = outcome({"prune": [A, B]}, deleted=deleted)
    assert (found.deleted, [item.name for item in found.refusals]) == (["Service/nim/b"], ["a"])


def test_make_outcome_dry():
    found = outcome({"apply": [A], "prune": [B]}, OK_A, {"result": {}}, dry=True)
    assert (found.written, found.deleted) == ({}, [])
    assert outcome({"apply": [A]}, REFUSED, dry=True).refusals


@pytest.mark.parametrize(
    ("plan", "failure", "expected"),
    [
        ({}, "", ("", "Failed")),
        ({"failure": "bad", "failure_reason": "DRAFailed"}, "", ("bad", "DRAFailed")),
        ({"failure": "bad", "failure_reason": "DRAFailed"}, "worse", ("worse", "Failed")),
        ({"failure": "", "failure_reason": ""}, "", ("", "Failed")),
    ],
)
def test_make_outcome_failure(plan, failure, expected):
    found = outcome(plan, failure=failure)
    assert (found.failure, found.failure_reason) == expected
