# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""R06 for a service of a pipeline: a count that others set by the scale subresource stays."""

from __future__ import annotations

import copy

import pytest

AUTOSCALER = {
    "metadata": {"name": "hpa"},
    "spec": {
        "scaleTargetRef": {
            "apiVersion": "apps.nvidia.com/v1alpha1",
            "kind": "NIMService",
            "name": "llm",
        }
    },
}
MANUAL = (
    "ScaledManually",
    'spec.services[0]: NIMService "llm" was scaled manually: spec.replicas applies again when it'
    " changes",
)
HELD = (
    "Autoscaled",
    'spec.services[0]: HorizontalPodAutoscaler "hpa" scales NIMService "llm": spec.replicas applies'
    " again without it, or if it is 0",
)


@pytest.fixture
def world(make):
    """A pipeline of a service with one replica, and another service, settled."""
    entry = make.entry("llm")
    entry["spec"]["replicas"] = 1
    found = make.world(entry, "other")
    found.reconcile()
    found.set_states(llm="Ready", other="Ready")
    found.reconcile()
    found.cr["status"]["observedGeneration"] = 1
    assert found.applied == []
    return found


def change(world, replicas):
    world.cr = copy.deepcopy(world.cr)
    world.cr["spec"]["services"][0]["spec"]["replicas"] = replicas
    world.cr["metadata"]["generation"] += 1


def replicas(world):
    return world.services["llm"]["spec"].get("replicas")


def test_scaled_manually_stays(world):
    world.scale("llm", 3)
    world.reconcile()
    assert (replicas(world), world.condition("ScaledExternally")) == (3, MANUAL)
    assert world.services["llm"]["metadata"]["annotations"] == {"nimops.nim/spec-replicas": "1"}


def test_scaled_manually_until_entry_changes(world):
    world.scale("llm", 3)
    change(world, 2)
    world.reconcile()
    assert (replicas(world), world.condition("ScaledExternally")) == (2, None)


def test_autoscaled_stays(world):
    world.autoscalers = [AUTOSCALER]
    world.scale("llm", 3, "kube-controller-manager")
    world.reconcile()
    assert (replicas(world), world.condition("ScaledExternally")) == (3, HELD)


def test_autoscaler_that_is_gone(world):
    world.scale("llm", 3, "kube-controller-manager")
    world.reconcile()
    assert (replicas(world), world.condition("ScaledExternally")) == (1, None)


def test_edited_count_is_reverted(world):
    """Only the scale subresource scales."""
    world.services["llm"]["spec"]["replicas"] = 3
    fields = {"f:spec": {"f:replicas": {}}}
    entry = {"manager": "kubectl-edit", "operation": "Update", "fieldsV1": fields}
    world.services["llm"]["metadata"]["managedFields"] = [entry]
    world.reconcile()
    assert replicas(world) == 1


def test_switched_off_applies(world):
    world.autoscalers = [AUTOSCALER]
    world.scale("llm", 3)
    change(world, 0)
    world.reconcile()
    assert replicas(world) == 0


def test_settled_pipeline_reads_no_autoscalers(world):
    assert not any("HorizontalPodAutoscaler" in key for key in world.asked)
