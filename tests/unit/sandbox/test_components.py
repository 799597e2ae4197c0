# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from pathlib import Path

import pytest
from nimops_sandbox import components
from nimops_sandbox.ports import Ports

LINES = components.command_lines(Path("/d"), Ports(7000))


@pytest.mark.parametrize("name", components.NAMES)
def test_command_lines_loopback(name: str) -> None:
    addresses = re.findall(r"\d+\.\d+\.\d+\.\d+", " ".join(LINES[name]))
    known = {
        "127.0.0.1",
        components.SIMULATED.service_range.split("/")[0],
        components.POD_RANGE.split("/")[0],
    }
    assert set(addresses) <= known


@pytest.mark.parametrize("name", components.NAMES)
def test_command_lines_disjoint(name: str) -> None:
    other = components.command_lines(Path("/e"), Ports(8000))[name]
    shared = set(LINES[name]) & set(other)
    assert not [
        argument for argument in shared if "/d" in argument or re.search(r"\b700\d\b", argument)
    ]
