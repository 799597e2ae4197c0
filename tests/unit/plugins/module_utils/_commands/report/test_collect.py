# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Caches, volumes, pipelines and plans of live objects."""

from __future__ import annotations

from datetime import UTC, datetime

from ansible_collections.nimops.nim.plugins.module_utils._commands.gather.redact import (
    MARK,
    Redactor,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.plan.diff import Change
from ansible_collections.nimops.nim.plugins.module_utils._commands.plan.preview import Preview
from ansible_collections.nimops.nim.plugins.module_utils._commands.render.simulation import (
    SimulationResult,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.report import collect
from ansible_collections.nimops.nim.plugins.module_utils._commands.report.model import (
    GraphNode,
    Volume,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.status.status_table import (
    list_status,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import ObjectKey

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def lines_of(*items):
    return list_status(items, [], NOW)


def owned(kind, name, owner, spec=None, **fields):
    reference = {
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": "u",
        "controller": True,
    }
    metadata = {"name": name, "namespace": "nim", "ownerReferences": [reference]}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": spec or {}, **fields}


def test_advice_only_for_problems(make_service):
    ready = make_service("a") | {"status": {"state": "Ready"}}
    waiting = make_service("b") | {"status": {"state": "NotReady", "conditions": [
        {"type": "Ready", "status": "False", "reason": "NIMCacheNotReady", "message": "m"},
    ]}}  # fmt: skip
    found = collect.collect_resources(lines_of(ready, waiting))
    assert [(item.has_problem, bool(item.advice)) for item in found] == [
        (False, False),
        (True, True),
    ]


def test_caches(make_service, make_cache):
    status = {"state": "Ready", "pvc": "models-pvc", "profiles": [{"name": "a"}, {"name": "b"}]}
    items = [
        make_cache("models") | {"status": status},
        make_cache("unused"),
        make_service("llm", storage={"nimCache": {"name": "models"}}),
        make_service("other"),
    ]
    used, unused = collect.collect_caches(items, lines_of(*items))
    assert (used.name, used.claim, used.profiles) == ("models", "models-pvc", 2)
    assert used.users == ("NIMService llm",)
    assert (unused.name, unused.users) == ("unused", ())


def test_volumes(make_service, make_cache):
    cache = make_cache("models") | {"status": {"pvc": "models-pvc"}}
    service = make_service("llm", storage={"pvc": {"name": "own"}})
    template = {"spec": {"volumes": [{"persistentVolumeClaim": {"claimName": "llm-pvc"}}]}}
    workload = owned("Deployment", "llm", service, {"template": template})
    claims = [
        owned("PersistentVolumeClaim", name, cache, {
            "accessModes": ["ReadWriteMany"], "storageClassName": "nfs",
            "resources": {"requests": {"storage": "10Gi"}},
        }, status={"phase": "Bound"})
        for name in ("models-pvc", "foreign")
    ]  # fmt: skip
    claims += [
        {"metadata": {"name": name, "namespace": "nim"}, "spec": {}, "status": {"phase": "Pending"}}
        for name in ("own", "llm-pvc", "unused")
    ]
    claims[2]["status"] = {"phase": "Bound", "capacity": {"storage": "20Gi"}}
    found = {
        item.name: item for item in collect.collect_volumes(claims, [cache, service], [workload])
    }
    assert found.keys() == {"models-pvc", "own", "llm-pvc"}
    assert found["models-pvc"] == Volume(
        "nim", "models-pvc", "Bound", "10Gi", "ReadWriteMany", "nfs", ("NIMCache models",)
    )
    assert (found["own"].size, found["own"].users) == ("20Gi", ("NIMService llm",))
    assert (found["llm-pvc"].phase, found["llm-pvc"].users) == ("Pending", ("NIMService llm",))


def pipeline(*services):
    metadata = {"name": "rag", "namespace": "nim"}
    return {"apiVersion": "apps.nvidia.com/v1alpha1", "kind": "NIMPipeline", "metadata": metadata,
            "spec": {"services": list(services)}}  # fmt: skip


def test_pipelines(make_service, make_cache):
    spec = {"storage": {"nimCache": {"name": "models"}}}
    rag = pipeline(
        {"name": "llm", "enabled": True, "spec": spec},
        {"name": "embed", "enabled": True, "spec": {}, "dependencies": [
            {"name": "llm", "envName": "URL", "envValue": "http://llm:8000"}, {"name": "llm"}, {"name": "embed"},
        ]},
        {"name": "rerank", "enabled": False, "spec": {}},
        {"enabled": True, "spec": {}},
    )  # fmt: skip
    items = [rag, make_service("llm") | {"status": {"state": "Ready"}}, make_cache("models")]
    (found,) = collect.collect_pipelines(items, lines_of(*items))
    assert found.nodes == (
        GraphNode("NIMService", "llm", "Ready"),
        GraphNode("NIMService", "embed", ""),
        GraphNode("NIMService", "rerank", "Off"),
        GraphNode("NIMCache", "models", ""),
    )
    assert found.edges == ((0, 3), (1, 0))


KEY = ObjectKey("Deployment", "nim", "llm")
PARENT = ObjectKey("NIMService", "nim", "llm")


def plan_of(*changes, redactor=None, **problems):
    simulated = SimulationResult({}, [], problems.get("problems", {}), {})
    return collect.collect_plan(Preview(list(changes), simulated), redactor or Redactor())


def test_plan():
    found = plan_of(
        Change("change", KEY, PARENT, {"spec": {"replicas": 1}}, {"spec": {"replicas": 2}}, True),
        Change("create", KEY, PARENT, None, {"spec": {}}),
        Change("delete", KEY, KEY),
        problems={PARENT: ["no cache"]},
    )
    assert found.summary == "1 to create, 1 to change, 1 to delete; pods of 1 are replaced"
    change, create, delete = found.changes
    assert (change.target, change.parent, change.restarts) == (
        "Deployment nim/llm", "NIMService nim/llm", True,
    )  # fmt: skip
    assert "-  replicas: 1\n+  replicas: 2" in change.diff
    assert (create.diff, delete.diff, delete.parent) == ("", "", "")
    assert found.problems == (("NIMService nim/llm", "no cache"),)


def env(value):
    return {
        "spec": {
            "env": [{"name": "NGC_API_KEY", "value": value}, {"name": "A", "value": value[:1]}]
        }
    }


def test_plan_hides_credentials():
    found = plan_of(Change("change", KEY, PARENT, env("S3cr3tW0rd"), env("0th3rW0rd9")))
    (change,) = found.changes
    assert "W0rd" not in change.diff
    assert MARK in change.diff
    assert "-    value: S\n+    value: '0'" in change.diff


def test_plan_of_credentials_only():
    one, other = ({"spec": {"password": text}} for text in ("S3cr3tW0rd", "0th3rW0rd9"))
    (change,) = plan_of(Change("change", KEY, PARENT, one, other)).changes
    assert change.diff == "only redacted values differ"


def test_large_plans_are_cut():
    before, after = ({"spec": {f"{n}{x}": "y" * 100 for n in range(90)}} for x in "ab")
    found = plan_of(*(Change("change", KEY, PARENT, before, after) for _ in range(100)))
    assert found.changes[0].diff.endswith("… and 122 more lines")
    assert found.omitted > 0
    assert sum(len(item.diff) for item in found.changes) < 500_000
