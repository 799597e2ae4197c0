# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""NIMServices of NIMPipelines compared with recordings of the reference operator."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._nim.pipeline.app import NIMPipelineApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.pipeline.desired import desired
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.app import NIMServiceApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.desired import (
    desired as service_desired,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.reads import (
    reads as service_reads,
)

CONFORMANCE = Path(__file__).parents[7] / "shared" / "conformance"
CASES = ["nim-pipelines-rag", "own-pipeline-mixed"]

ZERO_VALUES = {
    "expose": {"ingress": {"spec": {}}, "router": {}},
    "inferencePlatform": "standalone",
    "livenessProbe": {},
    "metrics": {"serviceMonitor": {}},
    "readinessProbe": {},
    "scale": {"hpa": {"maxReplicas": 0, "minReplicas": 1}},
    "startupProbe": {},
    "storage": {"nimCache": {}, "pvc": {}},
}
"""Fields that the reference adds to each service (O-02), and the default of the CRD."""

pytestmark = pytest.mark.skipif(
    not CONFORMANCE.is_dir(), reason="the recordings of the reference, ../shared, are not here"
)


def load(case):
    """The NIMPipeline of a case, and the recorded NIMServices by name."""
    documents = yaml.safe_load_all((CONFORMANCE / "cases" / f"{case}.yaml").read_text())
    cr = next(item for item in documents if item and item["kind"] == "NIMPipeline")
    cr["metadata"]["uid"] = "u1"
    recorded = json.loads((CONFORMANCE / "expected" / f"{case}.json").read_text())["objects"]
    made = [item for item in recorded.values() if item["kind"] == "NIMService"]
    return cr, {item["metadata"]["name"]: item for item in made}


def build(cr):
    return {
        child.manifest["metadata"]["name"]: child.manifest
        for child in desired(NIMPipelineApp(cr, Observed({}))).children
    }


def fill(spec, more):
    """The spec, completed by ``more``."""
    filled = copy.deepcopy(spec)
    for key, value in more.items():
        if isinstance(value, dict) and isinstance(filled.get(key), dict):
            filled[key] = fill(filled[key], value)
        filled.setdefault(key, value)
    return filled


def as_the_reference_stores(spec):
    """The typed form: with zero values, without empty strings, quantities as strings."""
    typed = fill(spec, ZERO_VALUES)
    cache = typed["storage"]["nimCache"]
    typed["storage"]["nimCache"] = {key: value for key, value in cache.items() if value != ""}
    for name, value in typed.get("resources", {}).get("limits", {}).items():
        typed["resources"]["limits"][name] = str(value)
    return typed


@pytest.mark.parametrize("case", CASES)
def test_desired_conformance(case):
    cr, recorded = load(case)
    ours = build(cr)
    assert set(ours) == set(recorded)
    for name, theirs in recorded.items():
        assert as_the_reference_stores(ours[name]["spec"]) == theirs["spec"], name
        (owner,) = ours[name]["metadata"].pop("ownerReferences")
        (other,) = theirs["metadata"].pop("ownerReferences")
        assert owner == other | {"uid": "u1"}
        assert ours[name]["metadata"] == theirs["metadata"]


@pytest.mark.parametrize("case", CASES)
def test_zero_values_of_reference(case):
    """A takeover removes them, which must not affect children of the service."""
    cr, recorded = load(case)
    for name, ours in build(cr).items():
        head = {"apiVersion": ours["apiVersion"], "kind": "NIMService", "status": {}}
        answers = observe_store(ours["spec"])
        pair = [
            {**head, "metadata": {"name": name, "namespace": "ns", "uid": "u2"}, "spec": spec}
            for spec in (ours["spec"] | {"inferencePlatform": "standalone"}, recorded[name]["spec"])
        ]
        bare, typed = (service_desired(NIMServiceApp(service, answers)) for service in pair)
        assert [child.manifest["kind"] for child in bare.children][-1] == "Deployment"
        assert normal(bare.children) == normal(typed.children)
        assert bare.unwanted == typed.unwanted
        assert service_reads(NIMServiceApp(pair[0], answers)) == service_reads(
            NIMServiceApp(pair[1], answers)
        )


def observe_store(spec):
    cache = spec["storage"].get("nimCache", {}).get("name")
    if not cache:
        return Observed({})
    ready = {
        "kind": "NIMCache",
        "metadata": {"name": cache},
        "spec": {"source": {"ngc": {"modelPuller": "x"}}, "storage": {}},
        "status": {"state": "Ready", "pvc": f"{cache}-pvc"},
    }
    return Observed({f"NIMCache/ns/{cache}": ready})


def normal(children):
    """The manifests with quantities as strings, as the API server writes them."""
    return json.loads(json.dumps([child.manifest for child in children]), parse_int=str)
