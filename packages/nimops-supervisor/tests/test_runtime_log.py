# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The runtime's log as it is written, and what passes of it."""

from __future__ import annotations

import json
import time

import pytest

from nimops_supervisor.runtime_log import NOT_SERVED, QUIET_SECONDS, Filter

STACK = "github.com/operator-framework/x\n\t/x.go:1"
GVK = "apps.nvidia.com/v1alpha1, Kind={}"
MAPPER = {"logger": "proxy", "msg": "Cache miss, can not find in rest mapper", "error": 'no matches for kind "X"'}


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def passed(clock):
    """Feeds entries and returns those that pass."""
    chosen = Filter(clock)

    def feed(*entries):
        lines = [chosen.take(json.dumps(entry, separators=(",", ":")).encode() + b"\n") for entry in entries]
        return [json.loads(line) for line in lines if line]

    return feed


def error(**fields):
    return {"level": "error", "ts": "t", **fields, "stacktrace": STACK}


def start(job, kind="NIMService", name="a"):
    head = {"level": "info", "ts": "t", "logger": "logging_event_handler", "msg": "[playbook task start]"}
    return head | {"name": name, "namespace": "ns", "gvk": GVK.format(kind), "job": job}


def success(job, name="a"):
    return {"level": "info", "msg": "Ansible-runner exited successfully", "job": job, "name": name, "namespace": "ns"}


def failure(job, cause="no", kind="NIMService", name="a"):
    """The lines of the runtime about a failed pass."""
    run = {"job": job, "name": name, "namespace": "ns"}
    return [
        start(job, kind, name),
        error(logger="logging_event_handler", msg="", gvk=GVK.format(kind), error="[playbook task failed]", **run),
        error(logger="runner", msg=f"\x1b[0;31m{cause}\x1b[0m", error="exit status 2", **run),
        {"level": "info", "msg": "Warning: Reconciler returned both a non-zero result and a non-nil error."},
        error(
            msg="Reconciler error",
            controller=f"{kind.lower()}-v1alpha1-controller",
            name=name,
            namespace="ns",
            reconcileID=f"id-{job}",
            error="event runner on failed",
        ),
    ]


def errors(entries):
    return [(entry["name"], entry["msg"]) for entry in entries if entry["level"] == "error"]


def test_take_failed_pass(passed):
    found = passed(*failure("1"))
    assert [entry.get("logger") for entry in found] == ["logging_event_handler", "runner"]
    assert "stacktrace" not in found[1]
    assert found[1]["error"] == "exit status 2"


def test_take_same_failure_again(passed):
    passed(*failure("1"))
    assert errors(passed(*failure("2"), *failure("3"))) == []


def test_take_result(passed):
    result = 'PLAY [a]\r\nfatal: [localhost]: FAILED! => {{"changed": {}, "msg": "no \\"{}\\" here", "written": {}}}'
    passed(*failure("1", "prefork: starting one\n" + result.format("true", "X", '["Role/a"]')))
    assert errors(passed(*failure("2", result.format("false", "X", "[]")))) == []
    assert len(errors(passed(*failure("3", result.format("false", "Y", "[]"))))) == 1


def test_take_output_in_linear_time(passed):
    """The output of a run contains text of users, which must not occupy the supervisor."""

    def seconds(count):
        text, times = "FAILED! => " * count, []
        for number in range(3):
            entries = failure(f"{count}-{number}", text)
            begin = time.process_time()
            passed(*entries)
            times.append(time.process_time() - begin)
        return min(times)

    assert seconds(16_000) < 80 * seconds(1_000)


@pytest.mark.parametrize("value", ["[" * 200_000, '"no end', "1", ""])
def test_take_odd_result(passed, value):
    found = passed(*failure("1", f'FAILED! => {{"msg": {value}'))
    assert len(errors(found)) == 1


def test_take_nested_line():
    line = b'{"level":"error","a":' + b"[" * 200_000 + b"\n"
    assert Filter().take(line) == line


def test_take_change(passed):
    passed(*failure("1"))
    assert len(errors(passed(*failure("2", "other")))) == 1
    assert len(errors(passed(*failure("3")))) == 1


def test_take_after_success(passed):
    passed(*failure("1"))
    assert errors(passed(start("2"), success("2"))) == []
    assert len(errors(passed(*failure("3")))) == 1


def test_take_kinds_of_one_name(passed):
    """The success of a NIMCache is not that of the NIMService of its name."""
    passed(*failure("1"))
    passed(start("2", "NIMCache"), success("2"))
    assert errors(passed(*failure("3"))) == []
    assert len(errors(passed(*failure("4", kind="NIMCache")))) == 1


def test_take_resources(passed):
    assert len(errors(passed(*failure("1", name="a"), *failure("2", name="b")))) == 2


def test_take_reconciler_error_alone(passed):
    """Some errors are only in the last line, such as a deletion without a finalizer."""
    (last,) = [entry for entry in failure("1") if entry["msg"] == "Reconciler error"]
    assert len(errors(passed(last))) == 1
    assert errors(passed(last | {"reconcileID": "other"})) == []
    assert len(errors(passed(last | {"error": "other"}))) == 1


def test_take_missing_kind(passed, clock):
    (line,) = passed(error(**MAPPER))
    assert line == {"level": "info", "ts": "t"} | MAPPER | {"msg": NOT_SERVED}
    for clock.now in range(0, 3 * int(QUIET_SECONDS), 60):
        assert passed(error(**MAPPER)) == []
    assert len(passed(error(**MAPPER | {"error": 'no matches for kind "Y"'}))) == 1
    clock.now += QUIET_SECONDS + 1
    assert len(passed(error(**MAPPER))) == 1


@pytest.mark.parametrize(
    "line",
    [b"panic: x\n", b"\n", b'{"level":"error"\n', b'{"level":"info","msg":"x"}\n', b'["level":"error"]\n', b"\xff{\n"],
)
def test_take_other_lines(line):
    chosen = Filter()
    assert [chosen.take(line), chosen.take(line)] == [line, line]


def test_take_bounded(passed):
    chosen = Filter()
    for number in range(5000):
        chosen.take(json.dumps(error(logger="proxy", msg=str(number)), separators=(",", ":")).encode())
    assert len(chosen._others) == 4096
