# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "molecule/gpu"))

import upgrade_timeline as seen

DRIVER = {"app.kubernetes.io/component": "nvidia-driver"}
SERVED = {"app.kubernetes.io/part-of": "nim-service", "app.kubernetes.io/name": "chat"}
GONE, LEAVING, UNREADY = "gone", "leaving", "unready"


def node(name: str, *, is_cordoned: bool) -> tuple[seen.Json, bool]:
    spec = {"unschedulable": True} if is_cordoned else {}
    return {"kind": "Node", "metadata": {"name": name}, "spec": spec}, True


def pod(
    name: str, labels: seen.Json, state: str = "", phase: str = "Running"
) -> tuple[seen.Json, bool]:
    metadata: seen.Json = {"name": name, "uid": name, "labels": labels}
    if state == LEAVING:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    ready = {"type": "Ready", "status": "False" if state == UNREADY else "True"}
    item = {
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"nodeName": "a", "containers": [{"image": f"{name}:1"}]},
        "status": {"phase": phase, "conditions": [ready]},
    }
    return item, state != GONE


CORDONED, UNCORDONED = node("a", is_cordoned=True), node("a", is_cordoned=False)
NIM, OLD, NEW = pod("nim", SERVED), pod("old", DRIVER), pod("new", DRIVER)


def play(*events: tuple[seen.Json, bool]) -> seen.Json:
    return seen.see_all(
        [(version, is_there, item) for version, (item, is_there) in enumerate(events)]
    )


def test_drain_before_driver() -> None:
    found = play(
        *(UNCORDONED, OLD, NIM, CORDONED, pod("nim", SERVED, LEAVING), pod("nim", SERVED, GONE)),
        *(pod("old", DRIVER, LEAVING), pod("old", DRIVER, GONE), NEW, UNCORDONED),
    )
    assert found == {
        "cordoned": ["a"],
        "at_once": 1,
        "ready": {"chat": 0},
        "drivers": {"a": ["old:1", "new:1"]},
        "wrong": [],
    }


@pytest.mark.parametrize(
    ("events", "wrong"),
    [
        ((NIM, pod("nim", SERVED, LEAVING)), ["nim left a, which was not cordoned"]),
        (
            (NIM, CORDONED, UNCORDONED, pod("nim", SERVED, GONE)),
            ["nim left a, which was not cordoned"],
        ),
        ((OLD, NIM, CORDONED, pod("old", DRIVER, GONE)), ["old left a while nim was there"]),
        (
            (pod("job", {"job": "x"}), NIM, CORDONED, pod("nim", SERVED, GONE)),
            ["nim left a while job was there"],
        ),
        (
            (
                pod("job", {"job": "x"}),
                NIM,
                CORDONED,
                pod("job", {"job": "x"}, phase="Succeeded"),
                pod("nim", SERVED, GONE),
            ),
            [],
        ),
    ],
)
def test_early_departure(events: tuple[tuple[seen.Json, bool], ...], wrong: list[str]) -> None:
    assert play(*events)["wrong"] == wrong


def test_cordon_counts() -> None:
    other = node("b", is_cordoned=True)
    found = play(CORDONED, CORDONED, other, UNCORDONED, CORDONED)
    assert (found["cordoned"], found["at_once"]) == (["a", "b", "a"], 2)


@pytest.mark.parametrize("state", [UNREADY, LEAVING, GONE])
def test_minimum_replicas_since_cordon(state: str) -> None:
    two = pod("two", SERVED)
    assert play(NIM, two, CORDONED, pod("two", SERVED, state), two)["ready"] == {"chat": 1}
    assert play(NIM, pod("two", SERVED, state), two, CORDONED, two)["ready"] == {"chat": 2}


def test_events_by_resource_version(tmp_path: Path) -> None:
    def write(name: str, *events: tuple[int, tuple[seen.Json, bool]]) -> Path:
        texts = []
        for version, (item, is_there) in events:
            metadata = {**item["metadata"], "resourceVersion": str(version)}
            kind = "MODIFIED" if is_there else "DELETED"
            texts.append(
                json.dumps({"type": kind, "object": {**item, "metadata": metadata}}, indent=1)
            )
        (tmp_path / name).write_text("\n".join([*texts, '{"type": "MODI']))
        return tmp_path / name

    paths = [
        write("nodes", (3, CORDONED), (9, UNCORDONED)),
        write("pods", (1, NIM), (5, pod("nim", SERVED, GONE))),
    ]
    found = seen.see_all(event for path in paths for event in seen.read_events(path))
    assert (found["cordoned"], found["wrong"], found["ready"]) == (["a"], [], {"chat": 0})
