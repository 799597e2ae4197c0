# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A configurable NIMPipeline, and an in-memory namespace for passes."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.conditions import stamp
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import (
    Outcome,
    Refusal,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.metadata import owner_reference
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._engine.plan import compare
from ansible_collections.nimops.nim.plugins.module_utils._engine.reads import ReadObject
from ansible_collections.nimops.nim.plugins.module_utils._nim.pipeline.app import NIMPipelineApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.pipeline.desired import desired
from ansible_collections.nimops.nim.plugins.module_utils._nim.pipeline.reads import reads
from ansible_collections.nimops.nim.plugins.module_utils._nim.pipeline.status import assess

SPEC = {
    "image": {"repository": "registry.example/nim", "tag": "1.0"},
    "storage": {"emptyDir": {}},
}


def make_entry(name, *, enabled=True, **more):
    return {"name": name, "enabled": enabled, "spec": copy.deepcopy(SPEC)} | more


def make_pipeline(*entries, **metadata):
    """A NIMPipeline with these entries; a string is the name of an enabled entry."""
    return {
        "apiVersion": "apps.nvidia.com/v1alpha1",
        "kind": "NIMPipeline",
        "metadata": {"name": "rag", "namespace": "ns", "uid": "u1", "generation": 1} | metadata,
        "spec": {
            "services": [make_entry(item) if isinstance(item, str) else item for item in entries]
        },
    }


def make_service(cr, name, state="Ready", **metadata):
    """A live NIMService, controlled by a pipeline if one is given."""
    owners = {"ownerReferences": [owner_reference(cr)]} if cr else {}
    return {
        "apiVersion": "apps.nvidia.com/v1alpha1",
        "kind": "NIMService",
        "metadata": {"name": name, "namespace": "ns"} | owners | metadata,
        "spec": copy.deepcopy(SPEC),
        "status": {"state": state},
    }


@dataclass
class World:
    """The NIMServices of a namespace by name, and an API server that stores them."""

    cr: dict
    services: dict = field(default_factory=dict)
    refused: dict = field(default_factory=dict)
    undeletable: dict = field(default_factory=dict)
    asked: list = field(default_factory=list)
    applied: list = field(default_factory=list)
    pruned: list = field(default_factory=list)
    autoscalers: list = field(default_factory=list)

    def observe(self):
        answers = {}
        while new := [
            r for r in reads(NIMPipelineApp(self.cr, Observed(answers))) if r.key not in answers
        ]:
            for read in new:
                found = list(self.services.values())
                if read.listed == "HorizontalPodAutoscaler":
                    found = self.autoscalers
                if isinstance(read, ReadObject):
                    found = self.services.get(read.name)
                answers[read.key] = copy.deepcopy(found)
        self.asked = list(answers)
        return Observed(answers)

    def reconcile(self, failure=""):
        before = copy.deepcopy(self.cr)
        observed = self.observe()
        plan = compare(self.cr, desired(NIMPipelineApp(self.cr, observed)), observed)
        refusals, written, deleted = list(plan.refusals), {}, []
        for manifest in plan.apply:
            name = manifest["metadata"]["name"]
            if name in self.refused:
                refusals.append(Refusal("NIMService", name, self.refused[name]))
            else:
                self.services[name] = self.serve(manifest)
                written[f"NIMService/ns/{name}"] = self.services[name]
        for reference in plan.prune:
            name = reference["metadata"]["name"]
            if name in self.undeletable:
                refusals.append(Refusal("NIMService", name, self.undeletable[name]))
            else:
                del self.services[name]
                deleted.append(f"NIMService/ns/{name}")
        self.applied = [key.removeprefix("NIMService/ns/") for key in written]
        self.pruned = [key.removeprefix("NIMService/ns/") for key in deleted]
        result = assess(
            NIMPipelineApp(self.cr, observed), Outcome(written, deleted, refusals, failure)
        )
        assert self.cr == before, "the inputs were changed"
        old = (self.cr.get("status") or {}).get("conditions")
        conditions = stamp(result.status["conditions"], old, "2026-01-01T00:00:00Z", 1)
        self.cr["status"] = result.status | {"conditions": conditions}
        return result

    def serve(self, manifest):
        """The stored object after an apply."""
        old = self.services.get(manifest["metadata"]["name"]) or {}
        live = copy.deepcopy(manifest) | {"status": old.get("status", {})}
        live["metadata"]["managedFields"] = [{"manager": "nimops.nim", "operation": "Apply"}]
        others = (old.get("metadata") or {}).get("managedFields") or []
        scaled = [entry for entry in others if entry.get("subresource") == "scale"]
        if scaled and "replicas" not in manifest["spec"]:
            live["spec"]["replicas"] = old["spec"]["replicas"]
            live["metadata"]["managedFields"] += scaled
        return live

    def scale(self, name, replicas, manager="kubectl"):
        """Write the replicas of a service by its scale subresource."""
        live = self.services[name]
        live["spec"]["replicas"] = replicas
        fields = {"f:spec": {"f:replicas": {}}}
        entry = {"manager": manager, "subresource": "scale", "fieldsV1": fields}
        live["metadata"]["managedFields"] = [*live["metadata"]["managedFields"], entry]

    def set_states(self, **states):
        """Let the services report these states."""
        for name, state in states.items():
            self.services[name]["status"] = {"state": state}

    def condition(self, kind):
        """(reason, message) of a true condition."""
        for item in self.cr["status"]["conditions"]:
            if item["type"] == kind:
                assert item["status"] == "True"
                return item["reason"], item["message"]
        return None

    @property
    def summary(self):
        status = self.cr["status"]
        return status["state"], status.get("states", {})


@pytest.fixture
def make():
    """The builders of this file, as attributes."""

    class Builders:
        entry = staticmethod(make_entry)
        pipeline = staticmethod(make_pipeline)
        service = staticmethod(make_service)

        @staticmethod
        def world(*entries, **metadata):
            return World(make_pipeline(*entries, **metadata))

    return Builders
