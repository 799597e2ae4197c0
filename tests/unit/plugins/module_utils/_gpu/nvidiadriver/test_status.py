# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.conditions import find_condition
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import Outcome, Refusal
from ansible_collections.nimops.nim.plugins.module_utils._engine.reads import ReadRedacted
from ansible_collections.nimops.nim.plugins.module_utils._gpu.driver.license import LICENSE
from ansible_collections.nimops.nim.plugins.module_utils._gpu.nvidiadriver.pools import (
    daemon_set_name,
)
from ansible_collections.nimops.nim.plugins.module_utils._gpu.nvidiadriver.status import assess

DONE = Outcome()
SANDBOXES = {"driver": {"useNvidiaDriverCRD": True}, "sandboxWorkloads": {"enabled": True}}


def condition(assessment, kind):
    found = find_condition(assessment.status["conditions"], kind)
    return found and (found["status"], found["reason"], found["message"])


def daemon_set(nvd, available=1):
    status = {"desiredNumberScheduled": 1, "updatedNumberScheduled": 1}
    status |= {"numberAvailable": available, "numberUnavailable": 1 - available}
    return nvd.live("DaemonSet", daemon_set_name(nvd.app(), "ubuntu24.04"), status=status)


def test_assess_ready(nvd):
    found = assess(nvd.app(live=[daemon_set(nvd)]), DONE)
    assert (found.status["state"], found.status["namespace"]) == ("ready", nvd.namespace)
    assert found.status["readyNodes"] == "1/1"
    message = "All resources have been successfully reconciled"
    assert condition(found, "Ready") == ("True", "Reconciled", message)
    assert condition(found, "Error") == ("False", "Ready", "")
    assert (found.requeue.after, found.error) == (False, "")
    assert [event.message for event in found.events] == [message]


def test_assess_ready_without_nodes(nvd):
    found = assess(nvd.app(nodes=[]), DONE)
    assert condition(found, "Ready") == ("True", "Reconciled", "No GPU node belongs to this driver")


def test_assess_not_ready(nvd):
    found = assess(nvd.app(live=[daemon_set(nvd, 0)]), DONE)
    assert (found.status["state"], found.status["readyNodes"]) == ("notReady", "0/1")
    assert condition(found, "Error") == (
        "True",
        "DriverNotReady",
        "Waiting for driver pod to be ready",
    )
    assert condition(found, "Ready") == ("False", "Error", "")
    assert "0 of 1 pods are available" in condition(found, "Reconciling")[2]
    assert found.requeue.after


DEPLOY = "nvidia.com/gpu.deploy.driver"


@pytest.mark.parametrize(
    ("labels", "spec", "text"),
    [
        (
            {DEPLOY: "paused-for-driver-upgrade"},
            {},
            f"node gpu-0 waits for the label {DEPLOY}, which is paused-for-driver-upgrade,",
        ),
        ({DEPLOY: "true"}, {"nodeSelector": {DEPLOY: "true"}}, "0 of 1 nodes can get a pod"),
    ],
)
def test_assess_no_pod_wanted(nvd, labels, spec, text):
    """G02, G08: a DaemonSet without desired pods is ready for Kubernetes."""
    name = daemon_set_name(nvd.app(), "ubuntu24.04")
    live = nvd.live("DaemonSet", name, spec={"template": {"spec": spec}}, status={})
    found = assess(nvd.app(nodes=[nvd.node(labels=labels)], live=[live]), DONE)
    assert condition(found, "Error")[1] == "DriverNotReady"
    assert text in condition(found, "Reconciling")[2]


@pytest.mark.parametrize(
    ("settings", "owner", "is_slow"),
    [({"child_events": True}, "a", True), ({}, "a", False), ({"child_events": True}, None, False)],
    ids=["watch event at the end", "no watch event", "no event for labels"],
)
def test_assess_requeue_slow(nvd, settings, owner, is_slow):
    nodes = [nvd.node(), nvd.node("gpu-1", owner=owner)]
    found = assess(nvd.app(nodes=nodes, live=[daemon_set(nvd, 0)], **settings), DONE)
    assert found.status["state"] == "notReady"
    assert (found.requeue.after, found.requeue.slow) == (True, is_slow)


@pytest.mark.parametrize(
    ("nodes", "text"), [([None], "node gpu-0 is being labeled"), (["a"], " is being created")]
)
def test_assess_just_wanted(nvd, nodes, text):
    found = assess(nvd.app(nodes=[nvd.node(owner=owner) for owner in nodes]), DONE)
    assert found.status["state"] == "notReady"
    assert text in condition(found, "Reconciling")[2]


