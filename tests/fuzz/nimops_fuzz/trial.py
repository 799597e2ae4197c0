# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A resource, its neighbors, and its passes in a simulated cluster."""

from __future__ import annotations

import copy
import json
import time
import typing as t
from dataclasses import dataclass

from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import key_of
from ansible_collections.nimops.nim.plugins.module_utils._engine.reads import ReadLog
from hypothesis import strategies as st
from nimops_harness.cluster import Json
from nimops_harness.mentions import mentions

from .chain import Apply, FlawError, Pass, make_pass, replay, signature
from .schema import KINDS
from .simulated import SimulatedCluster
from .strategies import Draw, resources, statuses

PASSES = 6


@dataclass(frozen=True)
class Trial:
    """``number`` is the seed of the simulated cluster."""

    resource: Json
    neighbors: Json
    number: int


@st.composite
def surroundings(draw: Draw, kind: str) -> tuple[Json, Json, int]:
    """(a former status or {}, the resources that a read of another kind finds, the seed)."""
    former = draw(statuses(kind)) if draw(st.integers(0, 3)) == 2 else {}
    neighbors = {}
    for other in KINDS:
        if other != kind:
            found = draw(resources(other, 0.1))
            found["status"] = draw(statuses(other))
            if other == "ClusterPolicy" and draw(st.integers(0, 3)):
                found["spec"].setdefault("driver", {})["useNvidiaDriverCRD"] = True
            if other == "NIMCache" and draw(st.booleans()):
                found["status"] |= {"state": "Ready", "pvc": "cache-pvc"}
            neighbors[other] = found
    return former, neighbors, draw(st.integers(0, 2**32))


@st.composite
def trials(draw: Draw, kind: str, oddity: float = 0.3) -> Trial:
    """Scenes of a kind, as its schema allows them."""
    resource, around = draw(resources(kind, oddity)), draw(surroundings(kind))
    return settle(resource, around)


def settle(resource: Json, around: tuple[Json, Json, int]) -> Trial:
    """A trial of a resource as the API server has it."""
    former, neighbors, number = around
    metadata = {
        "uid": "u-1", "generation": 2, "resourceVersion": "5",
        "creationTimestamp": "2026-01-01T00:00:00Z", **resource["metadata"],
    }  # fmt: skip
    made = {**resource, "metadata": metadata} | ({"status": former} if former else {})
    return Trial(made, neighbors, number)


def play(trial: Trial, writer: t.Callable[[SimulatedCluster], Apply] | None = None) -> list[Pass]:
    """Passes one after the other, while time passes; what they raise is a finding."""
    simulated = SimulatedCluster(trial.number, trial.neighbors, trial.resource)
    write = writer(simulated) if writer else simulated.put
    resource, passes = copy.deepcopy(trial.resource), list[Pass]()
    for number in range(PASSES):
        done = make_pass(resource, simulated.ask, write, simulated.take)
        _check_foreign(done, simulated)
        passes.append(done)
        resource = resource | {"status": done.status} if done.status else resource
        if number % 2:
            simulated.pass_time()
        else:
            _check_rest(resource, simulated, done)
    return passes


def _check_foreign(done: Pass, simulated: SimulatedCluster) -> None:
    """Check that nothing refers to a foreign object, unless the spec refers to it."""
    given = json.dumps(done.resource["spec"])
    for item in (*done.plan.get("apply", []), *done.plan.get("adopt", [])):
        for kind, name in simulated.foreign:
            if f'"{name}"' in given:
                continue
            if (item["kind"], item["metadata"]["name"]) == (kind, name):
                raise FlawError(f"{kind} of others is written", done)
            if paths := mentions(item, kind, name):
                raise FlawError(f"{item['kind']} refers to {kind} of others: {paths[0]}", done)


def _check_rest(resource: Json, simulated: SimulatedCluster, before: Pass) -> None:
    """Check that an unchanged object is not applied again."""
    answers = copy.deepcopy(before.answers)

    def ask(read: t.Any) -> t.Any:
        is_current = read.target is not None or isinstance(read, ReadLog)
        if is_current or read.key not in answers:
            return simulated.ask(read)
        return answers[read.key]

    again = make_pass(resource, ask)
    known = [item for item in before.plan.get("apply", []) if key_of(item) in before.written]
    for item in again.plan.get("apply", []):
        if item in known:
            raise FlawError(f"{item['kind']} is applied again although it is there", again)


def reduce(case: Json, wanted: str, seconds: float = 8) -> Json:
    """A smaller case that ends the same way, as small as it gets in this time."""
    best, end = case, time.monotonic() + seconds
    is_smaller = _ends(case) == wanted
    while is_smaller:
        is_smaller = False
        for smaller in _smaller(best):
            if time.monotonic() > end:
                break
            if _ends(smaller) == wanted:
                best, is_smaller = smaller, True
                break
    return best


def _ends(case: Json) -> str:
    try:
        replay(case)
    except Exception as error:
        return signature(error)
    return ""


def _smaller(value: t.Any, depth: int = 0) -> t.Iterator[t.Any]:
    """The value without one of its parts, the large ones first."""
    if isinstance(value, dict):
        for key in sorted(value, key=lambda name: -len(json.dumps(value[name]))):
            if depth > 0 and key not in ("metadata", "kind", "name", "apiVersion"):
                yield {name: item for name, item in value.items() if name != key}
        for key in value:
            for item in _smaller(value[key], depth + 1):
                yield {**value, key: item}
    elif isinstance(value, list):
        for index in range(len(value)):
            yield value[:index] + value[index + 1 :]
        for index, below in enumerate(value):
            for item in _smaller(below, depth + 1):
                yield [*value[:index], item, *value[index + 1 :]]
