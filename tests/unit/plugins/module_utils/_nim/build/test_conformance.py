# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The status of a NIMBuild compared with a recording of the reference operator."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

CONFORMANCE = Path(__file__).parents[7] / "shared" / "conformance"


@pytest.mark.skipif(
    not CONFORMANCE.is_dir(), reason="there are no recorded objects at ../shared/conformance"
)
def test_status_conformance(world, cache):
    docs = list(yaml.safe_load_all((CONFORMANCE / "cases" / "own-build.yaml").read_text()))
    spec = next(doc["spec"] for doc in docs if doc["kind"] == "NIMBuild")
    cluster = world(cache=cache(), **spec | {"nimCache": spec["nimCache"] | {"name": "llama"}})
    cluster.reconcile()
    recorded = json.loads((CONFORMANCE / "expected" / "own-build.json").read_text())["objects"]
    want = recorded["NIMBuild/nim-dev/engine"]["status"]
    own = {"observedGeneration", "reason"}
    have = {key: value for key, value in cluster.status.items() if key not in own}
    have["conditions"] = [
        {key: item[key] for key in ("message", "reason", "status", "type")}
        for item in have["conditions"]
    ]
    added = [have["conditions"].pop()["type"] for _number in range(2)]
    assert added == ["Stalled", "Ready"], "the differences: they are for tools that wait"
    assert have == want
