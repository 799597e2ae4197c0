# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._builders.app import App
from ansible_collections.nimops.nim.plugins.module_utils._builders.tenant_limits import (
    forbids_root,
    host_path_violations,
)
from ansible_collections.nimops.nim.plugins.module_utils._cluster.settings import read_settings
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed

VARIABLES = {
    "OPERATOR_VERSION": "version",
    "OPERATOR_NAMESPACE": "namespace",
    "HOSTNAME": "pod",
    "NIMOPS_GPU_NAMESPACE": "gpu_namespace",
    "KSERVE_NAMESPACE": "kserve",
    "NIMOPS_DRIVER_UPGRADE_GUARD": "upgrade_guard",
}


@pytest.mark.parametrize(("variable", "key"), VARIABLES.items())
def test_read_settings_variables(monkeypatch, variable, key):
    monkeypatch.delenv(variable, raising=False)
    assert read_settings()[key] == ""
    monkeypatch.setenv(variable, "x")
    assert read_settings()[key] == "x"


def test_read_settings_in_observed(monkeypatch):
    for variable, key in VARIABLES.items():
        monkeypatch.setenv(variable, f"my-{key}")
    observed = Observed({"operator": read_settings()})
    assert observed.operator_version == "my-version"
    assert observed.operator_namespace == "my-namespace"
    assert observed.kserve_namespace == "my-kserve"


def test_read_settings_images(monkeypatch):
    monkeypatch.setenv("DCGM_IMAGE", "r.test/d:1")
    monkeypatch.setenv("GFD_IMAGE", "")
    images = read_settings()["images"]
    assert images["DCGM_IMAGE"] == "r.test/d:1"
    assert "GFD_IMAGE" not in images
    assert all(name.endswith("_IMAGE") for name in images)


def test_read_settings_switches(monkeypatch):
    monkeypatch.setenv("NIMOPS_HOST_PATHS", "/data")
    monkeypatch.delenv("NIMOPS_ROOT_USER", raising=False)
    observed = Observed({"operator": read_settings()})
    app = App({"kind": "Toy", "metadata": {"name": "a"}, "spec": {}}, observed)
    assert host_path_violations(app, "f", "/etc")
    assert not forbids_root(observed)
    monkeypatch.setenv("NIMOPS_ROOT_USER", "maybe")
    assert forbids_root(Observed({"operator": read_settings()}))
