# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import base64
import json
import re
import socket
from pathlib import Path

import pytest
from nimops_sandbox import neighbors, tools
from nimops_sandbox.ports import NEIGHBORS, Ports
from nimops_sandbox.settings import REPOSITORY

PORTS = Ports(7000)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "pki").mkdir()
    for name in ("ca.crt", "server.crt", "server.key"):
        (tmp_path / "pki" / name).write_text(f"content of {name}")
    return tmp_path


def test_tables() -> None:
    assert tuple(neighbors.BY_NAME) == tuple(tools.NEIGHBOR_TOOLS) == NEIGHBORS


@pytest.mark.parametrize("name", NEIGHBORS)
def test_documented(name: str) -> None:
    tool = tools.NEIGHBOR_TOOLS[name]
    version = tools.read_version((tool.source / "go.mod").read_text(), tool.versioned)
    text = (REPOSITORY / "docs/develop/neighbors.md").read_text()
    row = next(line for line in text.splitlines() if f"| `{name}` | yes |" in line)
    assert f"| {version.removeprefix('v')} | `{neighbors.BY_NAME[name].program}`" in row


@pytest.mark.parametrize("name", NEIGHBORS)
def test_ports_of(name: str) -> None:
    program = neighbors.BY_NAME[name].program
    assert neighbors.ports_of(program, PORTS) == [PORTS.neighbor(name)]
    assert neighbors.ports_of("etcd", PORTS) == []


@pytest.mark.parametrize("name", NEIGHBORS)
def test_command_lines(name: str, directory: Path) -> None:
    program = neighbors.BY_NAME[name].program
    line = neighbors.command_lines(directory, [name])[program]
    assert line[:2] == [f"{directory}/bin/{program}", f"--kubeconfig={directory}/kubeconfig"]
    assert neighbors.command_lines(directory, []) == {}


@pytest.mark.parametrize("name", NEIGHBORS)
def test_write_files(name: str, directory: Path) -> None:
    neighbors.write_files(directory, PORTS, name)
    webhooks = neighbors.write_files(directory, PORTS, name)  # again, as `up` does
    folder = directory / "neighbors" / name
    assert webhooks.parent == folder
    assert (folder / "tls.crt").read_text() == "content of server.crt"
    assert (folder / "tls.key").read_text() == "content of server.key"
    texts = [path.read_text() for path in folder.glob("*.yaml")]
    addresses = {it for text in texts for it in re.findall(r"\d+\.\d+\.\d+\.\d+", text)}
    assert addresses == {"127.0.0.1"}


def test_webhooks_of_lws(directory: Path) -> None:
    items = json.loads(neighbors.write_files(directory, PORTS, "lws").read_text())["items"]
    assert [item["kind"] for item in items] == [
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    ]
    hooks = [hook for item in items for hook in item["webhooks"]]
    for hook in hooks:
        config = hook["clientConfig"]
        assert base64.b64decode(config["caBundle"]) == b"content of ca.crt"
        assert config["url"].startswith(f"https://127.0.0.1:{PORTS.neighbor('lws')}/")
    # Pods of others must not depend on it.
    assert {hook["name"] for hook in hooks if "objectSelector" in hook} == {
        hook["name"] for hook in hooks if hook["rules"][0]["resources"] == ["pods"]
    }


def test_is_listening() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]
        assert neighbors.is_listening(port)
    assert not neighbors.is_listening(port)
