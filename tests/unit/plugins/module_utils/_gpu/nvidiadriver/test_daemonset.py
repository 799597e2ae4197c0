# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._gpu.driver.license import LICENSE
from ansible_collections.nimops.nim.plugins.module_utils._gpu.nodes import OWNER
from ansible_collections.nimops.nim.plugins.module_utils._gpu.nvidiadriver.daemonset import (
    build_daemon_set,
)
from ansible_collections.nimops.nim.plugins.module_utils._gpu.nvidiadriver.pools import pools_of


def build(nvd, spec=None, **more):
    app = nvd.app(spec, **more)
    (pool,), _errors = pools_of(app)
    return build_daemon_set(app, pool)


def pod_of(nvd, spec=None, **more):
    return build(nvd, spec, **more)["spec"]["template"]["spec"]


def images_of(pod):
    return {item["name"]: item["image"] for item in [*pod["initContainers"], *pod["containers"]]}


def test_build_daemon_set_name_and_nodes(nvd):
    found = build(nvd)
    name = found["metadata"]["name"]
    labels = {
        "app": name,
        "app.kubernetes.io/component": "nvidia-driver",
        "nvidia.com/node.os-version": "ubuntu24.04",
        "nvidia.com/precompiled": "false",
    }
    assert found["metadata"]["labels"] == labels
    template = found["spec"]["template"]
    assert template["metadata"]["labels"] == labels
    default = {"kubectl.kubernetes.io/default-container": "nvidia-driver-ctr"}
    assert template["metadata"]["annotations"] == default
    assert found["spec"]["selector"] == {"matchLabels": {"app": name}}
    assert found["spec"]["updateStrategy"] == {"type": "OnDelete"}
    assert template["spec"]["nodeSelector"] == {
        "nvidia.com/gpu.deploy.driver": "true",
        OWNER: "a",
        f"{nvd.nfd}system-os_release.ID": "ubuntu",
        f"{nvd.nfd}system-os_release.VERSION_ID": "24.04",
    }
    assert template["spec"]["serviceAccountName"] == "nvidia-gpu-driver-a-ubuntu24.04"
    assert found["metadata"]["ownerReferences"][0]["uid"] == "uid-a"
    assert found["metadata"]["namespace"] == nvd.namespace


def test_build_daemon_set_images(nvd):
    side = {"enabled": True, "repository": "r", "image": "i", "version": "2"}
    pod = pod_of(nvd, {"gds": side, "manager": {"image": "m:1"}})
    assert images_of(pod) == {
        "k8s-driver-manager": "m:1",
        "nvidia-driver-ctr": "r.example/driver:1-ubuntu24.04",
        "nvidia-fs-ctr": "r/i:2-ubuntu24.04",
    }


def test_build_daemon_set_ignores_settings(nvd):
    images = {"DRIVER_IMAGE": "other/driver:9", "DRIVER_MANAGER_IMAGE": "other/manager:9"}
    assert images_of(pod_of(nvd, images=images)) == {
        "k8s-driver-manager": "other/manager:9",
        "nvidia-driver-ctr": "r.example/driver:1-ubuntu24.04",
    }


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ({"image": "x/driver:1", "repository": "", "version": ""}, "x/driver:1-ubuntu24.04"),
        ({"version": "sha256:ab"}, "r.example/driver@sha256:ab"),
    ],
)
def test_build_daemon_set_image_forms(nvd, image, expected):
    assert images_of(pod_of(nvd, image))["nvidia-driver-ctr"] == expected


@pytest.mark.parametrize(
    ("image", "why"),
    [
        ({"repository": "", "version": "", "image": "nvcr.io:5000/driver"}, "^version: the image"),
        ({"repository": ""}, "repository, image and version must all be set"),
        ({"version": ""}, "repository, image and version must all be set"),
    ],
)
def test_build_daemon_set_incomplete_image(nvd, image, why):
    with pytest.raises(NimError, match=why):
        build(nvd, image)


def test_build_daemon_set_precompiled(nvd):
    found = build(nvd, {"usePrecompiled": True})
    labels = found["spec"]["template"]["metadata"]["labels"]
    assert labels["nvidia.com/precompiled"] == "true"
    assert labels["nvidia.com/precompiled.kernel-version"] == "6.8.0-60-generic"
    pod = found["spec"]["template"]["spec"]
    image = "r.example/driver:1-6.8.0-60-generic-ubuntu24.04"
    assert images_of(pod)["nvidia-driver-ctr"] == image
    assert pod["nodeSelector"][f"{nvd.nfd}kernel-version.full"] == "6.8.0-60-generic"
    with pytest.raises(NimError, match="is a digest"):
        build(nvd, {"usePrecompiled": True, "version": "sha256:ab"})


