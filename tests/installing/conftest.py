# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Fixtures for installing the artifacts for users on an API server, and removing them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "harness"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "release"))

from nimops_harness.api_server import api_server
from nimops_harness.cluster import kubectl
from nimops_release.manifests import NAMESPACE, Project
from nimops_release.releases import write_chart, write_install

__all__ = ["api_server"]

ROOT = Path(__file__).resolve().parents[2]
MODELS = "nimops-models"
CACHE = """
apiVersion: apps.nvidia.com/v1alpha1
kind: NIMCache
metadata: {name: kept}
spec:
  source: {ngc: {modelPuller: "nvcr.io/nim/a:1", pullSecret: a, authSecret: a}}
  storage: {pvc: {create: true, size: 1Gi}}
"""


@pytest.fixture(scope="session")
def project() -> Project:
    return Project(ROOT)


@pytest.fixture(scope="session")
def chart(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("dist")
    write_chart(project, output)
    return output / "chart/nimops"


@pytest.fixture(scope="session")
def install_yaml(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("dist")
    write_install(project, output)
    return output / "install.yaml"


@dataclass(frozen=True)
class Kept:
    """A custom resource that must survive all tests here."""

    uid: str
    namespace: str = MODELS

    def is_there(self) -> bool:
        return read_uid() == self.uid


def read_uid() -> str:
    return kubectl("-n", MODELS, "get", "nimcache", "kept", "-o", "jsonpath={.metadata.uid}")


@pytest.fixture(scope="session")
def kept(api_server: Any) -> Iterator[Kept]:
    kubectl("create", "namespace", MODELS)
    try:
        kubectl("-n", MODELS, "apply", "-f", "-", stdin=CACHE)
        yield Kept(read_uid())
    finally:
        kubectl("delete", "namespace", MODELS, "--wait=true")


@pytest.fixture(scope="session")
def nothing_installed(api_server: Any, install_yaml: Path) -> None:
    remove_all(install_yaml)


@pytest.fixture
def clean(nothing_installed: None, install_yaml: Path) -> Iterator[None]:
    """Only the CRDs are installed before and after a test."""
    yield
    remove_all(install_yaml)


@pytest.fixture
def unmanaged(clean: None, install_yaml: Path) -> str:
    """The manifests of the CRDs, whose fields belong to none of the programs that applied them."""
    definitions, _others = split_manifests(install_yaml)
    command = ("get", "-f", "-", "-o", "json", "--show-managed-fields")
    for item in json.loads(kubectl(*command, stdin=definitions))["items"]:
        # Without any entry, the API server would make one that has all fields.
        managers = [entry for entry in item["metadata"]["managedFields"] if "subresource" in entry]
        assert managers
        patch = [{"op": "replace", "path": "/metadata/managedFields", "value": managers}]
        name = item["metadata"]["name"]
        kubectl("patch", "crd", name, "--type=json", f"--patch={json.dumps(patch)}")
    return definitions


def split_manifests(install_yaml: Path) -> tuple[str, str]:
    """The manifests of the CRDs, which all tests need, and the others."""
    parts: dict[bool, list[str]] = {True: [], False: []}
    for part in install_yaml.read_text().split("---\n"):
        parts["\nkind: CustomResourceDefinition\n" in part].append(part)
    return "---\n".join(parts[True]), "---\n".join(parts[False])


def remove_all(install_yaml: Path) -> None:
    """Delete all objects of config/default except the CRDs."""
    _definitions, others = split_manifests(install_yaml)
    kubectl("delete", "--ignore-not-found", "--wait=false", "-f", "-", stdin=others)
    kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found", "--wait=true")
