# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Whoever has installed config/default or an overlay can change to another one."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
from nimops_live.cluster import kubectl
from nimops_release.manifests import MANAGER, NAMESPACE, manager_of

CONFIG = Path(__file__).resolve().parents[2] / "config"
OVERLAYS = sorted(path.name for path in (CONFIG / "overlays").iterdir())
APPLY = ("apply", "--server-side", "--force-conflicts", "-k")


@pytest.fixture
def namespace():
    """The one that config/overlays/namespaced names."""
    kubectl("create", "namespace", "nim")
    yield
    kubectl("delete", "namespace", "nim", "--wait=true")


def contains(live, wanted) -> bool:
    """Whether all that is wanted is there, and lists are of equal length."""
    if isinstance(wanted, dict):
        return all(key in live and contains(live[key], wanted[key]) for key in wanted)
    if isinstance(wanted, list):
        return len(live) == len(wanted) and all(map(contains, live, wanted))
    return live == wanted


def manager() -> dict:
    return json.loads(kubectl("-n", NAMESPACE, "get", "deployment", MANAGER, "-o", "json"))


def test_from_each_overlay_to_the_next(clean, namespace, project):
    for folder in ("default", *(f"overlays/{name}" for name in OVERLAYS), "default"):
        kubectl(*APPLY, str(CONFIG / folder))
        wanted = copy.deepcopy(manager_of(project.build(folder))["spec"])
        # An empty value is the same as none.
        for container in wanted["template"]["spec"]["containers"]:
            container["env"] = [
                {key: value for key, value in entry.items() if value != ""}
                for entry in container["env"]
            ]
        assert contains(manager()["spec"], wanted), folder
