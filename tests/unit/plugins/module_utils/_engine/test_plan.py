# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import (
    Child,
    Desired,
    Eviction,
    Field,
    Patch,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.metadata import owner_reference
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._engine.plan import compare

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


COMPARE_CASES = {
    "absent": (None, Child(WANT), ABSENT),
    "absent, to be made once": (None, Child(WANT, create_only=True), ABSENT),
    "absent, shared": (None, Child(WANT, shared=True), ABSENT),
    "as wanted": (live(**OWNED, **APPLIED), Child(WANT), ""),
    "never applied": (live(**OWNED), Child(WANT), SEEN),
    "drifted": (live("NodePort", **OWNED, **APPLIED), Child(WANT), SEEN),
    "somebody else's": (live("NodePort", **OTHER), Child(WANT), "refuse"),
    "nobody's, not marked as ours": (live("NodePort"), Child(WANT), "refuse"),
    "nobody's, marked as ours": (live(**MARKED), Child(WANT), SEEN),
    "shared": (live("NodePort", **MARKED), Child(WANT, shared=True), SEEN),
    "shared, of another of ours": (live(**OTHER), Child(WANT, shared=True), SEEN),
    "absent, merged": (None, Child(WANT, shared=True, merged=True), ABSENT),
    "merged with this version": (
        live("NodePort", **MARKED, resourceVersion="7"),
        Child(WANT, shared=True, merged=True),
        SEEN | {"resourceVersion": "7"},
    ),
    "nobody's, to be shared": (live(), Child(WANT, shared=True), "refuse"),
    "somebody else's, to be shared": (
        live(ownerReferences=[{"controller": True, "apiVersion": "apps/v1", "uid": "3"}]),
        Child(WANT, shared=True),
        "refuse",
    ),
    "made once": (live("NodePort", **OWNED), Child(WANT, create_only=True), ""),
    "made by others": (live("NodePort"), Child(WANT, create_only=True), "refuse"),
    "others', being deleted": (live(deletionTimestamp="x"), Child(WANT), "refuse"),
    "being deleted": (live("NodePort", **OWNED, deletionTimestamp="x"), Child(WANT), ""),
}


@pytest.mark.parametrize(("found", "child", "expected"), COMPARE_CASES.values(), ids=COMPARE_CASES)
def test_compare(found, child, expected):
    plan = compare(CR, Desired([child]), Observed({"Service/nim/llm": found}))
    assert plan.apply == ([to_apply(**expected)] if isinstance(expected, dict) else [])
    assert [item.name for item in plan.refusals] == (["llm"] if expected == "refuse" else [])


def test_compare_omits_duplicates_of_other_managers():
    """`kept_lists.py` reports which lists mean the same."""
    item = {"name": "a"}
    found = live(**OWNED, **APPLIED) | {"spec": {"type": "ClusterIP", "list": [item, item]}}
    want = WANT | {"spec": {"type": "ClusterIP", "list": [item]}}
    assert compare(CR, Desired([Child(want)]), Observed({"Service/nim/llm": found})).is_empty
    found["spec"]["type"] = "NodePort"
    plan = compare(CR, Desired([Child(want)]), Observed({"Service/nim/llm": found}))
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
def test_compare_prunes_only_ours(found, deleted):
    plan = compare(CR, Desired([], [("Service", "llm")]), Observed({"Service/nim/llm": found}))
    reference = {"name": "llm", "namespace": "nim", "uid": "u5"}
    assert [item["metadata"] for item in plan.prune] == ([reference] if deleted else [])


def test_compare_orphans():
    observed = Observed({"Service/nim/llm": live(**OWNED)})
    plan = compare(CR, Desired(orphaned=[("Service", "llm")]), observed)
    assert [item["metadata"]["uid"] for item in plan.orphan] == ["u5"]
    assert (plan.prune, plan.is_empty) == ([], False)
    observed = Observed({"Service/nim/llm": live(**OTHER)})
    assert compare(CR, Desired(orphaned=[("Service", "llm")]), observed).is_empty


def test_compare_unwanted_in_other_namespace():
    found = live(namespace="other", ownerReferences=[owner_reference(CR)])
    observed = Observed({"Service/other/llm": found})
    unwanted = [("Service", "llm")]
    assert compare(CR, Desired([], unwanted), observed).is_empty
    (pruned,) = compare(CR, Desired([], unwanted, namespace="other"), observed).prune
    assert pruned["metadata"]["namespace"] == "other"


def test_compare_adopts_observed_version_only():
    entry = {"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:spec": {"f:odd": {}}}}
    found = live(**OWNED, managedFields=[entry])
    (patch,) = compare(CR, Desired([Child(WANT)]), Observed({"Service/nim/llm": found})).adopt
    assert (patch["metadata"]["uid"], patch["metadata"]["resourceVersion"]) == ("u5", "5")


