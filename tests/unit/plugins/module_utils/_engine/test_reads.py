# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._cluster.facts import Facts
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import ObjectKey
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import tanzu_reads
from ansible_collections.nimops.nim.plugins.module_utils._engine.reads import (
    Read,
    ReadChild,
    ReadClaimUsers,
    ReadDigest,
    ReadHttp,
    ReadLabelled,
    ReadLastEvent,
    ReadLog,
    ReadNodeRows,
    ReadNodes,
    ReadObject,
    ReadObjects,
    ReadPods,
    ReadPresence,
    ReadProtocol,
    ReadRedacted,
    ReadRefusals,
    ReadSecretPlaceholders,
    ReadTime,
    ReadUnready,
    time_of_event,
)

ONE = ObjectKey("Secret", "nim", "s")
READS: dict[str, tuple[Read, ObjectKey | None, str]] = {
    "Pod/nim/a": (ReadObject("Pod", "nim", "a"), ObjectKey("Pod", "nim", "a"), ""),
    "Node/a": (ReadObject("Node", "nim", "a"), ObjectKey("Node", "", "a"), ""),
    "Pod/nim/c": (ReadChild("Pod", "nim", "c"), ObjectKey("Pod", "nim", "c"), ""),
    "Secret/nim/p": (ReadPresence("Secret", "nim", "p"), ObjectKey("Secret", "nim", "p"), ""),
    "Secret/nim/s": (ReadSecretPlaceholders("Secret", "nim", "s", ()), ONE, ""),
    'Secret/nim/s#["a", "b"]': (ReadDigest("Secret", "nim", "s", ("b", "a"), "", ""), ONE, ""),
    "Pod/nim/*": (ReadObjects("Pod", "nim"), None, "Pod"),
    "Pod/*": (ReadObjects("Pod", ""), None, "Pod"),
    "Deployment/*?a=b": (ReadLabelled("Deployment", "a=b"), None, "Deployment"),
    "Pod/*#spec.nodeName=a": (ReadRedacted("Pod", field="spec.nodeName=a"), None, "Pod"),
    "Pod/nim/*?a=b#": (ReadRedacted("Pod", "nim", "a=b"), None, "Pod"),
    "Pod/nim/*?a=b": (ReadPods("nim", "a=b"), None, "Pod"),
    "Pod/nim/*#claim=c": (ReadClaimUsers("nim", "c"), None, "Pod"),
    "Pod/nim/*?a=b#unready": (ReadUnready("nim", "a=b"), None, "Pod"),
    "Node/*": (ReadNodes(), None, "Node"),
    "Node/*?vsphere-tanzu": (tanzu_reads()[1], None, "Node"),
    "Job/nim/j#refusals": (ReadRefusals("Job", "nim", "j"), None, ""),
    "Job/nim/j#Failed": (ReadLastEvent("Job", "nim", "j", "Failed"), None, ""),
    "time": (ReadTime(), None, ""),
    "log": (ReadLog("log", "nim", "p", "c"), None, ""),
    "http://a": (ReadHttp("http://a"), None, ""),
    "image": (ReadProtocol("image", "registry.example/a"), None, ""),
}


@pytest.mark.parametrize("key", READS)
def test_read_answers(key: str) -> None:
    read, target, listed = READS[key]
    assert (read.key, read.target, read.listed) == (key, target, listed)


def test_read_key_of_different_answers() -> None:
    assert ReadNodes().key == ReadNodeRows().key
    assert ReadNodes() != ReadNodeRows()
    assert ReadObject("Pod", "nim", "a") != ReadChild("Pod", "nim", "a")
    assert len({ReadNodes(), ReadNodes(), ReadNodeRows()}) == 2


def test_read_flags() -> None:
    reads = [read for read, *_rest in READS.values()]
    assert [read for read in reads if read.is_child] == [ReadChild("Pod", "nim", "c")]
    assert [read for read in reads if read.is_lasting] == [tanzu_reads()[1]]
    assert {type(read).__name__ for read in reads if read.is_optional} == {
        "ReadAny",
        "ReadClaimUsers",
        "ReadLabelled",
        "ReadLastEvent",
        "ReadNodes",
        "ReadRefusals",
    }


class Absent:
    """An empty source with assumed objects."""

    def __init__(self, *assumed: str) -> None:
        self.assumed = assumed

    def get(self, *_key: str) -> None:
        return None

    def get_secret(self, *_key: str) -> None:
        return None

    def is_assumed(self, _kind: str, _namespace: str, name: str) -> bool:
        return name in self.assumed

    def list_objects(self, *_arguments: t.Any, **_options: t.Any) -> None:
        return None

    def list_unready(self, *_where: str) -> list[str]:
        return ["a"]


