# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._gpu.components import (
    COMPONENTS,
    component_of,
)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({"app": "nvidia-driver-daemonset"}, ["driver"]),
        ({"app": "nvidia-driver-daemonset-6.8.0-45-generic-ubuntu24.04"}, ["driver"]),
        ({"app": "x", "app.kubernetes.io/component": "nvidia-driver"}, ["driver"]),
        ({"app": "nvidia-dcgm"}, ["dcgm"]),
        ({"app": "nvidia-dcgm-exporter"}, ["dcgm-exporter"]),
        ({"app": "nvidia-operator-validator"}, ["operator-validator"]),
        ({"app": "other"}, []),
        ({}, []),
    ],
)
def test_component_owns(labels, expected):
    assert [item.name for item in COMPONENTS if item.owns(labels)] == expected


def test_component_deploy_labels():
    assert [item.deploy for item in COMPONENTS][:2] == [
        "nvidia.com/gpu.deploy.driver",
        "nvidia.com/gpu.deploy.container-toolkit",
    ]


@pytest.mark.parametrize(
    ("name", "labels", "expected"),
    [
        ("nvidia-dcgm", {}, "dcgm"),
        ("nvidia-driver-daemonset-6.8.0-60-generic-ubuntu24.04", {}, "driver"),
        ("nvidia-gpu-driver-x", {"app.kubernetes.io/component": "nvidia-driver"}, "driver"),
        ("nvidia-device-plugin-mps-control-daemon", {}, ""),
    ],
)
def test_component_of(name, labels, expected):
    assert component_of({"metadata": {"name": name, "labels": labels}}).name == expected
