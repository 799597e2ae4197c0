# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The limits on tenants from docs/operate/security.md have the documented effect."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from nimops_harness.cluster import kubectl, serves_devices

FOLDER = Path(__file__).resolve().parents[2] / "config/tenants"
NAMESPACE = "nimops-admission-tenant"
METADATA = {"name": "a", "namespace": NAMESPACE}


def apply(manifest: dict[str, Any], *options: str) -> str:
    """Why the API server refuses it; empty if it does not."""
    command = ["kubectl", "apply", "--server-side", *options, "-f", "-"]
    done = subprocess.run(
        command, input=json.dumps(manifest), capture_output=True, text=True, check=False
    )
    return done.stderr if done.returncode else ""


def pod(container: Any = None, **spec: Any) -> dict[str, Any]:
    main = {"name": "a", "image": "nvcr.io/a", **(container or {})}
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": METADATA,
        "spec": {"containers": [main], **spec},
    }  # fmt: skip


def ingress(*hosts: str, **spec: Any) -> dict[str, Any]:
    backend = {"service": {"name": "a", "port": {"number": 1}}}
    paths = [{"path": "/", "pathType": "Prefix", "backend": backend}]
    rules = [{"host": host, "http": {"paths": paths}} for host in hosts]
    return {
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": METADATA,
        "spec": {"rules": rules, **spec},
    }  # fmt: skip


@pytest.fixture(scope="module")
def tenant(cluster: Any) -> Iterator[None]:
    """A tenant's namespace, with the policies in effect."""
    labels = {"example.com/tenant": "a"}
    assert apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels}}) == ""  # fmt: skip
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {**METADATA, "name": "default"},
    }
    apply(account)
    kubectl("apply", "--server-side", "-f", str(FOLDER / "policies.yaml"))
    deadline = time.monotonic() + 120
    for probe in (pod({"image": "elsewhere"}), ingress("a.example.com")):
        while not apply(probe, "--dry-run=server"):
            assert time.monotonic() < deadline, "the policies do not take effect"
            time.sleep(0.2)
    yield
    kubectl("delete", "-f", str(FOLDER / "policies.yaml"))
    kubectl("delete", "namespace", NAMESPACE, "--wait=false")


SECRET = {"secretKeyRef": {"name": "private-a", "key": "k"}}
ALLOWED = {
    "pod": pod(),
    "claim": pod(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "models"}}]),
    "gpu": pod(
        tolerations=[{"key": "nvidia.com/gpu", "operator": "Exists"}], runtimeClassName=None
    ),
    "ingress": ingress("a.apps.example.com"),
}
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "image": (pod({"image": "docker.io/a"}), "images come from"),
    "image of an init container": (
        pod(initContainers=[{"name": "i", "image": "docker.io/a"}]),
        "images come from",
    ),
    "claim": (
        pod(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "private-a"}}]),
        "claims named private-*",
    ),
    "secret in a variable": (pod({"env": [{"name": "a", "valueFrom": SECRET}]}), "named private-*"),
    "secret in all variables": (
        pod({"envFrom": [{"secretRef": {"name": "private-a"}}]}),
        "named private-*",
    ),
    "secret in a volume": (
        pod(volumes=[{"name": "v", "secret": {"secretName": "private-a"}}]),
        "named private-*",
    ),
    "projected secret": (
        pod(volumes=[{"name": "v", "projected": {"sources": [{"secret": {"name": "private-a"}}]}}]),
        "named private-*",
    ),
    "scheduler": (pod(schedulerName="mine"), "no priority, scheduler"),
    "toleration": (pod(tolerations=[{"operator": "Exists"}]), "no priority, scheduler"),
    "annotation": (
        pod() | {"metadata": METADATA | {"annotations": {"k8s.v1.cni.cncf.io/networks": "a"}}},
        "choose no network",
    ),
    "host": (ingress("a.example.com"), "below apps.example.com"),
    "one of the hosts": (ingress("a.apps.example.com", ""), "below apps.example.com"),
    "any host": (ingress(), "Ingress"),
    "default backend": (
        ingress(
            "a.apps.example.com", defaultBackend={"service": {"name": "a", "port": {"number": 1}}}
        ),
        "below apps.example.com",
    ),
}


@pytest.mark.usefixtures("tenant")
@pytest.mark.parametrize("name", ALLOWED)
def test_tenant_policies_accepted(name: str) -> None:
    assert apply(ALLOWED[name], "--dry-run=server") == ""


@pytest.mark.usefixtures("tenant")
@pytest.mark.parametrize("name", REFUSED)
def test_tenant_policies_refused(name: str) -> None:
    manifest, answer = REFUSED[name]
    assert answer in apply(manifest, "--dry-run=server")


@pytest.mark.usefixtures("tenant")
def test_tenant_policies_other_namespaces() -> None:
    elsewhere = pod({"image": "docker.io/a"})
    elsewhere["metadata"] = {"name": "a", "namespace": "default"}
    assert "images come from" not in apply(elsewhere, "--dry-run=server")


@pytest.mark.usefixtures("tenant")
def test_tenant_quota() -> None:
    """The quota covers each kind that we serve, in syntax that the API server accepts."""
    quota = yaml.safe_load((FOLDER / "quota.yaml").read_text())
    quota["metadata"]["namespace"] = NAMESPACE
    assert apply(quota, "--dry-run=server") == ""


def manifests_of(name: str) -> list[dict[str, Any]]:
    """The objects of a file, in the namespace of these tests."""
    text = (FOLDER / name).read_text().replace("namespace: nim", f"namespace: {NAMESPACE}")
    return list(yaml.safe_load_all(text))


@pytest.mark.usefixtures("tenant")
@pytest.mark.parametrize("name", ["limit_range.yaml", "priority_classes.yaml", "quota.yaml"])
def test_limits_accepted(name: str) -> None:
    for manifest in manifests_of(name):
        assert apply(manifest, "--dry-run=server") == ""


@pytest.mark.usefixtures("tenant")
def test_quota_of_device_class() -> None:
    if not serves_devices():
        pytest.skip("the API server does not serve DRA")
    (quota,) = manifests_of("quota.yaml")
    entry = "gpu.nvidia.com.deviceclass.resource.k8s.io/devices"
    quota["spec"]["hard"] = {entry: quota["spec"]["hard"][entry]}
    device = {"deviceClassName": "gpu.nvidia.com", "count": int(quota["spec"]["hard"][entry]) + 1}
    claim = {
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": METADATA,
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": device}]}},
    }  # fmt: skip
    assert apply(claim, "--dry-run=server") == ""
    assert apply(quota) == ""
    try:
        deadline = time.monotonic() + 30
        while f"exceeded quota: {quota['metadata']['name']}" not in apply(
            claim, "--dry-run=server"
        ):
            assert time.monotonic() < deadline
            time.sleep(0.2)
    finally:
        kubectl("-n", NAMESPACE, "delete", "resourcequota", quota["metadata"]["name"])
