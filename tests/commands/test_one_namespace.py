# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""An installation without a cluster administrator, and the commands of its user."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from nimops_harness.cluster import kubectl
from nimops_harness.errors import HarnessError
from nimops_release.manifests import Project
from nimops_release.one_namespace import INSTALLER_ROLE, PLACE
from nimops_release.releases import write_one_namespace

Json = dict[str, Any]

ROOT = Path(__file__).resolve().parents[2]
NAMESPACE = "nimops-tenant"
OPERATOR = f"system:serviceaccount:{NAMESPACE}:nimops-controller-manager"
SERVICE = """
apiVersion: apps.nvidia.com/v1alpha1
kind: NIMService
metadata: {name: llm}
spec:
  image: {repository: registry.example/llm, tag: "1"}
  storage: {emptyDir: {}}
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    write_one_namespace(Project(ROOT), folder)
    return folder


@pytest.fixture(scope="module")
def administered(api_server: Any, files: Path) -> Iterator[None]:
    """The administrator's part: the file, a namespace, and a user who may install there."""
    kubectl("apply", "--server-side", "--force-conflicts", "-f", str(files / "cluster.yaml"))
    kubectl("create", "namespace", NAMESPACE)
    kubectl("-n", NAMESPACE, "create", "serviceaccount", "user")
    bind("admin")
    yield
    kubectl("delete", "namespace", NAMESPACE, "--wait=true")
    roles = [item for item in cluster_items(files) if item["kind"] == "ClusterRole"]
    policies = [item for item in cluster_items(files) if "Policy" in item["kind"]]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [*roles, *policies]})
    kubectl("delete", "--ignore-not-found", "-f", "-", stdin=text)


def cluster_items(files: Path) -> list[Json]:
    return list(yaml.safe_load_all((files / "cluster.yaml").read_text()))


def bind(role: str) -> None:
    subject = f"--serviceaccount={NAMESPACE}:user"
    kubectl("-n", NAMESPACE, "create", "rolebinding", role, f"--clusterrole={role}", subject)


def as_user(*arguments: str, stdin: str | None = None) -> str:
    who = f"--as=system:serviceaccount:{NAMESPACE}:user"
    return kubectl("-n", NAMESPACE, who, *arguments, stdin=stdin)


@pytest.fixture(scope="module")
def installed(administered: None, files: Path) -> None:
    """The operator, installed by the user, who may not do so without the installer's role."""
    text = (files / "namespaced.yaml").read_text()
    for key in ("namespace", "value"):
        text = text.replace(f"{key}: {PLACE}\n", f"{key}: {NAMESPACE}\n")
    with pytest.raises(HarnessError, match=r"(?s)clusterroles.*|attempting to grant RBAC"):
        as_user("apply", "-f", "-", stdin=text)
    bind(INSTALLER_ROLE)
    as_user("apply", "-f", "-", stdin=text)


def test_cluster_file_binds_nothing(files: Path) -> None:
    kinds = {item["kind"] for item in cluster_items(files)}
    assert not {kind for kind in kinds if kind.endswith("RoleBinding")}
    namespaced = list(yaml.safe_load_all((files / "namespaced.yaml").read_text()))
    assert {item["metadata"]["namespace"] for item in namespaced} == {PLACE}


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("get secrets", "yes"),
        ("create deployments", "yes"),
        ("patch nimservices/status", "yes"),
        ("list nodes", "no"),
        ("list nimservices --all-namespaces", "no"),
        ("get secrets --namespace=default", "no"),
    ],
)
def test_permissions_of_operator(question: str, answer: str) -> None:
    where = [] if "namespace" in question else [f"--namespace={NAMESPACE}"]
    command = ["kubectl", "auth", "can-i", *question.split(), *where, f"--as={OPERATOR}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == answer


@pytest.fixture
def nim(installed: None, tmp_path: Path) -> Callable[..., str]:
    """`kubectl nim` as the user, who has the roles of the file in this namespace only."""
    for role in ("nimops-manager-role", "nimops-nimservice-admin-role"):
        bind(role)
    shown = json.loads(kubectl("config", "view", "--raw", "--minify", "--flatten", "-o", "json"))
    token = kubectl("-n", NAMESPACE, "create", "token", "user").strip()
    shown["users"][0]["user"] = {"token": token}
    file = tmp_path / "kubeconfig"
    file.touch(mode=0o600)
    file.write_text(json.dumps(shown))
    paths = [str(ROOT / "packages/kubectl-nim/src"), os.environ.get("PYTHONPATH", "")]
    known = {"KUBECONFIG": str(file), "PYTHONPATH": ":".join(paths), "NIMOPS_REGISTRIES": ""}

    def run(*arguments: str) -> str:
        command = [sys.executable, "-m", "kubectl_nim", *arguments, "-n", NAMESPACE]
        done = subprocess.run(
            command, env=os.environ | known, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
        return done.stdout

    return run


def test_commands_in_one_namespace(nim: Callable[..., str], tmp_path: Path) -> None:
    file = tmp_path / "nim.yaml"
    file.write_text(SERVICE)
    assert "create" in nim("plan", "-f", str(file))
    nim("apply", "-f", str(file), "--no-wait")
    assert "llm" in nim("status")
    nim("scale", "nimservice/llm", "--replicas=2")
    nim("pause", "nimservice/llm")
    nim("resume", "nimservice/llm")
    nim("delete", "nimservice/llm", "--yes")
