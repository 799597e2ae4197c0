# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""An installation can change from config/default or an overlay to any other overlay."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
from nimops_harness.cluster import kubectl
from nimops_harness.errors import HarnessError
from nimops_release.manifests import MANAGER, NAMESPACE, manager_of

CONFIG = Path(__file__).resolve().parents[2] / "config"
OVERLAYS = sorted(path.name for path in (CONFIG / "overlays").iterdir())
APPLY = ("apply", "--server-side", "--force-conflicts", "-k")


@pytest.fixture
def namespace():
    """The namespace of config/overlays/namespaced."""
    kubectl("create", "namespace", "nim")
    yield
    kubectl("delete", "namespace", "nim", "--wait=true")


def contains(live, wanted) -> bool:
    """Whether an object contains all wanted fields, with lists of equal length."""
    if isinstance(wanted, dict):
        return all(key in live and contains(live[key], wanted[key]) for key in wanted)
    if isinstance(wanted, list):
        return len(live) == len(wanted) and all(map(contains, live, wanted))
    return live == wanted


def containers_of(spec: dict) -> list[dict]:
    return spec["template"]["spec"]["containers"]


def manager() -> dict:
    return json.loads(kubectl("-n", NAMESPACE, "get", "deployment", MANAGER, "-o", "json"))


def may(verb: str, resource: str, namespace: str) -> bool:
    """The operator's permissions according to the API server."""
    account = f"--as=system:serviceaccount:{NAMESPACE}:{MANAGER}"
    try:
        return kubectl("auth", "can-i", verb, resource, "-n", namespace, account).strip() == "yes"
    except HarnessError:
        return False


def test_overlays_in_sequence(clean, namespace, project):
    for folder in ("default", *(f"overlays/{name}" for name in OVERLAYS), "default"):
        kubectl(*APPLY, str(CONFIG / folder))
        wanted = copy.deepcopy(manager_of(project.build(folder))["spec"])
        # An empty value is equivalent to an absent one.
        for container in containers_of(wanted):
            container["env"] = [
                {key: value for key, value in entry.items() if value != ""}
                for entry in container["env"]
            ]
        assert contains(manager()["spec"], wanted), folder
        # Without NeMo services, their permissions are gone, although kubectl deletes nothing.
        variables = {entry["name"]: entry.get("value") for entry in containers_of(wanted)[0]["env"]}
        # kubectl leaves the Role of config/overlays/namespaced in its namespace.
        where = "nim" if folder.endswith("/namespaced") else "default"
        has_nemo = variables.get("NIMOPS_NEMO") != "off"
        for verb, resource in (
            ("list", "secrets"),
            ("watch", "configmaps"),
            ("update", "jobs.batch"),
            ("patch", "nemodatastores.apps.nvidia.com"),
        ):
            assert may(verb, resource, where) is has_nemo, (folder, verb, resource)
        assert may("get", "secrets", where), folder
