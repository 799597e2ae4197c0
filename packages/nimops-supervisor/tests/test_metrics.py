# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import socket
from pathlib import Path

import pytest

from nimops_supervisor import metrics
from nimops_supervisor.options import switch

ADDRESS, SECURE, RESTRICTED = "--metrics-bind-address", "--metrics-secure", "--metrics-require-rbac"
PRIVATE = f"{ADDRESS}=127.0.0.1:7"
OWN = ["--metrics=http://127.0.0.1:7/metrics", f"{ADDRESS}=:8080", "--counters=/c"]


@pytest.mark.parametrize(
    ("words", "added", "options"),
    [
        pytest.param([], [], [], id="none"),
        pytest.param([f"{ADDRESS}=0"], [], [], id="off"),
        pytest.param([f"{ADDRESS}=:0"], [], [], id="port zero"),
        pytest.param([f"{ADDRESS}=:8080"], [PRIVATE], OWN, id="plain"),
        pytest.param([ADDRESS, ":8080"], [PRIVATE], OWN, id="two words"),
        pytest.param([f"{ADDRESS}=:8080", f"{SECURE}=false"], [PRIVATE], OWN, id="not secure"),
        pytest.param(
            [f"{ADDRESS}=:8080", SECURE, f"{RESTRICTED}=true"],
            [PRIVATE, f"{SECURE}=false", f"{RESTRICTED}=false"],
            [*OWN, SECURE, RESTRICTED],
            id="restricted",
        ),
    ],
)
def test_divert(words, added, options):
    command = ["ansible-operator", "run", *words]
    assert metrics.divert(command, 7, Path("/c")) == ([*command, *added], options)


@pytest.mark.parametrize(
    ("words", "is_on"),
    [([], False), (["--a"], True), (["--a=true"], True), (["--a", "--a=False"], False), (["--ab"], False)],
)
def test_switch(words, is_on):
    assert switch(words, "--a") == is_on


def test_free_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", metrics.free_port()))
