# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import OPERATOR, Observed
from ansible_collections.nimops.nim.plugins.module_utils._gpu.settings import gpu_namespace


def test_gpu_namespace_operator():
    settings = {"namespace": "nimops-system", "gpu_namespace": ""}
    assert gpu_namespace(Observed({OPERATOR: settings})) == "nimops-system"


def test_gpu_namespace_without_operator():
    assert gpu_namespace(Observed({})) == "gpu-operator"


def test_gpu_namespace_setting():
    settings = {"namespace": "nimops-system", "gpu_namespace": "gpus"}
    assert gpu_namespace(Observed({OPERATOR: settings})) == "gpus"
