# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Children that depend on the cluster or on annotations, on a real API server."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import ApiError
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._commands.apply.apply import (
    reconcile_once,
    submit,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import api_path
from nimops_harness.cluster import kubectl
from nimops_harness.progress import wait_until
from nimops_openshift import SCC, serves_constraints

Json = dict[str, Any]

ROOT = Path(__file__).resolve().parents[2]
NAMESPACE = "nimops-children"


@pytest.fixture
def run(namespace: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """A pass over a NIMService with these fields."""
    monkeypatch.setenv("NIMOPS_REGISTRIES", "")
    client = Client()

    def act(name: str, annotations: dict[str, str] | None = None, **spec: Any) -> None:
        resource = {
            "apiVersion": "apps.nvidia.com/v1alpha1",
            "kind": "NIMService",
            "metadata": {"name": name, "namespace": namespace, "annotations": annotations or {}},
            "spec": {
                "image": {"repository": "registry.example/llm", "tag": "1"},
                "storage": {"emptyDir": {}},
                **spec,
            },
        }
        reconcile_once(client, submit(client, [resource]), lambda _text: None)

    return act


def roles(namespace: str, name: str) -> list[str]:
    found = json.loads(kubectl("-n", namespace, "get", "roles,rolebindings", "-o", "json"))
    return sorted(item["kind"] for item in found["items"] if item["metadata"]["name"] == name)


def test_roles_follow_openshift(
    run: Callable[..., None], namespace: str, request: pytest.FixtureRequest
) -> None:
    run("plain")
    assert roles(namespace, "plain") == []
    request.getfixturevalue("openshift")
    run("strict")
    assert roles(namespace, "strict") == ["Role", "RoleBinding"]
    kubectl("delete", "customresourcedefinition", SCC)
    wait_until(lambda: not serves_constraints(), "the removal of the API of SCCs", 60)
    run("strict")
    assert roles(namespace, "strict") == ["Role", "RoleBinding"], "its spec did not change"
    run("strict", replicas=2)
    assert roles(namespace, "strict") == []


def budgets(namespace: str) -> list[Json]:
    found: Json = json.loads(kubectl("-n", namespace, "get", "pdb", "-o", "json"))
    return list(found["items"])


def test_disruption_budget(run: Callable[..., None], namespace: str) -> None:
    run("guarded", {"nimops.nim/max-unavailable": "1"}, replicas=2)
    (budget,) = budgets(namespace)
    (owner,) = budget["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("NIMService", "guarded", True)

    def is_healthy() -> bool:
        return budgets(namespace)[0].get("status", {}).get("currentHealthy") == 2

    wait_until(is_healthy, "a budget that counts both pods", 60)
    listed = kubectl("-n", namespace, "get", "pods", "-l", "app=guarded", "-o", "name").split()
    first, second = (item.partition("/")[2] for item in listed)
    client = Client()
    # No pod replaces the first one.
    kubectl("-n", namespace, "create", "quota", "full", "--hard=pods=1")
    client.evict(api_path("Pod", namespace, first), first, namespace)
    with pytest.raises(ApiError) as refused:
        client.evict(api_path("Pod", namespace, second), second, namespace)
    assert refused.value.status == 429
    kubectl("-n", namespace, "delete", "quota", "full")
    run("guarded", replicas=2)
    assert budgets(namespace) == []


QUOTA = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "tenant"},
    "spec": {"hard": {"requests.nvidia.com/gpu": "1", "services.loadbalancers": "0"}},
}
BREACHES = {
    "gpus": (
        {"resources": {"limits": {"nvidia.com/gpu": 2}}},
        "exceeded quota: tenant",
        "change spec.resources.requests[nvidia.com/gpu] or spec.replicas",
    ),
    "balanced": (
        {"expose": {"service": {"port": 8000, "type": "LoadBalancer"}}},
        "exceeded quota: tenant",
        "change spec.expose.service.type",
    ),
}


def messages_of(namespace: str, name: str) -> str:
    found = json.loads(kubectl("-n", namespace, "get", "nimservice", name, "-o", "json"))
    return " ".join(item["message"] for item in found["status"]["conditions"])


@pytest.mark.parametrize("name", BREACHES)
def test_quota_breach_names_field(run: Callable[..., None], namespace: str, name: str) -> None:
    spec, what, advice = BREACHES[name]
    kubectl("-n", namespace, "apply", "-f", "-", stdin=json.dumps(QUOTA))
    try:
        in_use = ("--for=jsonpath={.status.hard}", "--timeout=60s")
        kubectl("-n", namespace, "wait", "resourcequota/tenant", *in_use)

        def is_named() -> bool:
            run(name, **spec)
            text = messages_of(namespace, name)
            return what in text and advice in text

        wait_until(is_named, "a status with the field", 60)
    finally:
        kubectl("-n", namespace, "delete", "resourcequota", "tenant")


@pytest.fixture
def model_server(api_server: Any) -> Iterator[None]:
    """The servers of the sandbox's models, unless they run already."""
    program = ROOT / "sandbox/model_server.py"
    with subprocess.Popen([sys.executable, str(program)], stderr=subprocess.DEVNULL) as server:
        yield
        server.terminate()


@pytest.mark.usefixtures("model_server")
def test_adapters_in_status(run: Callable[..., None], namespace: str) -> None:
    service = {"port": 8000, "annotations": {"sandbox.nimops/model": "lora"}}
    env = [{"name": "NIM_PEFT_SOURCE", "value": "/model-store/loras"}]
    found: Json = {}

    def is_ready() -> bool:
        run("adapted", expose={"service": service}, env=env)
        text = kubectl("-n", namespace, "get", "nimservice", "adapted", "-o", "json")
        found.update(json.loads(text)["status"])
        return "model" in found

    wait_until(is_ready, "a status with the model", 60)
    assert found["model"]["adapters"] == ["acme/tiny-lora"]
