# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._gpu.driver.spec import (
    Sources,
    parse_driver,
)


def test_sources_read():
    sources = Sources(modules="m", repositories="r", topology="t", fields={"modules": "x.name"})
    assert sources.read == {"x.name": "m", "repositories": "r"}


def test_parse_driver_side_containers():
    around = {"gds": {"enabled": True}, "driver": {"manager": {"version": "1"}}}
    driver = parse_driver(around["driver"], around, Sources(), root="/host")
    assert (driver.gds.is_enabled, driver.gdrcopy.is_enabled) == (True, False)
    assert (driver.manager.version, driver.root) == ("1", "/host")


def test_parse_driver_fields():
    spec = {
        "kernelModuleType": "open",
        "rdma": {"enabled": True, "useHostMofed": True},
        "usePrecompiled": True,
        "startupProbe": {"periodSeconds": 1},
        "secretEnv": "s",
    }
    driver = parse_driver(spec, spec, Sources())
    assert (driver.module_type, driver.secret_env, driver.probe) == (
        "open",
        "s",
        {"periodSeconds": 1},
    )
    assert [driver.has_rdma, driver.uses_host_mofed, driver.is_precompiled] == [True] * 3
