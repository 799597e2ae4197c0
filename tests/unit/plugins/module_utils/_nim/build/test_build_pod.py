# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._nim.build.app import NIMBuildApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.build.build_pod import (
    build_engine_pod,
)

GPU = "nvidia.com/gpu"
OWNER = {
    "apiVersion": "apps.nvidia.com/v1alpha1", "blockOwnerDeletion": True, "controller": True,
    "kind": "NIMBuild", "name": "engine", "uid": "u-build",
}  # fmt: skip
LABELS = {
    "app": "k8s-nim-operator",
    "app.kubernetes.io/name": "engine",
    "app.kubernetes.io/managed-by": "k8s-nim-operator",
}
MARKS = {
    "nimops.nim/last-applied-generation": "1", "nimops.nim/last-applied-source": "8ddd24e47c1edb0b",
}  # fmt: skip
SECURITY = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsGroup": 2000,
    "runAsNonRoot": True,
    "runAsUser": 1000,
}


def probe(path, delay, failures):
    return {
        "httpGet": {"path": path, "port": "api"},
        "initialDelaySeconds": delay,
        "timeoutSeconds": 1,
        "periodSeconds": 10,
        "successThreshold": 1,
        "failureThreshold": failures,
    }


def test_build_engine_pod(build, cache, buildable):
    assert build_engine_pod(NIMBuildApp(build()), cache(), buildable, "Kubernetes") == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "engine-engine-build-pod",
            "namespace": "nim",
            "labels": LABELS,
            "annotations": {"sidecar.istio.io/inject": "false", **MARKS},
            "ownerReferences": [OWNER],
        },
        "spec": {
            "restartPolicy": "Never",
            "securityContext": {"fsGroup": 2000, "runAsNonRoot": True, "runAsUser": 1000},
            "containers": [
                {
                    "name": "nim-build-ctr",
                    "image": "nvcr.io/nim/meta/llama:1.12.0",
                    "env": [
                        {"name": "NIM_CACHE_PATH", "value": "/model-store"},
                        {"name": "NIM_SERVER_PORT", "value": "8000"},
                        {"name": "NIM_HTTP_API_PORT", "value": "8000"},
                        {"name": "NIM_CUSTOM_MODEL_NAME", "value": "engine"},
                        {"name": "NIM_MODEL_PROFILE", "value": "aaaa"},
                        {
                            "name": "NGC_API_KEY",
                            "valueFrom": {
                                "secretKeyRef": {
                                    "name": "ngc-api-secret",
                                    "key": "NGC_API_KEY",
                                    "optional": True,
                                }
                            },
                        },
                    ],
                    "ports": [{"name": "api", "containerPort": 8000, "protocol": "TCP"}],
                    "readinessProbe": probe("/v1/health/ready", 15, 3),
                    "livenessProbe": probe("/v1/health/live", 15, 3),
                    "startupProbe": probe("/v1/health/ready", 30, 30),
                    "terminationMessagePath": "/dev/termination-log",
                    "terminationMessagePolicy": "FallbackToLogsOnError",
                    "resources": {"requests": {GPU: "2"}, "limits": {GPU: "2"}},
                    "securityContext": SECURITY,
                    "volumeMounts": [{"name": "nim-cache-volume", "mountPath": "/model-store"}],
                }
            ],
            "volumes": [
                {
                    "name": "nim-cache-volume",
                    "persistentVolumeClaim": {"claimName": "llama-pvc"},
                }
            ],
        },
    }


def test_build_engine_pod_on_openshift(build, cache, buildable):
    pod = build_engine_pod(NIMBuildApp(build()), cache(), buildable, "OpenShift")
    assert pod["metadata"]["annotations"] == {
        "sidecar.istio.io/inject": "false", "openshift.io/scc": "nonroot", **MARKS,
    }  # fmt: skip


def test_build_engine_pod_metadata(build, cache, buildable):
    """O-41: the spec takes precedence over the NIMBuild's metadata, and ours over both."""
    cr = build(labels={"team": "a", "app": "mine"}, annotations={"note": "spec", "x": "1"})
    cr["metadata"]["labels"] = {"team": "b", "tier": "gold"}
    cr["metadata"]["annotations"] = {
        "note": "own",
        "y": "2",
        "sidecar.istio.io/inject": "true",
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
        "nimops.nim/cache-state": "llama=Ready",
        "ansible.sdk.operatorframework.io/reconcile-period": "1h",
    }
    made = build_engine_pod(NIMBuildApp(cr), cache(), buildable, "Kubernetes")["metadata"]
    assert made["labels"] == LABELS | {"team": "a", "tier": "gold"}
    assert made["annotations"] == {
        "sidecar.istio.io/inject": "false", "note": "spec", "x": "1", "y": "2", **MARKS,
    }  # fmt: skip


