# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import identity
from ansible_collections.nimops.nim.plugins.module_utils._engine.write_order import turns


def item(kind: str, **spec: t.Any) -> dict[str, t.Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": "a", "namespace": "n"}, **spec}


ACCOUNT, ROLE, CONFIG = item("ServiceAccount"), item("Role"), item("ConfigMap")
BINDING = item("RoleBinding", roleRef={"kind": "Role", "name": "a"})
POD = {"serviceAccountName": "a"}
DEPLOYMENT = item("Deployment", spec={"template": {"spec": POD}})
JOB = item("Job", spec={"template": {"spec": {}}})


def waits(*manifests: dict[str, t.Any]) -> dict[str, set[str]]:
    return {
        identity(turn.manifest).kind: {key.kind for key in turn.waits} for turn in turns(manifests)
    }


def test_turns_references_first() -> None:
    found = turns([DEPLOYMENT, ACCOUNT])
    assert [turn.manifest["kind"] for turn in found] == ["ServiceAccount", "Deployment"]
    assert [key.kind for key in found[1].refers] == ["ServiceAccount"]


def test_turns_pod_waits_for_all() -> None:
    everything = {"ConfigMap", "ServiceAccount", "Role", "RoleBinding"}
    assert waits(CONFIG, ACCOUNT, ROLE, BINDING, JOB)["Job"] == everything
    assert waits(ROLE, CONFIG, BINDING)["RoleBinding"] == {"Role"}
    assert waits(CONFIG, ROLE)["Role"] == set()


def test_turns_single_object() -> None:
    assert [(turn.manifest, turn.refers, turn.waits) for turn in turns([JOB])] == [(JOB, [], [])]
