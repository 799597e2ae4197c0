# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Which task of a role writes which object."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._cluster.task_results import (
    make_outcome,
    writable,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import key_of
from ansible_collections.nimops.nim.plugins.module_utils._engine.plan import Plan
from ansible_collections.nimops.nim.plugins.module_utils._engine.stages import (
    STAGES,
    can_write,
    stages_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.write_order import turns

EMOJI = "\N{ROCKET}"


def item(kind: str, name: str = "a", **spec: t.Any) -> dict[str, t.Any]:
    return {
        "apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "nim"}, "spec": spec,
    }  # fmt: skip


ACCOUNT, SECRET, CONFIG = item("ServiceAccount"), item("Secret"), item("ConfigMap")
POD = {"serviceAccountName": "a", "volumes": [{"configMap": {"name": "a"}}]}
DEPLOYMENT = item("Deployment", template={"spec": POD})
DAEMONS = item("DaemonSet", template={"spec": POD})
SCALER = item("HorizontalPodAutoscaler", scaleTargetRef={"kind": "Deployment", "name": "a"})
DECORATED = item("Deployment", template={"spec": {**POD, "hostname": EMOJI}})
NODE = {"kind": "Node", "metadata": {"name": "n"}}


def stages(*apply: dict[str, t.Any], **more: t.Any) -> dict[str, list[str]]:
    found = stages_of(Plan(apply=list(apply), **more), turns(apply))
    return {name: kinds(things) for name, things in found.items() if things}


def test_stages_of_references_to_earlier_stages() -> None:
    assert stages(SCALER, DEPLOYMENT, CONFIG, ACCOUNT, SECRET) == {
        "own": ["Secret"],
        "first": ["ServiceAccount", "ConfigMap"],
        "second": ["Deployment"],
        "third": ["HorizontalPodAutoscaler"],
    }


def test_stages_of_daemonsets_after_node_labels() -> None:
    names = list(STAGES)
    assert stages(ACCOUNT, DAEMONS, patch=[NODE]) == {
        "first": ["ServiceAccount"],
        "others": ["Node"],
        "daemonsets": ["DaemonSet"],
    }
    assert names.index("rest") < names.index("daemonsets")
    special = stages(item("DaemonSet", text=EMOJI), patch=[NODE])
    assert special == {"rest": ["DaemonSet"], "others": ["Node"]}


def test_stages_of_special_characters() -> None:
    assert stages(ACCOUNT, DECORATED, SCALER) == {
        "first": ["ServiceAccount"],
        "rest": ["Deployment", "HorizontalPodAutoscaler"],
    }
    assert stages(item("ConfigMap", text=EMOJI)) == {"own": ["ConfigMap"]}


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        (CONFIG, True),
        (SECRET, False),
        (item("ConfigMap", text="ä…\uffff"), True),
        (item("ConfigMap", text=EMOJI), False),
        (item("ConfigMap", **{EMOJI: 1}), False),
    ],
)
def test_can_write(manifest: t.Any, expected: bool) -> None:
    assert can_write(manifest) is expected


def test_stages_of_every_part_of_plan() -> None:
    plan = Plan(
        adopt=[CONFIG],
        apply=[ACCOUNT],
        prune=[SECRET],
        patch=[NODE],
        evict=[NODE],
        orphan=[DAEMONS],
    )
    found = stages_of(plan, turns(plan.apply))
    listed = [thing for things in found.values() for thing in things]
    assert sorted(map(key_of, listed)) == sorted(
        key_of(thing) for thing in [CONFIG, ACCOUNT, SECRET, NODE, NODE, DAEMONS]
    )


# The remaining objects after a refusal

PLAN = Plan(apply=[ACCOUNT, CONFIG, DEPLOYMENT, SCALER, SECRET, DAEMONS])
NO = {"error": {"msg": 'Failed to apply object: b\'{"kind":"Status","message":"no","code":403}\''}}
RACED = {
    "error": {"msg": 'Failed to apply object: b\'{"kind":"Status","message":"x","code":409}\''}
}


def many(*results: t.Any) -> dict[str, t.Any]:
    return {"result": {"results": list(results)}}


def kinds(items: t.Iterable[dict[str, t.Any]]) -> list[str]:
    return [thing["kind"] for thing in items]


def test_writable_after_refusal() -> None:
    results = {"first": many(NO, {"result": CONFIG})}
    assert kinds(writable(PLAN, "first", results)) == ["ServiceAccount", "ConfigMap"]
    assert writable(PLAN, "second", results) == []
    assert writable(PLAN, "third", results) == []
    assert writable(PLAN, "daemonsets", results) == []
    outcome = make_outcome(PLAN, results, "", dry=False)
    assert [(refusal.kind, refusal.message) for refusal in outcome.refusals] == [
        ("ServiceAccount", "no"),
        ("Deployment", 'waits for ServiceAccount "a"'),
        ("HorizontalPodAutoscaler", 'waits for Deployment "a"'),
        ("DaemonSet", 'waits for ServiceAccount "a"'),
    ]
    assert list(outcome.written) == ["ConfigMap/nim/a"]


def test_writable_after_race() -> None:
    outcome = make_outcome(PLAN, {"first": many({"result": ACCOUNT}, RACED)}, "", dry=False)
    assert outcome.raced == [
        *("ConfigMap/nim/a", "Deployment/nim/a", "HorizontalPodAutoscaler/nim/a", "DaemonSet/nim/a")
    ]
    assert outcome.refusals == []


def test_writable_without_refused_workload() -> None:
    results = {
        "first": many({"result": ACCOUNT}, {"result": CONFIG}),
        "second": {"result": {}, **NO},
    }
    assert kinds(writable(PLAN, "second", results)) == ["Deployment"]
    assert writable(PLAN, "third", results) == []


def test_writable_counts_own_task() -> None:
    refusal = {"kind": "Secret", "name": "a", "message": "no", "reason": ""}
    ours = {"written": {"ConfigMap/nim/b": CONFIG}, "deleted": ["Pod/nim/p"], "refusals": [refusal]}
    user = item(
        "Deployment", "b", template={"spec": {"volumes": [{"secret": {"secretName": "a"}}]}}
    )
    plan = Plan(apply=[SECRET, user])
    results = {"own": {"outcome": {**ours, "raced": [], "held": {"Pod/nim/q": "busy"}}}}
    assert writable(plan, "second", results) == []
    outcome = make_outcome(plan, results, "", dry=False)
    assert (outcome.deleted, outcome.held) == (["Pod/nim/p"], {"Pod/nim/q": "busy"})
    assert [refusal.message for refusal in outcome.refusals] == ["no", 'waits for Secret "a"']
