# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The two pods, field by field."""

from __future__ import annotations

import subprocess
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._common.manifest import (
    parse_manifest,
    read_log,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimbuild.build_pod import build_engine_pod
from ansible_collections.nimops.nim.plugins.module_utils._nimbuild.manifest_pod import (
    add_manifest,
    build_manifest_pod,
)

Json = dict[str, t.Any]
Make = t.Callable[..., Json]

GPU = "nvidia.com/gpu"
OWNER = {
    "apiVersion": "apps.nvidia.com/v1alpha1",
    "blockOwnerDeletion": True,
    "controller": True,
    "kind": "NIMBuild",
    "name": "engine",
    "uid": "u-build",
}
LABELS = {
    "app": "k8s-nim-operator",
    "app.kubernetes.io/name": "engine",
    "app.kubernetes.io/managed-by": "k8s-nim-operator",
}
SECURITY = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsGroup": 2000,
    "runAsNonRoot": True,
    "runAsUser": 1000,
}


def probe(path: str, delay: int, failures: int) -> Json:
    return {
        "httpGet": {"path": path, "port": "api"},
        "initialDelaySeconds": delay,
        "timeoutSeconds": 1,
        "periodSeconds": 10,
        "successThreshold": 1,
        "failureThreshold": failures,
    }


def test_build_pod(build: Make, cache: Make, buildable: Json) -> None:
    assert build_engine_pod(build(), cache(), buildable, "Kubernetes") == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "engine-engine-build-pod",
            "namespace": "nim",
            "labels": LABELS,
            "annotations": {"sidecar.istio.io/inject": "false"},
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
                                "secretKeyRef": {"name": "ngc-api-secret", "key": "NGC_API_KEY"}
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


def test_manifest_pod(build: Make, cache: Make) -> None:
    pod = build_manifest_pod(build(), cache(), "Kubernetes")
    container = pod["spec"]["containers"][0]
    assert pod["metadata"] == {
        "name": "engine-local-manifest-pod",
        "namespace": "nim",
        "labels": LABELS,
        "annotations": {"sidecar.istio.io/inject": "false"},
        "ownerReferences": [OWNER],
    }
    assert pod["spec"]["restartPolicy"] == "Never"
    assert container.pop("command")[:2] == ["sh", "-c"]
    assert container == {
        "name": "nim-build-manifest-ctr",
        "image": "nvcr.io/nim/meta/llama:1.12.0",
        "securityContext": SECURITY,
        "volumeMounts": [{"name": "nim-cache-volume", "mountPath": "/model-store"}],
    }


def both(cr: Json, on: Json, profile: Json, orchestrator: str = "Kubernetes") -> list[Json]:
    return [
        build_engine_pod(cr, on, profile, orchestrator),
        build_manifest_pod(cr, on, orchestrator),
    ]


def test_volume_user_and_runtime_are_those_of_the_cache(
    build: Make, cache: Make, buildable: Json
) -> None:
    on = cache(
        storage={"pvc": {"name": "models", "subPath": "llm"}},
        userID=7,
        groupID=8,
        runtimeClassName="nvidia",
        nodeSelector={"cache": "only"},
        env=[{"name": "CACHE", "value": "only"}],
    )
    for pod in both(build(), on, buildable):
        spec, container = pod["spec"], pod["spec"]["containers"][0]
        assert spec["volumes"][0]["persistentVolumeClaim"] == {"claimName": "models"}
        assert container["volumeMounts"][0]["subPath"] == "llm"
        assert spec["securityContext"] == {"fsGroup": 8, "runAsNonRoot": True, "runAsUser": 7}
        assert (container["securityContext"]["runAsUser"]) == 7
        assert (container["securityContext"]["runAsGroup"]) == 8
        assert spec["runtimeClassName"] == "nvidia"
        assert "only" not in str(pod)
        assert "serviceAccountName" not in spec