@pytest.mark.parametrize("side", ["gds", "gdrcopy"])
def test_build_daemon_set_not_precompiled(nvd, side):
    with pytest.raises(NimError, match="is not supported along with pre-compiled NVIDIA drivers"):
        build(nvd, {"usePrecompiled": True, side: {"enabled": True}})


def test_build_daemon_set_pod_settings(nvd):
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}
    tolerations = [{"operator": "Exists"}]
    spec = {
        "nodeAffinity": affinity,
        "tolerations": tolerations,
        "priorityClassName": "p",
        "podSecurityContext": {"fsGroup": 1},
        "labels": {"app": "x", "team": "ml", "nvidia.com/precompiled": "x"},
        "annotations": {"note": "n"},
    }
    found = build(nvd, spec)
    metadata, pod = found["spec"]["template"]["metadata"], found["spec"]["template"]["spec"]
    assert pod["affinity"]["nodeAffinity"] == affinity
    assert "podAntiAffinity" in pod["affinity"]
    assert (pod["tolerations"], pod["priorityClassName"]) == (tolerations, "p")
    assert pod["securityContext"] == {"fsGroup": 1}
    assert metadata["labels"]["team"] == found["metadata"]["labels"]["team"] == "ml"
    assert metadata["labels"]["app"] == found["metadata"]["name"]
    assert metadata["labels"]["nvidia.com/precompiled"] == "false"
    assert metadata["annotations"]["note"] == found["metadata"]["annotations"]["note"] == "n"


def test_build_daemon_set_root(nvd):
    policy = {"driver": {"useNvidiaDriverCRD": True}, "hostPaths": {"rootFS": "/mnt"}}
    volumes = {item["name"]: item for item in pod_of(nvd, policy=policy)["volumes"]}
    assert volumes["host-root"]["hostPath"]["path"] == "/mnt"


def test_build_daemon_set_missing_objects(nvd):
    with pytest.raises(NimError, match=r"^secretEnv: could not get Secret s from client"):
        build(nvd, {"secretEnv": "s"})
    with pytest.raises(NimError, match=r"^repoConfig\.name: could not get ConfigMap r from client"):
        build(nvd, {"repoConfig": {"name": "r"}})
    live = {"kind": "ConfigMap", "metadata": {"name": "r", "namespace": nvd.namespace}}
    pod = pod_of(nvd, {"repoConfig": {"name": "r"}}, live=[{**live, "data": {"a.list": ""}}])
    paths = [item["mountPath"] for item in pod["containers"][0]["volumeMounts"]]
    assert "/etc/apt/sources.list.d/a.list" in paths


def test_build_daemon_set_digest(nvd):
    def digest(spec):
        env = pod_of(nvd, spec)["containers"][0]["env"]
        return next(item["value"] for item in env if item["name"] == "DRIVER_CONFIG_DIGEST")

    assert digest({}) == digest({"priorityClassName": "p", "labels": {"a": "b"}})
    assert digest({}) != digest({"version": "2"})


def test_build_daemon_set_live_texts(nvd):
    live = build(nvd)
    container = live["spec"]["template"]["spec"]["containers"][0]
    container["lifecycle"]["preStop"]["exec"]["command"][2] = "another release's"
    assert build(nvd, live=[live])["spec"] == live["spec"]


def test_build_daemon_set_license(nvd):
    spec = {"licensingConfig": {"secretName": "lic", "nlsEnabled": False}}
    key = 'Secret/gpu-operator/lic#["gridd.conf"]'
    answers = [{key: {"version": version, "digest": digest}} for version, digest in ("1a", "2b")]
    first = build(nvd, spec, answers=answers[0])
    assert first["metadata"]["annotations"][LICENSE] == "1 a"
    assert LICENSE not in first["spec"]["template"]["metadata"]["annotations"]
    changed = build(nvd, spec, answers=answers[1], live=[first])
    assert changed["metadata"]["annotations"][LICENSE] == "2 b"
    assert changed["spec"]["template"]["metadata"]["annotations"][LICENSE] == "b"
    assert changed["spec"]["template"]["spec"] == first["spec"]["template"]["spec"]
