# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A PostgreSQL server on loopback, and the NeMo samples on it and on an API server."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "sandbox"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "harness"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import postgresql
from nemo_platform import NAMESPACE, PASSWORDS, SAMPLES, Platform
from nimops_harness.api_server import api_server
from nimops_harness.cluster import kubectl

__all__ = ["api_server"]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[postgresql.Server]:
    home = tmp_path_factory.mktemp("server") / "postgresql"
    try:
        yield postgresql.up(home)
    finally:
        postgresql.down(home)


@pytest.fixture(scope="session")
def platform(
    api_server: Any, server: postgresql.Server, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Platform]:
    """The platform of the samples with its databases, applied once."""
    made = Platform(server, tmp_path_factory.mktemp("platform"))
    kubectl("create", "namespace", NAMESPACE)
    try:
        given = yaml.safe_load_all((SAMPLES / "nemo-prerequisites.yaml").read_text())
        kept = [item for item in given if "-database" not in item["metadata"]["name"]]
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": kept})
        kubectl("-n", NAMESPACE, "apply", "-f", "-", stdin=text)
        for name, password in PASSWORDS.items():
            made.put_secret(name, password=password)
        files = made.write(*made.resources())
        made.first = made.run("nemo_dependencies", files=files)
        made.secrets.append(made.secret("nemo-guardrails-database")["password"])
        made.run("apply", files=files, wait=False)
        yield made
    finally:
        kubectl("delete", "namespace", NAMESPACE, "--wait=true")