def test_placement_and_image_are_those_of_the_build(
    build: Make, cache: Make, buildable: Json
) -> None:
    cr = build(
        tolerations=[{"key": "gpu", "operator": "Exists", "tolerationSeconds": 5}],
        nodeSelector={"x": "true"},
        image={"repository": "r", "tag": "1", "pullSecrets": ["a", "b"], "pullPolicy": "Always"},
    )
    for pod in both(cr, cache(), buildable):
        assert pod["spec"]["tolerations"] == cr["spec"]["tolerations"]
        assert pod["spec"]["nodeSelector"] == {"x": "true"}
        assert pod["spec"]["imagePullSecrets"] == [{"name": "a"}, {"name": "b"}]
        assert pod["spec"]["containers"][0]["image"] == "r:1"
        assert "imagePullPolicy" not in pod["spec"]["containers"][0]


def test_openshift(build: Make, cache: Make, buildable: Json) -> None:
    annotations = [
        pod["metadata"]["annotations"] for pod in both(build(), cache(), buildable, "OpenShift")
    ]
    assert annotations == [
        {"sidecar.istio.io/inject": "false", "openshift.io/scc": "nonroot"},
        {"openshift.io/required-scc": "nonroot"},
    ]


def test_tkgs(build: Make, cache: Make, buildable: Json) -> None:
    for pod in both(build(), cache(), buildable, "TKGS"):
        assert pod["spec"]["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert "seccompProfile" not in pod["spec"]["containers"][0]["securityContext"]


def test_labels_and_annotations(build: Make, cache: Make, buildable: Json) -> None:
    """O-41: those of the spec win over those of the NIMBuild; ours win over all."""
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
    made, other = (pod["metadata"] for pod in both(cr, cache(), buildable))
    assert made["labels"] == LABELS | {"team": "a", "tier": "gold"}
    assert made["annotations"] == {
        "sidecar.istio.io/inject": "false", "note": "spec", "x": "1", "y": "2",
    }  # fmt: skip
    assert other["labels"] == LABELS


def names_and_values(pod: Json) -> list[tuple[str, t.Any]]:
    return [(item["name"], item.get("value")) for item in pod["spec"]["containers"][0]["env"]]


@pytest.mark.parametrize(
    ("lora", "first"),
    [
        (None, [("X", "1"), ("NIM_SERVER_PORT", "9")]),
        ("false", [("X", "1"), ("NIM_SERVER_PORT", "9")]),
        ("true", [("NIM_PEFT_SOURCE", "/tmp"), ("X", "1"), ("NIM_SERVER_PORT", "9")]),
    ],
)
def test_env(build: Make, cache: Make, buildable: Json, lora: str | None, first: t.Any) -> None:
    given = [
        {"name": "X", "value": "1"},
        {"name": "NIM_SERVER_PORT", "value": "9"},
        {"name": "NIM_PEFT_SOURCE", "value": "/mine"},
    ]
    config = buildable["config"] | ({"feat_lora": lora} if lora else {})
    cr = build(env=given if lora == "true" else given[:2], modelName="mine")
    pod = build_engine_pod(cr, cache(), buildable | {"config": config}, "Kubernetes")
    assert names_and_values(pod) == [
        *first,
        ("NIM_CACHE_PATH", "/model-store"),
        ("NIM_HTTP_API_PORT", "8000"),
        ("NIM_CUSTOM_MODEL_NAME", "mine"),
        ("NIM_MODEL_PROFILE", "aaaa"),
        ("NGC_API_KEY", None),
    ]


@pytest.mark.parametrize(
    ("config", "given", "made"),
    [
        pytest.param({"tp": "4"}, None, {"requests": {GPU: "4"}, "limits": {GPU: "4"}}, id="tag"),
        pytest.param(
            {"tp": "4", "tensorParallelism": "8"},
            {},
            {"requests": {GPU: "8"}, "limits": {GPU: "8"}},
            id="both-tags",
        ),
        pytest.param(
            {"tp": "2"},
            {"limits": {"memory": "8Gi"}},
            {"requests": {GPU: "2"}, "limits": {"memory": "8Gi", GPU: "2"}},
            id="tag-and-memory",
        ),
        pytest.param(
            {},
            {"limits": {GPU: 1}, "requests": {GPU: 1, "cpu": "1"}},
            {"limits": {GPU: "1"}, "requests": {GPU: "1", "cpu": "1"}},
            id="given",
        ),
        pytest.param({}, {"limits": {GPU: 1}}, {"limits": {GPU: "1"}}, id="given-as-a-limit"),
    ],
)
def test_gpus(build: Make, cache: Make, config: Json, given: Json | None, made: Json) -> None:
    cr = build(resources=given) if given is not None else build()
    pod = build_engine_pod(cr, cache(), {"name": "aaaa", "config": config}, "Kubernetes")
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
def test_gpus_that_cannot_be_told(
    build: Make, cache: Make, config: Json, given: Json, message: str
) -> None:
    with pytest.raises(NimError) as raised:
        build_engine_pod(
            build(resources=given), cache(), {"name": "aaaa", "config": config}, "Kubernetes"
        )
    assert str(raised.value).startswith(message)


def test_gpus_that_cannot_be_told_stall_the_build(world: t.Any) -> None:
    cluster = world(resources={"limits": {GPU: "1"}})
    cluster.set_cache(state="InProgress")
    cluster.reconcile()
    cluster.set_cache(state="Ready")
    done = cluster.reconcile()
    assert [item["type"] for item in cluster.status["conditions"]] == [
        "NIM_BUILD_RECONCILE_FAILED", "Stalled",
    ]  # fmt: skip
    assert (cluster.state, done.applied, done.report.error) == ("Pending", [], "")
    assert cluster.condition("NIM_BUILD_RECONCILE_FAILED")[:2] == ("True", "ReconcileFailed")
    assert cluster.condition("Stalled")[1] == "GPUCountTwice"
    assert done.events == [("Warning", "ReconcileFailed")]


@pytest.mark.parametrize("text", ["a: {model: 1}\nb: {}", None])
def test_script(build: Make, cache: Make, tmp_path: Path, text: str | None) -> None:
    """The shell code, run with its path moved and without its last line, the endless sleep."""
    pod = build_manifest_pod(build(), cache(), "Kubernetes")
    script = pod["spec"]["containers"][0]["command"][2]
    assert "/model-store/local_cache/local_manifest.yaml" in script
    if text:
        (tmp_path / "local_manifest.yaml").write_text(text)
    body = script[: script.index("trap")].replace("/model-store/local_cache", str(tmp_path))
    log = subprocess.run(["/bin/sh", "-c", body], capture_output=True, text=True, check=True).stdout
    reading = read_log(log)
    assert (reading.complete, reading.text) == (True, text or "")


def test_all_of_the_config_map_is_applied(build: Make) -> None:
    """Server-side apply removes what it is not given again: the cache applied it by our name."""
    owner = {"kind": "NIMCache", "name": "llama", "uid": "u-cache", "controller": True}
    live = {
        "metadata": {
            "name": "llama-manifest",
            "namespace": "nim",
            "resourceVersion": "7",
            "managedFields": [{}],
            "labels": {"app": "k8s-nim-operator", "app.kubernetes.io/name": "llama"},
            "ownerReferences": [owner],
        },
        "data": {"model_manifest.yaml": "a", "local_model_manifest.yaml": "old", "mine": "b"},
    }
    assert add_manifest(build(), live, parse_manifest("c: {model: m}")) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "llama-manifest",
            "namespace": "nim",
            "labels": {"app": "llama", "app.kubernetes.io/name": "llama"},
            "ownerReferences": [owner],
        },
        "data": {
            "model_manifest.yaml": "a",
            "local_model_manifest.yaml": "c:\n  model: m\n  tags: {}\n",
            "mine": "b",
        },
    }