@pytest.mark.parametrize(
    ("read", "answer"),
    [
        pytest.param(ReadObject("Pod", "nim", "a"), None, id="an object"),
        pytest.param(ReadSecretPlaceholders("Secret", "nim", "s", ()), None, id="a sealed Secret"),
        pytest.param(ReadDigest("Secret", "nim", "s", (), "", ""), None, id="a digest"),
        pytest.param(
            ReadDigest("ConfigMap", "nim", "known", ("a",), "", ""),
            {"version": "", "missing": [], "digest": ""},
            id="a digest of what is assumed",
        ),
        pytest.param(ReadObjects("Pod", "nim"), None, id="a kind that nobody serves"),
        pytest.param(ReadRedacted("Pod"), None, id="outlines of a kind that nobody serves"),
        pytest.param(ReadLabelled("Pod", "a"), [], id="objects with a label"),
        pytest.param(ReadPods("nim", "a"), [], id="pods"),
        pytest.param(ReadClaimUsers("nim", "a"), [], id="users of a claim"),
        pytest.param(ReadUnready("nim", "a"), [], id="a pod that has gone since"),
        pytest.param(ReadRefusals("Job", "nim", "a"), "", id="refusals"),
        pytest.param(ReadLastEvent("Job", "nim", "a", "Failed"), {}, id="an event"),
    ],
)
def test_read_answers_of_missing_objects(read: Read, answer: t.Any) -> None:
    assert read.answer(Absent("known")) == answer  # type: ignore[arg-type]


def event(number: int, kind: str, name: str, **fields: t.Any) -> dict[str, t.Any]:
    return {
        "kind": "Event",
        "metadata": {"name": f"e{number}", "namespace": "nim"},
        "involvedObject": {"kind": kind, "name": name},
        "reason": "FailedCreate",
        "message": f"no {number}",
        "lastTimestamp": f"2026-01-01T00:00:{number:02}Z",
    } | fields


EVENTS = [
    event(1, "Job", "a"),
    event(0, "Job", "a", message="older"),
    event(2, "Job", "b", message=None),
    event(3, "Job", "a-1"),
    event(4, "Job", "a", reason="Failed"),
    event(5, "StatefulSet", "a"),
    event(6, "StatefulSet", "a-10", lastTimestamp=None, eventTime="2026-01-01T00:00:06.5Z"),
    event(7, "StatefulSet", "a-b"),
    event(8, "StatefulSet", "b-1"),
    event(9, "StatefulSet", "a-1", involvedObject=None),
    event(10, "DaemonSet", "a"),
    event(11, "DaemonSet", "a-1"),
]


@pytest.mark.parametrize(
    ("read", "refusal"),
    [
        (ReadRefusals("Job", "nim", "a"), "no 1"),
        (ReadRefusals("Job", "nim", "b"), ""),
        (ReadRefusals("StatefulSet", "nim", "a"), "no 6"),
        (ReadRefusals("StatefulSet", "nim", "b"), "no 8"),
        (ReadRefusals("StatefulSet", "nim", "a-b"), "no 7"),
        (ReadRefusals("DaemonSet", "nim", "a"), "no 10"),
        (ReadRefusals("Job", "other", "a"), ""),
    ],
)
def test_read_refusals(read: ReadRefusals, refusal: str) -> None:
    assert read.answer(Facts(EVENTS)) == refusal
    assert read.answer(Facts(EVENTS[::-1])) == refusal


SEEN = {"firstTimestamp": None, "eventTime": "2026-01-01T00:00:30Z"}


@pytest.mark.parametrize(
    ("events", "message"),
    [
        pytest.param(EVENTS, "no 4", id="the reason"),
        pytest.param([*EVENTS, event(5, "Job", "a", reason="Failed")], "no 5", id="the last one"),
        pytest.param(
            [
                *EVENTS,
                event(5, "Job", "a", reason="Failed", lastTimestamp=None, **SEEN),
                event(6, "Job", "a", reason="Failed"),
            ],
            "no 5",
            id="without a last time",
        ),
        pytest.param([event(5, "Pod", "a", reason="Failed")], None, id="another kind"),
    ],
)
def test_read_last_event(events: list[dict[str, t.Any]], message: str | None) -> None:
    read = ReadLastEvent("Job", "nim", "a", "Failed")
    assert read.answer(Facts(events)).get("message") == message


SECOND = "2026-01-01T00:00:05"


@pytest.mark.parametrize(
    ("event", "time"),
    [
        ({}, ""),
        ({"lastTimestamp": f"{SECOND}Z", "eventTime": f"{SECOND}.9Z"}, f"{SECOND}Z"),
        ({"lastTimestamp": None, "eventTime": f"{SECOND}.987654Z"}, f"{SECOND}Z"),
        ({"series": {"lastObservedTime": f"{SECOND}.000001Z"}}, f"{SECOND}Z"),
    ],
)
def test_time_of_event_comparable_with_conditions(event: t.Any, time: str) -> None:
    assert time_of_event(event) == time


class Events:
    """A source with events."""

    def __init__(self, *times: t.Any) -> None:
        about = {"involvedObject": {"kind": "Job"}, "reason": "Failed"}
        self.found = [about | time | {"message": str(at)} for at, time in enumerate(times)]

    def list_objects(self, *_arguments: t.Any, **_options: t.Any) -> t.Any:
        return self.found


@pytest.mark.parametrize(
    "times",
    [
        ({"eventTime": f"{SECOND}.2Z"}, {"eventTime": f"{SECOND}.100000Z"}),
        ({"eventTime": f"{SECOND}.1Z"}, {"lastTimestamp": f"{SECOND}Z"}),
        ({"lastTimestamp": f"{SECOND}Z"}, {"eventTime": "2026-01-01T00:00:04.9Z"}),
    ],
)
def test_last_event_of_one_second(times: t.Any) -> None:
    for order in (times, times[::-1]):
        found = ReadLastEvent("Job", "nim", "j", "Failed").answer(t.cast("t.Any", Events(*order)))
        assert found["message"] == str(order.index(times[0]))
