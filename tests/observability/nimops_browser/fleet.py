# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A fleet on a sandbox of its own: nodes with eight GPUs, and resources in all states."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import typing as t
from pathlib import Path

Json = dict[str, t.Any]
Run = t.Callable[..., str]
"""Runs `kubectl nim` with these arguments and `text` on stdin; returns stdout."""

GPU, MIG, GROUP = "nvidia.com/gpu", "nvidia.com/mig-2g.20gb", "apps.nvidia.com/v1alpha1"
_NODES = {
    "h100-1": ("NVIDIA-H100-80GB-HBM3", {GPU: (8, 8)}),
    "h100-2": ("NVIDIA-H100-80GB-HBM3", {GPU: (8, 7)}),
    "a100-1": ("NVIDIA-A100-SXM4-80GB", {GPU: (0, 0), MIG: (6, 6)}),
    "l40s-1": ("NVIDIA-L40S", {GPU: (4, 4)}),
}
"""Product, capacity and allocatable devices by node."""
_ROOM = {"cpu": "256", "memory": "2Ti", "ephemeral-storage": "10Ti", "pods": "200"}
ROOT = Path(__file__).resolve().parents[3]
_OWN = {"sandbox.nimops/fleet": "true"}
_H100 = {**_OWN, "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
_FIRST = {**_OWN, "kubernetes.io/hostname": "h100-1"}
"""Where pods run. The scheduler chooses by chance among nodes that are as empty."""
_SECONDS = 120
TOKEN = "hf_nimopsFleetCanary2468"
"""A credential in the spec of a resource."""


def kubectl(*arguments: str, text: str = "") -> str:
    """Run kubectl on the cluster of KUBECONFIG."""
    done = subprocess.run(
        ["kubectl", *arguments], input=text, text=True, check=True, stdout=subprocess.PIPE
    )
    return done.stdout


def run_nim(*arguments: str, text: str = "") -> str:
    """Run `kubectl nim` of this folder, with the collection of PYTHONPATH or of `make collection`."""
    collections = os.environ.get("PYTHONPATH") or str(ROOT / "build/collections")
    paths = os.pathsep.join([str(ROOT / "packages/kubectl-nim/src"), collections])
    command = [sys.executable, "-m", "kubectl_nim", *arguments]
    done = subprocess.run(
        command, input=text, text=True, check=True, stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": paths},
    )  # fmt: skip
    return done.stdout


def _node(name: str, product: str, devices: t.Mapping[str, tuple[int, int]]) -> Json:
    amounts = [
        {**_ROOM, **{key: str(counts[index]) for key, counts in devices.items()}}
        for index in (0, 1)
    ]
    labels = {
        "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
        "sandbox.nimops/simulated": "true", **_OWN, "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.product": product, "feature.node.kubernetes.io/pci-10de.present": "true",
    }  # fmt: skip
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"capacity": amounts[0], "allocatable": amounts[1]},
    }


def _service(name: str, model: str, gpus: int = 1, replicas: int = 1, **spec: t.Any) -> Json:
    resource = spec.pop("resource", GPU)
    return {
        "apiVersion": GROUP,
        "kind": "NIMService",
        "metadata": {"name": name},
        "spec": {
            "image": {"repository": f"nvcr.io/nim/{model}", "tag": "1.12.0", "pullSecrets": ["ngc-secret"]},
            "authSecret": "ngc-api-secret",
            "storage": {"emptyDir": {"sizeLimit": "50Gi"}},
            "replicas": replicas,
            "resources": {"limits": {resource: gpus}},
            "expose": {"service": {"port": 8000}},
            "nodeSelector": _OWN,
            **spec,
        },
    }  # fmt: skip


def _cache(name: str, model: str, size: str) -> Json:
    source = {
        "ngc": {
            "modelPuller": f"nvcr.io/nim/{model}:1.12.0",
            "pullSecret": "ngc-secret",
            "authSecret": "ngc-api-secret",
            "model": {"profiles": ["all"]},
        }
    }
    pvc = {
        "create": True,
        "size": size,
        "volumeAccessMode": "ReadWriteMany",
        "storageClass": "standard",
    }
    return {
        "apiVersion": GROUP,
        "kind": "NIMCache",
        "metadata": {"name": name},
        "spec": {"source": source, "storage": {"pvc": pvc}},
    }


def _named(cache: str) -> Json:
    return {"storage": {"nimCache": {"name": cache}}}


def _pipeline(
    name: str, *services: tuple[Json, list[str]], disabled: t.Collection[str] = ()
) -> Json:
    entries = [
        {
            "name": service["metadata"]["name"],
            "enabled": service["metadata"]["name"] not in disabled,
            "spec": service["spec"],
            "dependencies": [
                {
                    "name": other,
                    "port": 8000,
                    "envName": f"{other.upper().replace('-', '_')}_URL",
                    "envValue": f"http://{other}:8000/v1",
                }
                for other in dependencies
            ],
        }
        for service, dependencies in services
    ]
    return {
        "apiVersion": GROUP,
        "kind": "NIMPipeline",
        "metadata": {"name": name},
        "spec": {"services": entries},
    }