def test_compare_refusal_has_advice():
    plan = compare(CR, Desired([Child(WANT)]), Observed({"Service/nim/llm": live(**OTHER)}))
    assert "controlled by NIMPipeline p" in plan.refusals[0].message
    assert "delete or rename it" in plan.refusals[0].message


ACCOUNT = {
    "apiVersion": "v1",
    "kind": "ServiceAccount",
    "metadata": {"name": "llm", "namespace": "nim"},
}
PODS = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "llm", "namespace": "nim"},
    "spec": {"template": {"spec": {"serviceAccountName": "llm"}}},
}
NEXT = {"metadata": {"name": "old", "namespace": "nim", **OWNED}, "kind": "ConfigMap"}


def with_account(gpu, account, pods=None, **more):
    """A plan where the account of the pods is given; a Service is not concerned."""
    children = [Child(item) for item in (ACCOUNT, WANT, PODS)]
    observed = {"ServiceAccount/nim/llm": account, "ConfigMap/nim/old": NEXT}
    if pods:
        observed["Deployment/nim/llm"] = pods
    node = {"kind": "Node", "metadata": {"name": "n", "labels": {}}}
    patch = Patch("Node", node, (Field(("metadata", "labels", "a"), "b"),))
    evictions = [Eviction(gpu.pod("a"))]
    unwanted = [("ConfigMap", "old")]
    wanted = Desired(children, unwanted, patches=[patch], evictions=evictions, **more)
    return compare(CR, wanted, Observed(observed))


def foreign_account(**metadata):
    return ACCOUNT | {"metadata": ACCOUNT["metadata"] | {"uid": "theirs", **metadata}}


@pytest.mark.parametrize("is_there", [False, True], ids=["new", "running"])
def test_compare_blocks_references_to_refused(gpu, is_there):
    pods = PODS | {"metadata": PODS["metadata"] | OWNED, "spec": {"replicas": 7}}
    plan = with_account(gpu, foreign_account(), pods if is_there else None)
    assert [item["kind"] for item in (*plan.apply, *plan.adopt)] == ["Service"]
    assert (plan.prune, plan.evict, plan.patch, plan.orphan) == ([], [], [], [])
    reported = [(item.kind, item.reason) for item in plan.refusals]
    assert reported == [("ServiceAccount", "NameTaken"), ("Deployment", "NameTaken")]
    state = "is not changed" if is_there else "is not created"
    assert plan.refusals[1].message == (
        f'Deployment "llm" {state}, as its spec.template.spec.serviceAccountName refers to'
        ' ServiceAccount "llm"'
    )


def test_compare_rest_without_refusal_or_independent(gpu):
    for plan in (
        with_account(gpu, None),
        with_account(gpu, foreign_account(), are_independent=True),
    ):
        assert (len(plan.prune), len(plan.evict), len(plan.patch)) == (1, 1, 1)


def test_compare_waits_for_deletion(gpu):
    """It blocks as well, but that is not final."""
    namesake = {"ownerReferences": [owner_reference(CR) | {"uid": "former"}]}
    for found in (foreign_account(**namesake), foreign_account(deletionTimestamp="x")):
        plan = with_account(gpu, found)
        assert [(item.kind, item.reason) for item in plan.refusals] == [
            ("ServiceAccount", ""),
            ("Deployment", ""),
        ]
        assert plan.refusals[0].message.endswith(": waiting for its deletion")


@pytest.mark.parametrize(
    ("kind", "name", "spec", "advice"),
    [
        ("Service", "llm", {}, "recreate the NIMService under another metadata.name, or "),
        ("Role", "llm-epp", {}, "recreate the NIMService under another metadata.name, or "),
        (
            "Service",
            "llm",
            {"expose": {"service": {"name": "llm"}}},
            "change spec.expose.service.name, or ",
        ),
        ("Role", "nim-cache-role", {}, ""),
    ],
)
def test_compare_refusal_names_field(kind, name, spec, advice):
    found = {"kind": kind, "metadata": {"name": name, "namespace": "nim"}}
    wanted, observed = Desired([Child(found)]), Observed({f"{kind}/nim/{name}": found})
    (refusal,) = compare(CR | {"spec": spec}, wanted, observed).refusals
    assert refusal.message.startswith(
        f'{kind} "{name}" exists and was not created by this NIMService: {advice}delete or rename it'
    )


def test_compare_evictions_have_uid(gpu):
    evicted, deleted, leaving = (gpu.pod(name) for name in "abc")
    leaving["metadata"]["deletionTimestamp"] = "now"
    wanted = Desired(
        evictions=[Eviction(evicted), Eviction(deleted, is_deletion=True), Eviction(leaving)]
    )
    plan = compare(CR, wanted, Observed({}))
    assert [item["metadata"]["uid"] for item in plan.evict] == ["uid-nim-a"]
    assert [item["metadata"]["uid"] for item in plan.prune] == ["uid-nim-b"]
    assert plan.evict[0]["kind"] == "Pod"
    assert not plan.is_empty
