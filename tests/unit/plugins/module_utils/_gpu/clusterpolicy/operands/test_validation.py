# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._gpu.clusterpolicy.operands.validation import (
    OPERAND,
)

WORKLOAD = [{"name": "WITH_WORKLOAD", "value": "true"}]


def names(pod):
    return [item["name"] for item in pod["initContainers"]]


def test_validation_order(gpu):
    pod = gpu.pod(OPERAND, gpu.app({}))
    assert names(pod) == [
        "driver-validation",
        "toolkit-validation",
        "cuda-validation",
        "plugin-validation",
    ]
    for name in ("cuda-validation", "plugin-validation"):
        env = gpu.env(gpu.container(pod, name))
        assert env["VALIDATOR_IMAGE"] == gpu.app({}).validator_image
        assert env["VALIDATOR_IMAGE_PULL_POLICY"] == ""
        assert env["VALIDATOR_RUNTIME_CLASS"] == "nvidia"
        assert "VALIDATOR_IMAGE_PULL_SECRETS" not in env
    assert gpu.env(gpu.container(pod, "plugin-validation"))["MIG_STRATEGY"] == ""


def test_validation_without_plugin(gpu):
    pod = gpu.pod(OPERAND, gpu.app({"devicePlugin": {"enabled": False}}))
    assert names(pod)[-1] == "cuda-validation"


def test_validation_settings(gpu):
    validator = {
        "imagePullPolicy": "Always",
        "imagePullSecrets": ["a", "b"],
        "env": [{"name": "X", "value": "1"}],
        "args": ["--v"],
        "hostNetwork": True,
        "cuda": {"env": [{"name": "WITH_WORKLOAD", "value": "false"}]},
        "plugin": {"env": [{"name": "WITH_WORKLOAD", "value": "true"}]},
    }
    pod = gpu.pod(OPERAND, gpu.app({"validator": validator, "mig": {"strategy": "mixed"}}))
    cuda, plugin = (
        gpu.env(gpu.container(pod, f"{name}-validation")) for name in ("cuda", "plugin")
    )
    assert (cuda["WITH_WORKLOAD"], plugin["WITH_WORKLOAD"]) == ("false", "true")
    assert plugin["MIG_STRATEGY"] == "mixed"
    assert "MIG_STRATEGY" not in cuda
    assert cuda["VALIDATOR_IMAGE_PULL_SECRETS"] == "a,b"
    assert cuda["VALIDATOR_IMAGE_PULL_POLICY"] == "Always"
    main = gpu.container(pod, "nvidia-operator-validator")
    assert (main["args"], gpu.env(main)) == (["--v"], {"X": "1"})
    assert pod["imagePullSecrets"] == [{"name": "a"}, {"name": "b"}]
    assert pod["hostNetwork"] is True


def test_validation_nri(gpu):
    pod = gpu.pod(OPERAND, gpu.app({"cdi": {"nriPluginEnabled": True}}))
    assert "VALIDATOR_RUNTIME_CLASS" not in gpu.env(gpu.container(pod, "cuda-validation"))


def test_validation_always_enabled(gpu):
    assert OPERAND.is_enabled(gpu.app({"driver": {"enabled": False}}).spec)


@pytest.mark.parametrize(
    ("validator", "cuda", "plugin"),
    [
        pytest.param({}, None, "false", id="default"),
        pytest.param({"plugin": None, "env": WORKLOAD}, "true", "true", id="one level too high"),
        pytest.param(
            {"env": WORKLOAD, "plugin": {"env": [{"name": "WITH_WORKLOAD", "value": "false"}]}},
            "true",
            "false",
            id="of one validation",
        ),
        pytest.param({"env": [{"name": "COMMON", "value": "c"}]}, None, "false", id="other"),
    ],
)
def test_validation_workload_of_all(gpu, validator, cuda, plugin):
    pod = gpu.pod(OPERAND, gpu.app({"validator": validator}))
    values = [
        gpu.env(gpu.container(pod, f"{name}-validation")).get("WITH_WORKLOAD")
        for name in ("driver", "toolkit", "cuda", "plugin")
    ]
    assert values == [None, None, cuda, plugin]
    names = gpu.env(gpu.container(pod, "nvidia-operator-validator"))
    assert list(names) == [item["name"] for item in validator.get("env", ())]
