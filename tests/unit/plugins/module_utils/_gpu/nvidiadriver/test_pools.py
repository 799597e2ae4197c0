# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._gpu.nodes import OWNER
from ansible_collections.nimops.nim.plugins.module_utils._gpu.nvidiadriver.pools import (
    account_name,
    daemon_set_name,
    pools_of,
    selector_of,
    short_hash,
)


def test_pools_per_system(nvd):
    nodes = [
        nvd.node("a"),
        nvd.node("b", labels={f"{nvd.nfd}system-os_release.VERSION_ID": "22.04"}),
        nvd.node("c"),
        nvd.node("d", "another", {f"{nvd.nfd}system-os_release.ID": "sles"}),
    ]
    app = nvd.app(nodes=nodes)
    pools, errors = pools_of(app)
    assert (sorted(pool.system.tag for pool in pools), errors) == (
        ["ubuntu22.04", "ubuntu24.04"],
        [],
    )
    assert selector_of(app, pools[0]) == {
        OWNER: "a",
        f"{nvd.nfd}system-os_release.ID": "ubuntu",
        f"{nvd.nfd}system-os_release.VERSION_ID": pools[0].system.version,
    }


def test_pools_per_kernel(nvd):
    kernel = f"{nvd.nfd}kernel-version.full"
    app = nvd.app(
        {"usePrecompiled": True}, nodes=[nvd.node("a"), nvd.node("b", labels={kernel: "5"})]
    )
    pools, _errors = pools_of(app)
    assert sorted(pool.kernel for pool in pools) == ["5", "6.8.0-60-generic"]
    assert len({pool.name for pool in pools}) == 2
    assert selector_of(app, pools[0])[kernel] == pools[0].kernel


def test_pools_minor_versions(nvd):
    def node(name, version, major="9"):
        release = f"{nvd.nfd}system-os_release."
        return nvd.node(
            name,
            labels={
                f"{release}ID": "rhel",
                f"{release}VERSION_ID": version,
                f"{release}VERSION_ID.major": major,
            },
        )

    app = nvd.app(nodes=[node("a", "9.4"), node("b", "9.6"), node("c", "9.6", None)])
    (pool,), (error,) = pools_of(app)
    assert pool.system.tag == "rhel9"
    assert selector_of(app, pool)[f"{nvd.nfd}system-os_release.VERSION_ID.major"] == "9"
    assert "VERSION_ID.major of node c must be 9" in str(error)


@pytest.mark.parametrize(
    ("label", "spec"),
    [("system-os_release.ID", {}), ("kernel-version.full", {"usePrecompiled": True})],
)
def test_pools_node_without_labels(nvd, label, spec):
    nodes = [nvd.node("a", labels={f"{nvd.nfd}{label}": None}), nvd.node("b")]
    pools, (error,) = pools_of(nvd.app(spec, nodes=nodes))
    assert len(pools) == 1
    assert f"{nvd.nfd}{label}" in str(error)
    assert "node a" in str(error)


def test_daemon_set_name(nvd):
    app = nvd.app(name="my-driver")
    name = daemon_set_name(app, "ubuntu24.04")
    assert name == f"nvidia-gpu-driver-ubuntu24.04-{short_hash('uid-my-driver')}"
    assert account_name(app, "ubuntu24.04") == "nvidia-gpu-driver-my-driver-ubuntu24.04"
    assert daemon_set_name(nvd.app(), "ubuntu24.04") != name
    assert daemon_set_name(app, "ubuntu24.04", "6.8") != name
    long = daemon_set_name(app, "x" * 80)
    assert len(long) == 63
    assert long.endswith(short_hash("uid-my-driver"))


@pytest.mark.parametrize(
    ("text", "value"), [("", 2166136261), ("a", 3826002220), ("foobar", 3214735720)]
)
def test_short_hash(text, value):
    letters = "bcdfghjklmnpqrstvwxz2456789"
    assert short_hash(text) == "".join(letters[ord(digit) % 27] for digit in str(value))
