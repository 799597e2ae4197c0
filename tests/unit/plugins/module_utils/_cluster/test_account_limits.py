# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import ansible_collections
import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import ApiError
from ansible_collections.nimops.nim.plugins.module_utils._cluster.account_limits import (
    find_missing_limits,
)
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client

PATH = "/api/v1/namespaces/nim/secrets/nimops-account-check"


@pytest.fixture
def find(cluster, tmp_path):
    client = Client(cluster.kubeconfig(tmp_path))
    return lambda: list(find_missing_limits(client, "nim"))


def test_find_missing_limits_warns_with_advice(cluster, find):
    (message,) = find()
    assert "its label nimops.nim/account" in message
    assert "with OLM, admission.yaml" in message
    (request,) = cluster.calls("PATCH")
    assert request.query["dryRun"] == "All"
    assert request.body["type"] == "kubernetes.io/service-account-token"


@pytest.mark.parametrize("status", [403, 404])
def test_find_missing_limits_refused(cluster, find, refused, status):
    cluster.refuse["PATCH", PATH] = [refused(status, "is forbidden")]
    assert find() == []


def test_find_missing_limits_without_answer(cluster, find, refused):
    cluster.refuse["PATCH", PATH] = [refused(500, "etcd")]
    with pytest.raises(ApiError, match="etcd"):
        find()


def test_account_warns_of_invalid_mirrors(tmp_path):
    """The program that the supervisor starts, without a cluster."""
    collections = Path(ansible_collections.__path__[0]).parent
    source = Path(__file__).resolve().parents[5] / "packages/nimops-supervisor/src"
    environment = os.environ | {
        "PYTHONPATH": f"{source}:{collections}",
        "NIMOPS_REGISTRY_MIRRORS": "nvcr.io",
        "KUBECONFIG": str(tmp_path / "none"),
    }
    command = [sys.executable, "-m", "nimops_supervisor.account"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (
        "supervisor: WARNING: NIMOPS_REGISTRY_MIRRORS: 'nvcr.io' is not HOST=MIRROR" in done.stderr
    )
