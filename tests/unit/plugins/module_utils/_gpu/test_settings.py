# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import OPERATOR, Observed
from ansible_collections.nimops.nim.plugins.module_utils._gpu.settings import gpu_namespace


def test_the_stack_is_in_the_operators_namespace():
    settings = {"namespace": "nimops-system", "gpu_namespace": ""}
    assert gpu_namespace(Observed({OPERATOR: settings})) == "nimops-system"


def test_without_an_operator_it_is_in_the_usual_one():
    assert gpu_namespace(Observed({})) == "gpu-operator"


def test_or_in_the_one_that_the_administrator_names():
    settings = {"namespace": "nimops-system", "gpu_namespace": "gpus"}
    assert gpu_namespace(Observed({OPERATOR: settings})) == "gpus"