_LLAMA, _CODE, _EMBED = "meta/llama-3.3-70b-instruct", "qwen/qwen3-coder", "nvidia/nv-embedqa-1b"
FLEET: dict[str, list[Json]] = {
    "chat": [
        _cache("llama-70b", _LLAMA, "300Gi"),
        _service("llama-70b", _LLAMA, 4, 2, nodeSelector=_H100, **_named("llama-70b")),
        _service("coder", _CODE, 8, nodeSelector=_H100, env=[{"name": "HF_TOKEN", "value": TOKEN}]),
        _service("guard", "nvidia/nemoguard-8b", resource=MIG, replicas=2),
    ],
    "rag": [
        _cache("embedqa", _EMBED, "50Gi"),
        _pipeline(
            "rag",
            (_service("rag-llm", _LLAMA, 2, nodeSelector=_FIRST), []),
            (_service("rag-embed", _EMBED, nodeSelector=_FIRST, **_named("embedqa")), []),
            (_service("rag-rerank", "nvidia/nv-rerankqa-1b", nodeSelector=_FIRST), ["rag-embed"]),
            (_service("rag-answers", "nvidia/nemotron-nano", resource=MIG), ["rag-llm", "rag-rerank"]),
            (_service("rag-speech", "nvidia/parakeet"), ["rag-answers"]),
            disabled={"rag-speech"},
        ),
    ],
    "research": [
        _cache("nemotron", "nvidia/nemotron-ultra", "1Ti"),
        _service("nemotron", "nvidia/nemotron-ultra", 8, **_named("nemotron")),
        _service("vision", "meta/llama-vision", **_named("vision")),
    ],
}  # fmt: skip
"""Resources by namespace."""

_READY = {
    "chat": ("llama-70b", "guard"),
    "rag": ("rag-llm", "rag-embed", "rag-rerank", "rag-answers"),
}
_REPLICAS = {"llama-70b": 2, "guard": 2}
_CACHES = {"chat": ("llama-70b", 6), "rag": ("embedqa", 2)}


def create_fleet(nim: Run) -> None:
    """Create the nodes, and apply the resources of all namespaces; states are those after a while."""
    for name, (product, devices) in _NODES.items():
        kubectl("create", "-f", "-", text=json.dumps(_node(name, product, devices)))
    for namespace, resources in FLEET.items():
        kubectl("create", "namespace", namespace)
        for resource in resources:  # caches first
            nim("apply", "-n", namespace, "--no-wait", "-f", "-", text=json.dumps(resource))
            kind, name = resource["kind"], resource["metadata"]["name"]
            if kind == "NIMCache" and namespace in _CACHES:
                _set_cache_ready(namespace, *_CACHES[namespace])
            if kind == "NIMService" and name in _READY.get(namespace, ()):
                _wait_for_pods(namespace, name)  # before others need GPUs
    for name in _READY["rag"]:  # of the pipeline
        nim("reconcile", "-n", "rag", "--no-wait", f"nimservice/{name}")
    for namespace, names in _READY.items():
        for name in names:
            _wait_for_pods(namespace, name)
    _write_states(nim)


def _patch(namespace: str, kind: str, name: str, status: Json) -> None:
    kubectl(
        *("-n", namespace, "patch", kind, name, "--subresource=status", "--type=merge"),
        *("--patch", json.dumps({"status": status})),
    )


def _condition(kind: str, is_true: bool, reason: str, message: str = "") -> Json:
    return {
        "type": kind,
        "status": "True" if is_true else "False",
        "reason": reason,
        "message": message,
        "lastTransitionTime": "2026-11-20T08:00:00Z",
    }


def _set_cache_ready(namespace: str, name: str, profiles: int) -> None:
    status = {
        "state": "Ready",
        "pvc": f"{name}-pvc",
        "profiles": [{"name": f"profile-{number}", "model": name} for number in range(profiles)],
        "conditions": [_condition("NIM_CACHE_JOB_COMPLETED", True, "JobCompleted")],
    }
    _patch(namespace, "nimcache", name, status)


def _wait_for_pods(namespace: str, name: str) -> None:
    path = ("-n", namespace, "rollout", "status", f"deployment/{name}", f"--timeout={_SECONDS}s")
    kubectl(*path)


def _write_states(nim: Run) -> None:
    """The states that the operator would write: no model answers here."""
    for namespace, names in _READY.items():
        for name in names:
            model = {
                "name": name,
                "clusterEndpoint": f"{name}.{namespace}:8000",
                "externalEndpoint": "",
            }
            conditions = [_condition("Ready", True, "Ready")]
            status = {"state": "Ready", "model": model, "conditions": conditions}
            _patch(
                namespace,
                "nimservice",
                name,
                status | {"availableReplicas": _REPLICAS.get(name, 1)},
            )
    states = dict.fromkeys(_READY["rag"], "Ready")
    _patch("rag", "nimpipeline", "rag", {"state": "Ready", "states": states, "conditions": [
        _condition("NIM_PIPELINE_READY", True, "Ready"), _condition("Ready", True, "Ready"),
    ]})  # fmt: skip
    time.sleep(3)
    for namespace, name in (("chat", "coder"), ("research", "nemotron"), ("research", "vision")):
        nim("reconcile", "-n", namespace, "--no-wait", f"nimservice/{name}")


def remove_fleet() -> None:
    """Remove what `create_fleet` created, without waiting."""
    kubectl("delete", "namespace", *FLEET, "--wait=false", "--ignore-not-found")
    kubectl("delete", "node", *_NODES, "--wait=false", "--ignore-not-found")
