# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import (
    Child,
    Desired,
    Eviction,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.metadata import owner_reference
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._engine.plan import make_plan

CR = {
    "apiVersion": "apps.nvidia.com/v1alpha1",
    "kind": "NIMService",
    "metadata": {"name": "llm", "namespace": "nim", "uid": "1"},
}
WANT = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "llm", "namespace": "nim"},
    "spec": {"type": "ClusterIP"},
}
OWNED = {"ownerReferences": [owner_reference(CR)]}
OTHER = {
    "ownerReferences": [owner_reference(CR) | {"uid": "2", "kind": "NIMPipeline", "name": "p"}]
}
APPLIED = {
    "managedFields": [
        {
            "manager": "nimops.nim",
            "operation": "Apply",
            "apiVersion": "v1",
            "fieldsV1": {"f:spec": {"f:type": {}}},
        }
    ]
}


MARKED = {"labels": {"app.kubernetes.io/managed-by": "k8s-nim-operator"}}
ABSENT = {"resourceVersion": "1"}
SEEN = {"uid": "u5"}


def live(kind="ClusterIP", **metadata):
    meta = WANT["metadata"] | {"resourceVersion": "5", "uid": "u5"} | metadata
    return WANT | {"metadata": meta, "spec": {"type": kind}}


def to_apply(**metadata):
    return WANT | {"metadata": WANT["metadata"] | metadata}


@pytest.mark.parametrize(
    ("found", "child", "expected"),
    [
        pytest.param(None, Child(WANT), ABSENT, id="absent"),
        pytest.param(None, Child(WANT, create_only=True), ABSENT, id="absent, to be made once"),
        pytest.param(None, Child(WANT, shared=True), {}, id="absent, shared"),
        pytest.param(live(**OWNED, **APPLIED), Child(WANT), "", id="as wanted"),
        pytest.param(live(**OWNED), Child(WANT), SEEN, id="never applied"),
        pytest.param(live("NodePort", **OWNED, **APPLIED), Child(WANT), SEEN, id="drifted"),
        pytest.param(live("NodePort", **OTHER), Child(WANT), "refuse", id="somebody else's"),
        pytest.param(live("NodePort"), Child(WANT), "refuse", id="nobody's, not marked as ours"),
        pytest.param(live(**MARKED), Child(WANT), SEEN, id="nobody's, marked as ours"),
        pytest.param(live("NodePort", **MARKED), Child(WANT, shared=True), SEEN, id="shared"),
        pytest.param(
            live(**OTHER), Child(WANT, shared=True), SEEN, id="shared, of another of ours"
        ),
        pytest.param(None, Child(WANT, shared=True, merged=True), ABSENT, id="absent, merged"),
        pytest.param(
            live("NodePort", **MARKED, resourceVersion="7"),
            Child(WANT, shared=True, merged=True),
            SEEN | {"resourceVersion": "7"},
            id="merged with this version",
        ),
        pytest.param(live(), Child(WANT, shared=True), "refuse", id="nobody's, to be shared"),
        pytest.param(
            live(ownerReferences=[{"controller": True, "apiVersion": "apps/v1", "uid": "3"}]),
            Child(WANT, shared=True),
            "refuse",
            id="somebody else's, to be shared",
        ),
        pytest.param(live("NodePort"), Child(WANT, create_only=True), "", id="made once"),
        pytest.param(
            live("NodePort", **OWNED, deletionTimestamp="x"), Child(WANT), "", id="being deleted"
        ),
    ],
)
def test_make_plan(found, child, expected):
    plan = make_plan(CR, Desired([child]), Observed({"Service/nim/llm": found}))
    assert plan.apply == ([to_apply(**expected)] if isinstance(expected, dict) else [])
    assert [item.name for item in plan.refusals] == (["llm"] if expected == "refuse" else [])


def test_duplicates_of_others_are_not_applied():
    """`kept_lists.py` says which lists mean the same."""
    item = {"name": "a"}
    found = live(**OWNED, **APPLIED) | {"spec": {"type": "ClusterIP", "list": [item, item]}}
    want = WANT | {"spec": {"type": "ClusterIP", "list": [item]}}
    assert make_plan(CR, Desired([Child(want)]), Observed({"Service/nim/llm": found})).is_empty
    found["spec"]["type"] = "NodePort"
    plan = make_plan(CR, Desired([Child(want)]), Observed({"Service/nim/llm": found}))
    assert plan.apply == [to_apply(**SEEN) | {"spec": {"type": "ClusterIP"}}]


@pytest.mark.parametrize(
    ("found", "deleted"),
    [
        pytest.param(None, False, id="absent"),
        pytest.param(live(**OWNED), True, id="ours"),
        pytest.param(live(**OTHER), False, id="somebody else's"),
        pytest.param(live(), False, id="nobody's"),
        pytest.param(live(**OWNED, deletionTimestamp="x"), False, id="being deleted"),
    ],
)
def test_make_plan_prunes_only_ours(found, deleted):
    plan = make_plan(CR, Desired([], [("Service", "llm")]), Observed({"Service/nim/llm": found}))
    reference = {"name": "llm", "namespace": "nim", "uid": "u5"}
    assert [item["metadata"] for item in plan.prune] == ([reference] if deleted else [])


def test_what_an_orphaned_child_owns_stays():
    observed = Observed({"Service/nim/llm": live(**OWNED)})
    plan = make_plan(CR, Desired(orphaned=[("Service", "llm")]), observed)
    assert [item["metadata"]["uid"] for item in plan.orphan] == ["u5"]
    assert (plan.prune, plan.is_empty) == ([], False)
    observed = Observed({"Service/nim/llm": live(**OTHER)})
    assert make_plan(CR, Desired(orphaned=[("Service", "llm")]), observed).is_empty


def test_unwanted_children_may_be_in_another_namespace():
    found = live(namespace="other", ownerReferences=[owner_reference(CR)])
    observed = Observed({"Service/other/llm": found})
    unwanted = [("Service", "llm")]
    assert make_plan(CR, Desired([], unwanted), observed).is_empty
    (pruned,) = make_plan(CR, Desired([], unwanted, home="other"), observed).prune
    assert pruned["metadata"]["namespace"] == "other"


def test_fields_are_claimed_of_the_object_that_was_seen_and_no_other():
    entry = {"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:spec": {"f:odd": {}}}}
    found = live(**OWNED, managedFields=[entry])
    (patch,) = make_plan(CR, Desired([Child(WANT)]), Observed({"Service/nim/llm": found})).adopt
    assert (patch["metadata"]["uid"], patch["metadata"]["resourceVersion"]) == ("u5", "5")


def test_make_plan_refusal_says_what_to_do():
    plan = make_plan(CR, Desired([Child(WANT)]), Observed({"Service/nim/llm": live(**OTHER)}))
    assert "controlled by NIMPipeline p" in plan.refusals[0].message
    assert "delete or rename it" in plan.refusals[0].message


def test_pods_are_ended_by_uid(gpu):
    evicted, deleted, leaving = (gpu.pod(name) for name in "abc")
    leaving["metadata"]["deletionTimestamp"] = "now"
    wanted = Desired(
        evictions=[Eviction(evicted), Eviction(deleted, is_deletion=True), Eviction(leaving)]
    )
    plan = make_plan(CR, wanted, Observed({}))
    assert [item["metadata"]["uid"] for item in plan.evict] == ["uid-nim-a"]
    assert [item["metadata"]["uid"] for item in plan.prune] == ["uid-nim-b"]
    assert plan.evict[0]["kind"] == "Pod"
    assert not plan.is_empty
