# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Refusals of NIMPipelines by the API server; test_nimservice.py compares them with services."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

Manifest = dict[str, Any]

SERVICE: Manifest = {
    "image": {"repository": "nvcr.io/nim/meta/llama-3.2-1b-instruct", "tag": "1.12.0"},
    "authSecret": "ngc-api-secret",
    "storage": {"emptyDir": {}},
    "expose": {"service": {"port": 8000}},
}
PIPELINE: Manifest = {
    "apiVersion": "apps.nvidia.com/v1alpha1",
    "kind": "NIMPipeline",
    "metadata": {"name": "rag"},
    "spec": {"services": [{"name": "llm", "enabled": True, "spec": SERVICE}]},
}
INGRESS = {"rules": [{"host": "a.example", "http": {"paths": []}}]}


def entries(*services: Manifest) -> Manifest:
    """A patch that sets the entries of PIPELINE."""
    return {"spec.services": list(services)}


def serving(**fields: Any) -> Manifest:
    """A patch that sets fields of its only service; None removes."""
    spec = {key: value for key, value in {**SERVICE, **fields}.items() if value is not None}
    return entries({"name": "llm", "enabled": True, "spec": spec})


def depending(**fields: Any) -> Manifest:
    return entries({"name": "llm", "spec": SERVICE, "dependencies": [fields]})


# Name: patch of PIPELINE, field that the refusal must name, part of its text.
BAD: dict[str, tuple[Manifest, str, str]] = {
    "text for a flag": (
        entries({"name": "llm", "enabled": "yes"}),
        "spec.services[0].enabled",
        "must be of type boolean",
    ),
    "dependency without a name": (
        depending(port=8000),
        "spec.services[0].dependencies[0].name",
        "Required value",
    ),
    "dependency without a port": (
        depending(name="other"),
        "spec.services[0].dependencies[0].port",
        "Required value",
    ),
    "no image": (serving(image=None), "spec.services[0].spec.image", "Required value"),
    "bad port": (
        serving(expose={"service": {"port": 70000}}),
        "spec.services[0].spec.expose.service.port",
        "less than or equal to 65535",
    ),
    "the second one": (
        entries({"name": "a"}, {"name": "b", "spec": {**SERVICE, "replicas": -1}}),
        "spec.services[1].spec.replicas",
        "greater than or equal to 0",
    ),
    "replicas and autoscaling": (
        serving(replicas=2, scale={"enabled": True, "hpa": {"maxReplicas": 3}}),
        "spec.services[0].spec.replicas",
        "spec.replicas cannot be set when spec.scale.enabled is true",
    ),
    "several nodes and autoscaling": (
        serving(
            multiNode={"parallelism": {"pipeline": 2}},
            scale={"enabled": True, "hpa": {"maxReplicas": 3}},
        ),
        "spec.services[0].spec.scale.enabled",
        "autoScaling must be nil or disabled when multiNode is set",
    ),
    "old and new ingress": (
        serving(
            expose={
                "ingress": {"enabled": True, "spec": INGRESS},
                "router": {"hostDomainName": "a.example", "ingress": {"ingressClass": "nginx"}},
            }
        ),
        "spec.services[0].spec.expose.ingress",
        ".spec.expose.ingress is deprecated",
    ),
    "a rule further inside": (
        serving(
            expose={
                "router": {
                    "gateway": {"namespace": "a", "name": "b"},
                    "ingress": {"ingressClass": "c"},
                }
            }
        ),
        "spec.services[0].spec.expose.router",
        "ingress and gateway cannot be specified together",
    ),
}


@pytest.mark.parametrize(("patch", "field", "text"), BAD.values(), ids=BAD.keys())
def test_nimpipeline_invalid(cluster: Any, patch: Manifest, field: str, text: str) -> None:
    refusal = cluster.create(PIPELINE, patch)
    assert refusal, "accepted"
    assert refusal.names(field, text), refusal


GOOD: dict[str, Manifest] = {
    "as it is": {},
    "no spec": {"spec": None},
    "no services": {"spec.services": None},
    "an empty list": entries(),
    "a dependency": depending(name="a", port=1, envName="A", envValue="a"),
    # The operator reports these, so that the other services continue.
    "no name": entries({"enabled": True, "spec": SERVICE}),
    "one name twice": entries({"name": "llm"}, {"name": "llm"}),
    "a name that no object can have": entries({"name": "A/b", "enabled": True, "spec": SERVICE}),
    "no spec of a service": entries({"name": "llm", "enabled": True}),
    # The operator reports the first, and ignores a part of the second.
    "no storage": serving(storage=None),
    "two kinds of storage": serving(storage={"emptyDir": {}, "hostPath": "/models"}),
    "zero values of the reference": serving(
        storage={"emptyDir": {}, "nimCache": {}, "pvc": {}},
        scale={"hpa": {"maxReplicas": 0, "minReplicas": 1}},
        expose={"ingress": {"spec": {}}, "router": {}},
        metrics={"serviceMonitor": {}},
        livenessProbe={},
    ),
    "fifty services": entries(
        *({"name": f"llm-{index}", "enabled": True, "spec": SERVICE} for index in range(50))
    ),
}


@pytest.mark.parametrize("patch", GOOD.values(), ids=GOOD.keys())
def test_nimpipeline_valid(cluster: Any, patch: Manifest) -> None:
    assert cluster.create(PIPELINE, patch) is None


def test_nimpipeline_unknown_field(cluster: Any) -> None:
    refusal = cluster.create(PIPELINE, serving(imgae=1))
    assert 'unknown field "spec.services[0].spec.imgae"' in refusal.message


@pytest.fixture(scope="module")
def pipelines(cluster: Any) -> Iterator[Any]:
    assert cluster.create(PIPELINE, dry_run=False) is None
    yield cluster
    cluster.remove_all()


def test_nimpipeline_service_defaults(pipelines: Any) -> None:
    (stored,) = pipelines.read(PIPELINE)["spec"]["services"]
    assert stored["spec"]["inferencePlatform"] == "standalone"
    assert stored["spec"] == {**copy.deepcopy(SERVICE), "inferencePlatform": "standalone"}


CLAIM = {"create": True, "size": "10Gi", "volumeAccessMode": "ReadWriteOnce"}
CHANGES = {
    "of what is immutable in a service": serving(draResources=[{"resourceClaimName": "a"}]),
    "of the claim": serving(storage={"pvc": CLAIM}),
    "of a name": entries({"name": "other", "enabled": True, "spec": SERVICE}),
}


@pytest.mark.parametrize("patch", CHANGES.values(), ids=CHANGES.keys())
def test_nimpipeline_update(pipelines: Any, patch: Manifest) -> None:
    """A service may be renamed or recreated, so only the service itself can check changes."""
    assert pipelines.replace(PIPELINE, patch) is None
