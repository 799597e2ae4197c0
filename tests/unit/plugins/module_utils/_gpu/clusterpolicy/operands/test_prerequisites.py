# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._gpu.clusterpolicy.operands.prerequisites import (
    OPERAND,
    RUNTIME_CLASSES,
)


@pytest.mark.parametrize(
    ("spec", "names"),
    [
        ({}, ["nvidia", "nvidia-cdi", "nvidia-legacy"]),
        ({"operator": {"runtimeClass": "r"}}, ["r", "nvidia-cdi", "nvidia-legacy"]),
        ({"operator": {"runtimeClass": "nvidia-cdi"}}, ["nvidia-cdi", "nvidia-legacy"]),
        ({"cdi": {"enabled": False}}, ["nvidia"]),
    ],
)
def test_runtime_classes_handler(gpu, spec, names):
    found = list(OPERAND.children(gpu.app(spec)))
    assert [item["metadata"]["name"] for item in found] == names
    assert [item["handler"] for item in found] == names
    assert all("namespace" not in item["metadata"] for item in found)


def test_runtime_classes_nri(gpu):
    assert not OPERAND.is_enabled(gpu.app({"cdi": {"nriPluginEnabled": True}}).spec)


def test_runtime_classes_former_name(gpu):
    listed = [gpu.live("RuntimeClass", "former"), gpu.live("RuntimeClass", "theirs", owner="b")]
    app = gpu.app({}, answers={RUNTIME_CLASSES.key: listed})
    assert ("RuntimeClass", "former") in OPERAND.names(app)
    assert ("RuntimeClass", "theirs") not in OPERAND.names(app)
