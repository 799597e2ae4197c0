# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import copy
import subprocess

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._builders.pod import container_security
from ansible_collections.nimops.nim.plugins.module_utils._engine.metadata import (
    operator_labels,
    owner_reference,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.build.app import NIMBuildApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.build.manifest_pod import (
    add_manifest,
    build_manifest_pod,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.profiles.model_manifest import (
    parse_manifest,
    read_log,
)

FAILED = "NIM_BUILD_RECONCILE_FAILED"


def test_build_manifest_pod(build, cache):
    cr, on = build(labels={"team": "a"}), cache()
    pod = build_manifest_pod(NIMBuildApp(cr), on, "Kubernetes")
    assert pod["metadata"] == {
        "name": "engine-local-manifest-pod",
        "namespace": "nim",
        "labels": operator_labels("engine"),
        "annotations": {
            "nimops.nim/last-applied-generation": "1",
            "sidecar.istio.io/inject": "false",
        },
        "ownerReferences": [owner_reference(cr)],
    }
    assert pod["spec"]["restartPolicy"] == "Never"
    (container,) = pod["spec"]["containers"]
    assert container.pop("command")[:2] == ["sh", "-c"]
    assert container == {
        "name": "nim-build-manifest-ctr",
        "image": "nvcr.io/nim/meta/llama:1.12.0",
        "securityContext": container_security(1000, 2000),
        "volumeMounts": [{"name": "nim-cache-volume", "mountPath": "/model-store"}],
    }


def test_build_manifest_pod_on_openshift(build, cache):
    pod = build_manifest_pod(NIMBuildApp(build()), cache(), "OpenShift")
    assert pod["metadata"]["annotations"]["openshift.io/required-scc"] == "nonroot"
    assert "sidecar.istio.io/inject" not in pod["metadata"]["annotations"]


@pytest.mark.parametrize("text", ["a: {model: 1}\nb: {}", None])
def test_build_manifest_pod_script(build, cache, tmp_path, text):
    """Run the shell code with another path and without the endless loop."""
    pod = build_manifest_pod(NIMBuildApp(build()), cache(), "Kubernetes")
    script = pod["spec"]["containers"][0]["command"][2]
    assert "/model-store/local_cache/local_manifest.yaml" in script
    if text:
        (tmp_path / "local_manifest.yaml").write_text(text)
    body = script[: script.index("trap")].replace("/model-store/local_cache", str(tmp_path))
    log = subprocess.run(["/bin/sh", "-c", body], capture_output=True, text=True, check=True).stdout
    reading = read_log(log)
    assert (reading.complete, reading.text) == (True, text or "")


def test_add_manifest_keeps_other_keys(build):
    """Server-side apply removes omitted keys, as the cache applied them with our field manager."""
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
    assert add_manifest(NIMBuildApp(build()), live, parse_manifest("c: {model: m}")) == {
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


def test_add_manifest_too_large(world):
    cluster = world().become_built().print_manifest()
    live = copy.deepcopy(cluster.get("ConfigMap/nim/llama-manifest"))
    cluster.put(live | {"data": {**live["data"], "other": "x" * 999_900}})
    done = cluster.reconcile()
    assert (cluster.state, done.applied) == ("Pending", [])
    assert "ConfigMap llama-manifest cannot hold the manifest" in cluster.condition(FAILED)[2]
    cluster.put(live)
    assert cluster.reconcile().applied == ["ConfigMap/nim/llama-manifest"]
