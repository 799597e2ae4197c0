# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A configurable NIMService, and the cluster around it."""

from __future__ import annotations

import copy

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine import steps
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import (
    KINDS,
    key_of,
    object_key,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._engine.reads import list_key
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.app import NIMServiceApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.deployment import (
    build_deployment,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.expose.service import (
    build_service,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.kind import KIND
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.model_store import (
    Store,
    select_store,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.reads import reads

SPEC = {
    "image": {"repository": "registry.example/nim", "tag": "1.0", "pullPolicy": "IfNotPresent"},
    "authSecret": "ngc",
    "storage": {"emptyDir": {}},
    "replicas": 1,
    "expose": {"service": {"port": 8000}},
}


def build_cr(spec=None, status=None, **metadata):
    """The default NIMService; a spec field of None is left out."""
    merged = {key: value for key, value in (SPEC | (spec or {})).items() if value is not None}
    cr = {
        "apiVersion": "apps.nvidia.com/v1alpha1",
        "kind": "NIMService",
        "metadata": {"name": "llm", "namespace": "ns", "uid": "u1", "generation": 2} | metadata,
        "spec": merged,
    }
    return cr | ({"status": status} if status is not None else {})


def build_cache(source=None, status=None, **pvc):
    """A Ready NIMCache from NGC."""
    return {
        "apiVersion": "apps.nvidia.com/v1alpha1",
        "kind": "NIMCache",
        "metadata": {"name": "cache", "namespace": "ns"},
        "spec": {"source": source or {"ngc": {"modelPuller": "x"}}, "storage": {"pvc": pvc}},
        "status": {"state": "Ready", "pvc": "cache-pvc"} if status is None else status,
    }


def observe(*objects, **answers):
    """Observed objects, and other answers by key."""
    lists = {
        list_key(name, _namespace_of(name)) if name in KINDS else name: answers[name]
        for name in answers
    }
    found = {
        object_key(
            item["kind"], item["metadata"].get("namespace", "ns"), item["metadata"]["name"]
        ): item
        for item in objects
    }
    return Observed(found | lists)


def _namespace_of(kind):
    return "ns" if KINDS[kind].is_namespaced else ""


def build_app(spec=None, *objects, **answers):
    """The context of a NIMService, or of the default one with these spec fields."""
    cr = spec if spec and "kind" in spec else build_cr(spec)
    return NIMServiceApp(cr, observe(*objects, **answers))


def rolled_out(cr, **status):
    """The live Deployment of a service without a cache, all its replicas available."""
    store = select_store(NIMServiceApp(cr, observe()))
    assert isinstance(store, Store)
    live = build_deployment(NIMServiceApp(cr, observe()), store)
    live["metadata"]["generation"] = 3
    count = live["spec"].setdefault("replicas", 1)
    counts = dict.fromkeys(("replicas", "updatedReplicas", "availableReplicas"), count)
    counts["observedGeneration"] = 3
    return live | {"status": counts | status}


def with_address(cr, address="10.0.0.1"):
    """The live Service."""
    service = build_service(NIMServiceApp(cr, observe()), "llm")
    return service | {"spec": service["spec"] | {"clusterIP": address}}


def inference(predictor=None, owner="u1", **status):
    """Observation of an InferenceService with ready pods."""
    ready = {"conditions": [{"type": "PredictorReady", "status": "True"}]}
    return observe(
        {
            "kind": "InferenceService",
            "metadata": {
                "name": "llm",
                "namespace": "ns",
                "ownerReferences": [{"controller": True, "uid": owner}],
            },
            "spec": {"predictor": predictor or {}},
            "status": {"deploymentMode": "Standard"} | ready | status,
        }
    )


class Cluster:
    """Stores the objects that passes apply; nothing becomes ready."""

    def __init__(self, **answers):
        self.objects = {}
        self.answers = answers

    def observe(self, cr):
        """The answers to what a pass reads."""
        answers = dict(self.answers)
        while new := [
            r for r in reads(NIMServiceApp(cr, Observed(answers))) if r.key not in answers
        ]:
            for read in new:
                answers[read.key] = copy.deepcopy(self.objects.get(read.key)) if read.target else []
        return answers

    def run_pass(self, cr, refuse=""):
        """Run a pass and return the deleted keys. ``refuse``: a kind that the API server does not know."""
        _wanted, plan = steps.plan(KIND, cr, Observed(self.observe(cr)))
        assert (plan.refusals, plan.failure) == ([], "")
        for item in plan.apply:
            if item["kind"] != refuse:
                self.objects[key_of(item)] = stored = copy.deepcopy(item)
                stored["metadata"].pop("resourceVersion", None)  # what is to be made has none yet
        gone = [key_of(item) for item in plan.prune]
        for key in gone:
            del self.objects[key]
        return gone


@pytest.fixture
def make():
    """The builders of this file, as attributes."""

    class Builders:
        app = staticmethod(build_app)
        cluster = Cluster
        cr = staticmethod(build_cr)
        cache = staticmethod(build_cache)
        inference = staticmethod(inference)
        observe = staticmethod(observe)
        rolled_out = staticmethod(rolled_out)
        with_address = staticmethod(with_address)

    return Builders
