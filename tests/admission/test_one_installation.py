# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""A second installation cannot take the permissions of the first."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest
from nimops_harness.cluster import kubectl

NAME = "nimops-admission-one-installation"
FIRST, SECOND = (
    {"kind": "ServiceAccount", "name": "nimops-controller-manager", "namespace": namespace}
    for namespace in ("first", "second")
)
LABELS = {"app.kubernetes.io/name": "nimops"}


def binding(*subjects: Any, labels: Any = None, role: str = "view") -> dict[str, Any]:
    group = "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": NAME, "labels": LABELS if labels is None else labels},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
        "subjects": list(subjects),
    }


def apply(manifest: dict[str, Any], *options: str) -> str:
    """Why the API server refuses it; empty if it does not."""
    command = ["kubectl", "apply", "--server-side", "--force-conflicts", *options, "-f", "-"]
    done = subprocess.run(
        command, input=json.dumps(manifest), capture_output=True, text=True, check=False
    )
    return done.stderr if done.returncode else ""


@pytest.fixture
def stored(cluster: Any) -> Iterator[None]:
    """The binding of the first installation, with the policy in effect."""
    assert apply(binding(FIRST)) == ""
    deadline = time.monotonic() + 120
    while not apply(binding(SECOND), "--dry-run=server"):
        assert time.monotonic() < deadline, "the policy does not take effect"
        time.sleep(0.2)
    yield
    kubectl("delete", "clusterrolebinding", NAME)


@pytest.mark.usefixtures("stored")
def test_one_installation_subject_replaced() -> None:
    answer = apply(binding(SECOND), "--dry-run=server")
    assert f"subjects: {NAME} grants rights to the operator in namespace first" in answer
    assert "to install a second one, give it a nameSuffix" in answer
    assert apply(binding(), "--dry-run=server")


@pytest.mark.usefixtures("stored")
def test_one_installation_other_changes() -> None:
    assert apply(binding(FIRST), "--dry-run=server") == ""
    assert apply(binding(FIRST, SECOND), "--dry-run=server") == ""
    more = LABELS | {"more": "a"}
    assert apply(binding(FIRST, labels=more), "--dry-run=server") == ""


def test_one_installation_foreign_bindings(cluster: Any) -> None:
    other = binding(FIRST, labels={})
    other["metadata"]["name"] = f"{NAME}-other"
    try:
        assert apply(other) == ""
        other["subjects"] = [SECOND]
        assert apply(other, "--dry-run=server") == ""
    finally:
        kubectl("delete", "clusterrolebinding", f"{NAME}-other")
