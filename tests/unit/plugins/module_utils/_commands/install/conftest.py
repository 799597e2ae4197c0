# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A cluster whose controllers do their work at once, and a client of it."""

from __future__ import annotations

import json
import shutil

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._commands.install import manifests


@pytest.fixture(scope="session")
def small_definitions(tmp_path_factory):
    """Our manifests, with the CRDs but without most of their fields.

    The fields take an installation half a second of CPU, and no step depends on them.
    """
    folder = tmp_path_factory.mktemp("manifests") / "data"
    shutil.copytree(manifests.FOLDER, folder)
    for item in manifests.definitions():
        for version in item["spec"]["versions"]:
            properties = version["schema"]["openAPIV3Schema"]["properties"]
            properties["spec"] = {"type": "object"}
            status = properties["status"]["properties"]
            properties["status"]["properties"] = {"operatorVersion": status["operatorVersion"]}
        (folder / f"{item['metadata']['name']}.json").write_text(json.dumps(item))
    return folder


@pytest.fixture
def client(controllers, tmp_path, monkeypatch, small_definitions):
    monkeypatch.setattr(manifests, "FOLDER", small_definitions)
    return Client(controllers.kubeconfig(tmp_path))


@pytest.fixture
def names():
    """The kinds and names of what steps change, by action."""

    def find(steps):
        found = {}
        for step in steps:
            kind, namespace, name = step.change.key
            found.setdefault(step.change.action, set()).add(f"{kind} {namespace}/{name}")
        return found

    return find
