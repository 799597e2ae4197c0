# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._components.gpu_stack.settings import (
    gpu_namespace,
    read_gpu_settings,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import OPERATOR, Observed


def test_the_stack_is_in_the_operators_namespace():
    settings = {"namespace": "nimops-system", **read_gpu_settings({})}
    assert gpu_namespace(Observed({OPERATOR: settings})) == "nimops-system"


def test_without_an_operator_it_is_in_the_usual_one():
    assert gpu_namespace(Observed({})) == "gpu-operator"


def test_or_in_the_one_that_the_administrator_names():
    found = read_gpu_settings({"NIMOPS_GPU_NAMESPACE": "gpus", "DCGM_IMAGE": "r.test/d:1"})
    assert found["images"] == {"DCGM_IMAGE": "r.test/d:1"}
    assert gpu_namespace(Observed({OPERATOR: {"namespace": "a", **found}})) == "gpus"
