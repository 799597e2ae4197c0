# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import socket

import pytest
from nimops_sandbox import components, ports
from nimops_sandbox.errors import SetupError
from nimops_sandbox.ports import FIRST_PORT, LARGEST_BLOCK, NEIGHBORS, PORTS_PER_INSTANCE, Ports


def test_ports_of() -> None:
    block = Ports(7000)
    assert list(block) == list(range(7000, 7000 + PORTS_PER_INSTANCE))
    listened = [port for name in components.NAMES for port in components.ports_of(name, block)]
    assert sorted([*listened, block.models]) == list(block)


@pytest.mark.parametrize(
    ("wanted", "taken", "first"),
    [
        pytest.param(None, set(), FIRST_PORT, id="first choice"),
        pytest.param(None, {FIRST_PORT + 2}, FIRST_PORT + 40, id="next block"),
        pytest.param(
            None, {FIRST_PORT - 1, FIRST_PORT + PORTS_PER_INSTANCE}, FIRST_PORT, id="neighbours"
        ),
        pytest.param(7000, {FIRST_PORT}, 7000, id="wanted"),
    ],
)
def test_choose(wanted: int | None, taken: set[int], first: int) -> None:
    assert ports.choose(wanted, free=lambda port: port not in taken) == Ports(first)


def test_choose_with_neighbors() -> None:
    first = Ports(FIRST_PORT)
    after = [port for name in NEIGHBORS for port in first.of_neighbor(name)]
    assert after == [FIRST_PORT + PORTS_PER_INSTANCE + place for place in range(len(after))]
    assert PORTS_PER_INSTANCE + len(after) == LARGEST_BLOCK <= 40
    found = ports.choose(None, free=lambda port: port != after[0], neighbors=tuple(NEIGHBORS))
    assert found == Ports(FIRST_PORT + 40)
    with pytest.raises(SetupError, match=rf"port {after[0]} of 127.0.0.1 is occupied"):
        ports.choose(FIRST_PORT, free=lambda port: port != after[0], neighbors=tuple(NEIGHBORS))


def test_choose_taken() -> None:
    with pytest.raises(SetupError, match=r"port 7001 of 127.0.0.1 is occupied"):
        ports.choose(7000, free=lambda port: port != 7001)


def test_choose_all_taken() -> None:
    with pytest.raises(SetupError, match="set SANDBOX_PORT"):
        ports.choose(None, free=lambda port: False)


def test_require_free_holder() -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        assert not ports.is_free(port)
        with pytest.raises(SetupError, match=rf"port {port} of 127.0.0.1 is occupied by \S+ \(pid"):
            ports.require_free([port])
    assert ports.is_free(port)
