# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Registries in memory, and commands that access them."""

from __future__ import annotations

import types

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from oci_registry import Registry, serve


@pytest.fixture
def registry(no_surroundings, monkeypatch, tmp_path):
    """Start a registry; its host."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("DOCKER_CONFIG", "REGISTRY_AUTH_FILE", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    servers = []

    def run(**faults):
        made = Registry(**faults)
        servers.append(serve(made))
        made.host = made.url.removeprefix("http://")
        return made

    yield run
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def run():
    """Run a command with options; its result, with what it printed."""

    def run_command(command, is_dry=False, **options):
        out, err = [], []
        console = types.SimpleNamespace(
            is_dry=is_dry, wants_diff=False, variables={}, print_data=out.append,
            print_message=err.append, connect=None, find_filters=lambda: None,
            read_stdin=None,
        )  # fmt: skip
        arguments = {key: option.get("default") for key, option in command.spec.items()} | options
        result = {"failed": False, "msg": ""}
        try:
            result |= command(console).act(arguments)
        except NimError as error:
            result |= {"failed": True, "msg": str(error), "is_refused": True}
        return types.SimpleNamespace(**result, out="\n".join(out), err="\n".join(err))

    return run_command
