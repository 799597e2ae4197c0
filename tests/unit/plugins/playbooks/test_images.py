# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""images, called like by users."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

SAMPLES = Path(__file__).resolve().parents[4] / "config/samples"
KEYS = ("operator", "daemonsets", "toolkit", "devicePlugin", "dcgmExporter", "dcgm")
POLICY = {
    "apiVersion": "nvidia.com/v1",
    "kind": "ClusterPolicy",
    "metadata": {"name": "cluster-policy"},
    "spec": {key: {} for key in (*KEYS, "nodeStatusExporter", "gfd")}
    | {"driver": {"repository": "mirror.example", "image": "driver", "version": "595.91.07"}},
}


def test_images_of_stack(call):
    code, out, err = call("images", systems=["ubuntu22.04", "rhel9"])
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines == sorted(set(lines))
    assert "nvcr.io/nvidia/driver:595.91.07-rhel9" in lines
    assert "nvcr.io/nvidia/driver:595.91.07-ubuntu22.04" in lines
    assert "nvcr.io/nvidia/k8s/container-toolkit:v1.20.0" in lines


def test_images_of_policy_on_two_systems(call, tmp_path):
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump(POLICY))
    code, out, err = call(
        "images", files="policy.yaml", systems=["ubuntu24.04", "rhel9.4"], output="json"
    )
    assert (code, err) == (0, "")
    found = {item["image"]: item["users"] for item in json.loads(out)}
    drivers = sorted(image for image in found if image.startswith("mirror.example"))
    assert drivers == [f"mirror.example/driver:595.91.07-{tag}" for tag in ("rhel9", "ubuntu24.04")]
    assert found[drivers[0]] == ["DaemonSet nvidia-driver-daemonset"]
    assert "DaemonSet nvidia-dcgm" in found["nvcr.io/nvidia/gpu-operator:v26.7.0"]


def test_images_with_nodes_of_facts(call, tmp_path):
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump(POLICY))
    features = "feature.node.kubernetes.io"
    labels = {
        f"{features}/pci-10de.present": "true",
        f"{features}/system-os_release.ID": "rhel",
        f"{features}/system-os_release.VERSION_ID": "9.4",
    }
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": labels}}
    (tmp_path / "facts.yaml").write_text(yaml.safe_dump(node))
    code, out, err = call("images", files="policy.yaml", facts="facts.yaml")
    assert (code, err) == (0, "")
    drivers = [line for line in out.splitlines() if line.startswith("mirror.example")]
    assert drivers == ["mirror.example/driver:595.91.07-rhel9"]


def test_images_of_precompiled_drivers(call, tmp_path):
    policy = POLICY | {
        "spec": POLICY["spec"] | {"driver": POLICY["spec"]["driver"] | {"usePrecompiled": True}}
    }
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump(policy))
    kernels = ["6.8.0-60-generic", "6.8.0-61-generic"]
    code, out, err = call("images", files="policy.yaml", kernels=kernels)
    assert (code, err) == (0, "")
    drivers = [line for line in out.splitlines() if line.startswith("mirror.example")]
    assert drivers == [
        f"mirror.example/driver:595.91.07-{kernel}-ubuntu24.04" for kernel in kernels
    ]


def test_images_of_models_and_jobs(call):
    files = [str(SAMPLES / f"{name}.yaml") for name in ("apps_v1alpha1_nimcache", "nemo_evaluator")]
    code, out, err = call("images", files=files, nim_namespace="nim")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert [line for line in lines if "eval-factory-benchmark-bfcl:" in line]
    assert "busybox" in lines
    assert [line for line in lines if line.startswith("nvcr.io/nim/")]


def test_images_with_failing_resource(call, tmp_path):
    wrong = POLICY | {"spec": POLICY["spec"] | {"driver": {"repository": "mirror.example"}}}
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump(wrong))
    code, _out, err = call("images", files="policy.yaml")
    assert code == 2
    assert "invalid image specification" in err
    code, _out, err = call("images", systems=["linux"])
    assert (code, "'linux' is not a name with a version" in err) == (2, True)
