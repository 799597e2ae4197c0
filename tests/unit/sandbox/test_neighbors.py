# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import base64
import ipaddress
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
    for name in ("ca.crt", "server.crt", "server.key", "client.crt", "client.key"):
        (tmp_path / "pki" / name).write_text(f"content of {name}")
    return tmp_path


def test_tables() -> None:
    assert tuple(neighbors.BY_NAME) == tuple(tools.NEIGHBOR_TOOLS) == tuple(NEIGHBORS)


@pytest.mark.parametrize("name", NEIGHBORS)
def test_documented(name: str) -> None:
    tool = tools.NEIGHBOR_TOOLS[name]
    version = tools.read_version((tool.source / "go.mod").read_text(), tool.versioned)
    text = (REPOSITORY / "docs/develop/neighbors.md").read_text()
    row = next(line for line in text.splitlines() if f"| `{name}` | yes |" in line)
    programs = ", ".join(f"`{program}`" for program in neighbors.BY_NAME[name].programs)
    assert f"| {version.removeprefix('v')} | {programs}" in row


@pytest.mark.parametrize("name", NEIGHBORS)
def test_programs_built(name: str) -> None:
    assert set(neighbors.programs_of([name])) <= set(tools.NEIGHBOR_TOOLS[name].packages)


@pytest.mark.parametrize("name", NEIGHBORS)
def test_command_lines(name: str, directory: Path) -> None:
    lines = neighbors.command_lines(directory, PORTS, [name])
    assert tuple(lines) == neighbors.programs_of([name])
    for program, line in lines.items():
        assert f"{directory}/bin/{program}" in (line[0], line[2])
        assert not re.search(r"(?<![\d.])0\.0\.0\.0|=:\d", " ".join(line)), "listens everywhere"
    assert neighbors.command_lines(directory, PORTS, []) == {}


@pytest.mark.parametrize("name", NEIGHBORS)
def test_write_files(name: str, directory: Path) -> None:
    place = neighbors.Place(name, directory, PORTS)
    neighbors.write_files(place)
    neighbors.write_files(place)  # again, as `up` does
    assert (place.folder / "tls.crt").read_text() == "content of server.crt"
    assert (place.folder / "tls.key").read_text() == "content of server.key"
    assert (place.client / "tls.crt").read_text() == "content of client.crt"
    assert (place.client / "ca.crt").read_text() == "content of ca.crt"
    texts = [path.read_text() for path in place.folder.glob("*.yaml")]
    addresses = {it for text in texts for it in re.findall(r"\d+\.\d+\.\d+\.\d+", text)}
    assert all(ipaddress.ip_address(it).is_loopback for it in addresses)


def test_apis_of_neighbors(directory: Path) -> None:
    """The API server reaches each at a port of its own, by a Service that leads to loopback."""
    ports = []
    for name, neighbor in neighbors.BY_NAME.items():
        place = neighbors.Place(name, directory, PORTS)
        neighbors.write_files(place)
        items = [
            item
            for path in neighbors.registrations_of(place)
            for item in json.loads(path.read_text())["items"]
        ]
        services = {it["metadata"]["name"]: it for it in items if it["kind"] == "Service"}
        apis = [it for it in items if it["kind"] == "APIService"]
        assert len(apis) == len(services) == len(neighbor.apis)
        for api in apis:
            target = api["spec"]["service"]
            service = services[target["name"]]
            assert service["spec"]["externalName"] == "127.0.0.1"
            assert service["spec"]["ports"] == [{"port": target["port"]}]
            ports.append(target["port"])
    assert len(ports) == len(set(ports))


@pytest.mark.parametrize("name", [it.name for it in neighbors.BY_NAME.values() if it.webhooks])
def test_webhooks_of(name: str, directory: Path) -> None:
    place = neighbors.Place(name, directory, PORTS)
    neighbors.write_files(place)
    [path] = neighbors.registrations_of(place)
    items = json.loads(path.read_text())["items"]
    assert [item["kind"] for item in items] == [
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    ]
    hooks = [hook for item in items for hook in item["webhooks"]]
    for hook in hooks:
        config = hook["clientConfig"]
        assert base64.b64decode(config["caBundle"]) == b"content of ca.crt"
        assert config["url"].startswith(f"https://127.0.0.1:{place.port()}/")
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
