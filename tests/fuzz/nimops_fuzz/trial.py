# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A resource, its neighbors, and its passes in a simulated cluster."""

from __future__ import annotations

import copy
import typing as t
from dataclasses import dataclass

from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import key_of
from ansible_collections.nimops.nim.plugins.module_utils._engine.reads import ReadLog
from hypothesis import strategies as st
from nimops_harness.cluster import Json

from .chain import Apply, FlawError, Pass, make_pass
from .schema import KINDS
from .simulated import SimulatedCluster
from .strategies import Draw, resources, statuses

PASSES = 6


@dataclass(frozen=True)
class Surroundings:
    """A former status or {}, what a read of each other kind finds, and the cluster's seed."""

    status: Json
    neighbors: Json
    number: int


@st.composite
def surroundings(draw: Draw, kind: str) -> Surroundings:
    """The surroundings of a resource of a kind."""
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
    return Surroundings(former, neighbors, draw(st.integers(0, 2**32)))


def play(
    resource: Json,
    around: Surroundings,
    writer: t.Callable[[SimulatedCluster], Apply] | None = None,
) -> list[Pass]:
    """Passes one after the other, while time passes; what they raise is a finding."""
    metadata = {
        "uid": "u-1", "generation": 2, "resourceVersion": "5",
        "creationTimestamp": "2026-01-01T00:00:00Z", **resource["metadata"],
    }  # fmt: skip
    resource = resource | {"metadata": metadata}
    resource |= {"status": around.status} if around.status else {}
    simulated = SimulatedCluster(around.number, around.neighbors, resource)
    write = writer(simulated) if writer else simulated.put
    passes = list[Pass]()
    for number in range(PASSES):
        done = make_pass(resource, simulated.ask, write, simulated.take)
        passes.append(done)
        resource = resource | {"status": done.status} if done.status else resource
        if number % 2:
            simulated.pass_time()
        else:
            _check_rest(resource, simulated, done)
    return passes


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
