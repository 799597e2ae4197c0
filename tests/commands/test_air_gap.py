# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""NIMCaches without Internet access, on a real API server that admits only restricted pods."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._commands.apply.apply import (
    reconcile_once,
    submit,
)
from nimops_harness.cluster import kubectl
from nimops_harness.progress import wait_until

Json = dict[str, Any]

NAMESPACE = "nimops-air-gap"
HF = {
    "endpoint": "https://hf.example", "namespace": "org", "modelName": "model",
    "modelPuller": "registry.example/nim:1", "authSecret": "hf", "pullSecret": "mirror",
}  # fmt: skip
CLAIM = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "files"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


@pytest.fixture
def run(namespace: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Json]:
    """Passes over a NIMCache until it has a state; its status."""
    monkeypatch.setenv("NIMOPS_REGISTRIES", "")
    monkeypatch.setenv("NIMOPS_POD_SECURITY", "restricted")
    monkeypatch.setenv("NIMOPS_PULLER_IMAGE", "registry.example/operator:1")
    level = "pod-security.kubernetes.io/enforce=restricted"
    kubectl("label", "--overwrite", "namespace", namespace, level)
    client = Client()

    def act(name: str, state: str, annotations: Json, pvc: Json) -> Json:
        resource = {
            "apiVersion": "apps.nvidia.com/v1alpha1",
            "kind": "NIMCache",
            "metadata": {"name": name, "namespace": namespace, "annotations": annotations},
            "spec": {
                "source": {"hf": HF},
                "nodeSelector": {},
                "proxy": {"certConfigMap": "ca"},
                "storage": {"pvc": pvc},
            },
        }
        found: Json = {}

        def has_state() -> bool:
            reconcile_once(client, submit(client, [resource]), lambda _text: None)
            text = kubectl("-n", namespace, "get", "nimcache", name, "-o", "json")
            found.update(json.loads(text).get("status") or {})
            return bool(found.get("state") == state)

        wait_until(has_state, f"the state {state} of NIMCache {name}", 120)
        return found

    return act


def jobs(namespace: str) -> list[Json]:
    return list(json.loads(kubectl("-n", namespace, "get", "jobs", "-o", "json"))["items"])


def test_prepared_claim(run: Callable[..., Json], namespace: str) -> None:
    """Without the claim it waits, and then it is Ready without a Job or a pod."""
    prepared, pvc = {"nimops.nim/prepared": "true"}, {"name": "files", "create": True}
    status = run("prepared", "NotReady", prepared, pvc)
    assert "create and fill it" in status["conditions"][-1]["message"]
    kubectl("-n", namespace, "create", "-f", "-", stdin=json.dumps(CLAIM))
    status = run("prepared", "Ready", prepared, pvc)
    assert status["pvc"] == "files"
    assert jobs(namespace) == []
    assert json.loads(kubectl("-n", namespace, "get", "pods", "-o", "json"))["items"] == []
    kubectl("-n", namespace, "delete", "nimcache", "prepared")
    owners = "jsonpath={.metadata.ownerReferences}"
    assert kubectl("-n", namespace, "get", "pvc", "files", "-o", owners) == ""


def test_model_in_registry(run: Callable[..., Json], namespace: str) -> None:
    """The Job of the operator's image passes admission, also with authorities, and completes."""
    source = {"nimops.nim/source": "oci://registry.example/models/llama:1"}
    pvc = {"create": True, "size": "1Gi", "volumeAccessMode": "ReadWriteOnce"}
    run("artifact", "Ready", source, pvc)
    (job,) = jobs(namespace)
    pod = job["spec"]["template"]["spec"]
    assert "initContainers" not in pod
    (container,) = pod["containers"]
    assert container["image"] == "registry.example/operator:1"
    assert container["command"][:2] == ["nimops-pull-model", "registry.example/models/llama:1"]
    assert "envFrom" not in container


SOURCE = {"nimops.nim/source": "oci://registry.example/models/llama:1"}
NEW_CLAIM = {"create": True, "size": "1Gi", "volumeAccessMode": "ReadWriteOnce"}


def test_quota_refuses_pod(run: Callable[..., Json], namespace: str) -> None:
    """Only events report why a Job has no pod."""
    kubectl("-n", namespace, "create", "quota", "full", "--hard=pods=0")
    in_use = ("--for=jsonpath={.status.hard}", "--timeout=60s")
    kubectl("-n", namespace, "wait", "resourcequota/full", *in_use)

    def is_named() -> bool:
        status = run("counted", "Pending", SOURCE, NEW_CLAIM)
        return "is forbidden: exceeded quota: full" in str(status["conditions"])

    wait_until(is_named, "a status with the quota", 60)
    kubectl("-n", namespace, "delete", "quota", "full")
    assert "quota" not in str(run("counted", "Ready", SOURCE, NEW_CLAIM)["conditions"])


def test_pod_security_refuses_pod(
    run: Callable[..., Json], namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NIMOPS_POD_SECURITY", "reference")

    def is_named() -> bool:
        text = str(run("privileged", "Pending", SOURCE, NEW_CLAIM)["conditions"])
        return 'violates PodSecurity "restricted' in text and advice in text

    advice = "(set the annotation nimops.nim/pod-security: restricted)"
    wait_until(is_named, "a status with the annotation to set", 60)
    run("privileged", "Ready", SOURCE | {"nimops.nim/pod-security": "restricted"}, NEW_CLAIM)
