# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""NIMCaches compared with recordings of the reference operator."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

CONFORMANCE = Path(__file__).parents[7] / "shared" / "conformance"
CASES = [
    "nim-caching-hf-nimcache", "nim-caching-ngc-mirror-https-nimcache-llm",
    "nim-caching-ngc-nimcache", "nim-serving-standalone-autoscaling-llm",
    "nim-serving-standalone-basic-llm", "nim-serving-standalone-basic-multi-llm",
    "nim-serving-standalone-full-llm", "nim-serving-standalone-routers-httproutes-llm",
    "nim-serving-standalone-routers-ingress-multi-llm", "own-build", "own-cache-explicit",
    "own-cache-precision", "own-service-hf-cache",
]  # fmt: skip

DEFAULTED = re.compile(
    r"\.spec\.volumeMode"
    r"|\.spec\.(completionMode|completions|manualSelector|parallelism|podReplacementPolicy|suspend)"
    r"|\.spec\.template\.spec\.(dnsPolicy|schedulerName|serviceAccount|terminationGracePeriodSeconds)"
    r"|\.spec\.template\.spec\.containers\[[^]]*\]\.(imagePullPolicy|terminationMessage(Path|Policy))"
)
"""Defaults that the API server added to the recorded objects."""

ADDED = (".status.conditions[Ready].", ".status.served.")
"""The NIM Operator does not set this condition and this field of a NIMCache."""
SINCE_3_1_3 = re.compile(r"\.envFrom\[[^]]*\]\.secretRef\.optional$")
"""Fields that the reference sets in later releases than the recorded one."""


@pytest.mark.skipif(
    not CONFORMANCE.is_dir(), reason="the recordings of the reference, ../shared, are not here"
)
@pytest.mark.parametrize("case", CASES)
def test_objects_and_status_conformance(case, world, load_module):
    harness = load_module(CONFORMANCE / "harness.py")
    docs = yaml.safe_load_all((CONFORMANCE / "cases" / f"{case}.yaml").read_text())
    cr = next(doc for doc in docs if doc and doc["kind"] == "NIMCache")
    cr["metadata"]["uid"] = "u-cache"
    name, namespace = cr["metadata"]["name"], cr["metadata"]["namespace"]
    cluster = world(cr)
    cluster.nodes = list(
        yaml.safe_load_all((CONFORMANCE / "environment" / "nodes.yaml").read_text())
    )

    cluster.reconcile()
    cluster.objects[f"Pod/{namespace}/{name}-pod"]["status"] = {"phase": "Running"}
    cluster.log = (CONFORMANCE / "environment" / "manifest.yaml").read_text()
    cluster.reconcile()
    cluster.objects[f"Job/{namespace}/{name}-job"]["status"] = {"succeeded": 1}
    cluster.reconcile()
    cluster.objects[f"NIMCache/{namespace}/{name}"] = cluster.cr

    recorded = json.loads((CONFORMANCE / "expected" / f"{case}.json").read_text())["objects"]
    kinds = ("NIMCache", "Job", "ConfigMap", "PersistentVolumeClaim")
    expected = {
        key: item
        for key, item in recorded.items()
        if (item["kind"] in kinds and name in item["metadata"]["name"]) or "nim-cache-" in key
    }
    made = {harness.key(item): harness.normal(item) for item in cluster.objects.values()}
    assert set(expected) <= set(made)
    assert not [key for key in made if key.startswith("Pod/nim/")]
    for key, item in expected.items():
        want = dict(harness.flatten(harness.mask(item)))
        have = dict(harness.flatten(harness.mask(made[key])))
        wrong = {
            path: (want.get(path), have.get(path))
            for path in want.keys() | have.keys()
            if want.get(path) != have.get(path)
            and not (path not in have and DEFAULTED.search(path))
            and not (path not in want and path.startswith(ADDED))
            and not (path not in want and SINCE_3_1_3.search(path))
        }
        assert not wrong, key