def test_build_engine_pod_gitops(build, cache, buildable):
    """What Argo CD, Flux and Helm mark the NIMBuild with is not of the pod."""
    cr = build(labels={"argocd.argoproj.io/given": "a"})
    cr["metadata"]["labels"] = {
        "tier": "gold",
        "app.kubernetes.io/instance": "fleet",
        "kustomize.toolkit.fluxcd.io/name": "fleet",
        "helm.toolkit.fluxcd.io/name": "fleet",
        "helm.sh/chart": "fleet-1",
    }
    cr["metadata"]["annotations"] = {
        "argocd.argoproj.io/tracking-id": "fleet:apps.nvidia.com/NIMBuild:nim/engine",
        "argocd.argoproj.io/hook": "PreSync",
        "meta.helm.sh/release-name": "fleet",
        "helm.sh/hook": "pre-install",
    }
    made = build_engine_pod(NIMBuildApp(cr), cache(), buildable, "Kubernetes")["metadata"]
    assert made["labels"] == LABELS | {"tier": "gold", "argocd.argoproj.io/given": "a"}
    assert made["annotations"] == {"sidecar.istio.io/inject": "false", **MARKS}


def names_and_values(pod):
    return [(item["name"], item.get("value")) for item in pod["spec"]["containers"][0]["env"]]


@pytest.mark.parametrize(
    ("lora", "first"),
    [
        (None, [("X", "1"), ("NIM_SERVER_PORT", "9")]),
        ("false", [("X", "1"), ("NIM_SERVER_PORT", "9")]),
        ("true", [("X", "1"), ("NIM_SERVER_PORT", "9"), ("NIM_PEFT_SOURCE", "/mine")]),
    ],
)
def test_build_engine_pod_env(build, cache, buildable, lora, first):
    given = [
        {"name": "X", "value": "1"},
        {"name": "NIM_SERVER_PORT", "value": "9"},
        {"name": "NIM_PEFT_SOURCE", "value": "/mine"},
    ]
    config = buildable["config"] | ({"feat_lora": lora} if lora else {})
    cr = build(env=given if lora == "true" else given[:2], modelName="mine")
    pod = build_engine_pod(NIMBuildApp(cr), cache(), buildable | {"config": config}, "Kubernetes")
    assert names_and_values(pod) == [
        *first,
        ("NIM_CACHE_PATH", "/model-store"),
        ("NIM_HTTP_API_PORT", "8000"),
        ("NIM_CUSTOM_MODEL_NAME", "mine"),
        ("NIM_MODEL_PROFILE", "aaaa"),
        ("NGC_API_KEY", None),
    ]


ENGINE_POD_GPUS = {
    "tag": ({"tp": "4"}, None, {"requests": {GPU: "4"}, "limits": {GPU: "4"}}),
    "both-tags": (
        {"tp": "4", "tensorParallelism": "8"}, {}, {"requests": {GPU: "8"}, "limits": {GPU: "8"}},
    ),
    "tag-and-memory": (
        {"tp": "2"}, {"limits": {"memory": "8Gi"}},
        {"requests": {GPU: "2"}, "limits": {"memory": "8Gi", GPU: "2"}},
    ),
    "given": (
        {}, {"limits": {GPU: 1}, "requests": {GPU: 1, "cpu": "1"}},
        {"limits": {GPU: "1"}, "requests": {GPU: "1", "cpu": "1"}},
    ),
    "given-as-a-limit": ({}, {"limits": {GPU: 1}}, {"limits": {GPU: "1"}}),
}  # fmt: skip


@pytest.mark.parametrize(
    ("config", "given", "made"),
    ENGINE_POD_GPUS.values(),
    ids=ENGINE_POD_GPUS,
)
def test_build_engine_pod_gpus(build, cache, config, given, made):
    cr = build(resources=given) if given is not None else build()
    pod = build_engine_pod(
        NIMBuildApp(cr), cache(), {"name": "aaaa", "config": config}, "Kubernetes"
    )
    assert pod["spec"]["containers"][0]["resources"] == made


@pytest.mark.parametrize(
    ("config", "given", "message"),
    [
        pytest.param(
            {}, {}, "tensorParallelism is not set in the profile tags or resources", id="none"
        ),
        pytest.param(
            {},
            {"limits": {"cpu": "1"}},
            "tensorParallelism is not set in the profile tags or resources",
            id="no-gpus",
        ),
        *(
            pytest.param(
                {"tp": "1"},
                {where: {GPU: "1"}},
                "tensorParallelism is set in the profile tags, but nvidia.com/gpu is already set"
                " in resources",
                id=f"twice-{where}",
            )
            for where in ("requests", "limits")
        ),
        *(
            pytest.param(
                {"tp": text}, {}, f"profile aaaa has tensor parallelism {text!r}", id=f"tag-{text}"
            )
            for text in ("many", "0", "-1", "1.5")
        ),
    ],
)
def test_build_engine_pod_unknown_gpu_count(build, cache, config, given, message):
    with pytest.raises(NimError) as raised:
        build_engine_pod(
            NIMBuildApp(build(resources=given)),
            cache(),
            {"name": "aaaa", "config": config},
            "Kubernetes",
        )
    assert str(raised.value).startswith(message)
