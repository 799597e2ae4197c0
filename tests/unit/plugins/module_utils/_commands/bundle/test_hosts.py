# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The configuration of containerd."""

from __future__ import annotations

import tomllib

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._commands.bundle.hosts import (
    Mirror,
    hosts_of,
    save_hosts,
    write_hosts,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.bundle.layout import (
    Descriptor,
    Entry,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.bundle.transfer import (
    parse_destination,
)

BLOB = Descriptor("t", "d", 1)


def test_hosts_of():
    entries = [
        Entry(name, BLOB, is_model)
        for name, is_model in (
            ("nvcr.io/a:1", False), ("nvcr.io/b:1", False), ("busybox", False), ("m/a:1", True),
        )
    ]  # fmt: skip
    assert hosts_of(entries) == ["docker.io", "nvcr.io"]


@pytest.mark.parametrize(
    ("host", "server", "place"),
    [
        ("nvcr.io", "https://nvcr.io", "https://m.example:5000/v2/x/y/nvcr.io"),
        ("docker.io", "https://registry-1.docker.io", "https://m.example:5000/v2/x/y/docker.io"),
        ("r.example:1", "https://r.example:1", "https://m.example:5000/v2/x/y/r.example_1"),
    ],
)
def test_write_hosts(host, server, place):
    mirror = Mirror(parse_destination("m.example:5000/x/y"), "https")
    found = tomllib.loads(write_hosts(host, mirror))
    settings = {"capabilities": ["pull", "resolve"], "override_path": True}
    assert found == {"server": server, "host": {place: settings}}


def test_save_hosts(tmp_path):
    mirror = Mirror(parse_destination("m.example"), "http")
    files = save_hosts(tmp_path / "certs.d", ["nvcr.io"], mirror)
    assert files == [tmp_path / "certs.d/nvcr.io/hosts.toml"]
    assert "http://m.example/v2/nvcr.io" in files[0].read_text()
    assert [*files[0].parent.iterdir()] == files
    (tmp_path / "file").write_text("")
    with pytest.raises(NimError, match=r"^hosts_dir: "):
        save_hosts(tmp_path / "file", ["nvcr.io"], mirror)


def test_save_hosts_authorities(tmp_path):
    mirror = Mirror(parse_destination("m.example"), "https", "-----BEGIN CERTIFICATE-----")
    (file,) = save_hosts(tmp_path, ["nvcr.io"], mirror)
    (settings,) = tomllib.loads(file.read_text())["host"].values()
    assert (file.parent / settings["ca"]).read_text() == mirror.authorities