def test_assess_disabled(nvd):
    app = nvd.app(policy={})
    app.resource["status"] = {"readyNodes": "1/1"}
    found = assess(app, DONE)
    assert "readyNodes" not in found.status
    assert found.status["state"] == "disabled"
    message = "useNvidiaDriverCRD is not enabled in ClusterPolicy"
    assert condition(found, "Error") == ("True", "Reconciled", message)
    assert condition(found, "Ready") == ("False", "Error", message)
    assert (found.requeue.after, found.error) == (False, "")


def test_assess_conflict(nvd):
    message = "multiple NVIDIADrivers match the same node gpu-0: [a b]"
    app = nvd.app(others=[nvd.driver("b")])
    found = assess(app, Outcome(failure=message))
    assert found.status["state"] == "notReady"
    assert condition(found, "Error") == ("True", "ConflictingNodeSelector", message)
    assert condition(found, "Stalled")[2] == message
    assert (found.requeue.after, found.requeue.slow, found.error) == (True, True, "")


@pytest.mark.parametrize(
    ("spec", "policy", "reason"),
    [
        ({"driverType": "vgpu-host-manager"}, None, "NotServed"),
        ({}, False, "ReconcileFailed"),
        ({}, SANDBOXES, "NotServed"),
    ],
)
def test_assess_not_served(nvd, spec, policy, reason):
    app = nvd.app(spec, policy=policy)
    found = assess(app, Outcome(failure=str(app.obstacle)))
    assert condition(found, "Error") == ("True", reason, str(app.obstacle))
    assert condition(found, "Stalled")
    assert found.error == ""


def test_assess_error_retried(nvd):
    app = nvd.app()
    found = assess(app, Outcome(failure="no such Secret"))
    assert condition(found, "Error") == ("True", "ReconcileFailed", "no such Secret")
    assert found.error == "no such Secret"
    app.resource["status"] = found.status
    assert assess(app, Outcome(failure="no such Secret")).events == []


def test_assess_refusal(nvd):
    refusal = Refusal("DaemonSet", "x", 'DaemonSet "x" exists')
    assert condition(assess(nvd.app(), Outcome(refusals=[refusal])), "Error")[2] == refusal.message


def test_assess_upgrade(nvd):
    labels = {"nvidia.com/gpu-driver-upgrade-state": "pod-restart-required"}
    nodes = [nvd.node(labels={"nvidia.com/gpu.deploy.driver": "true", **labels})]
    found = assess(nvd.app(nodes=nodes, live=[daemon_set(nvd)]), DONE)
    message = "Waiting for driver pod to be ready"
    assert condition(found, "Error") == ("True", "DriverNotReady", message), "N4"
    assert found.requeue.after
    assert condition(found, "Reconciling")[2].startswith("driver upgrades: 1 in progress")


def test_assess_invalid_image(nvd):
    """N2: stalled at once, because only another spec helps."""
    app = nvd.app({"repository": "", "image": "driver", "version": "1"}, nodes=[])
    found = assess(app, Outcome(failure=str(app.image_error)))
    assert found.status["state"] == "notReady"
    assert condition(found, "Stalled")[2].startswith("set spec.repository: ")
    assert found.error == ""


def test_assess_node_that_another_should_take(nvd):
    others = [nvd.driver("b", {"nodeSelector": {"p": "b"}})]
    nodes = [nvd.node("gpu-0"), nvd.node("gpu-1", "a", {"p": "b"})]
    app = nvd.app({"default": True}, nodes=nodes, others=others, live=[daemon_set(nvd)])
    found = assess(app, DONE)
    text = "; node gpu-1 keeps this driver until NVIDIADriver b can deploy its own"
    assert condition(found, "Ready")[2].endswith(text)


def test_assess_license_changed(nvd):
    live = daemon_set(nvd) | {
        "spec": {"template": {"metadata": {"annotations": {LICENSE: "new"}}}},
    }
    live["status"] |= {"updatedNumberScheduled": 0}
    pod = {"metadata": {"name": "old"}, "spec": {"nodeName": "gpu-0"}}
    selector = f"app={live['metadata']['name']}"
    answers = {ReadRedacted("Pod", nvd.namespace, selector).key: [pod]}
    spec = {"licensingConfig": {"secretName": "lic"}}
    found = assess(nvd.app(spec, live=[live], answers=answers), DONE)
    text = "the license in Secret lic has changed, and these pods started with the former one: old"
    assert text in condition(found, "Reconciling")[2]
    (event,) = [item for item in found.events if item.reason == "LicenseChanged"]
    assert event.message.endswith(
        "(node gpu-0); the driver upgrade restarts them, without another installation of the driver"
    )
