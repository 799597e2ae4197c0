# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import json

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import Outcome, Refusal
from ansible_collections.nimops.nim.plugins.module_utils._engine.plan import compare
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.app import NIMServiceApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.desired import desired
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.model_store import Store
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.pod.gpu import build_resources
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.reads import reads
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.status import assess

CREATED = {"claimCreationSpec": {"devices": [{"name": "gpu"}]}}
NAMED, SHARED = {"resourceClaimTemplateName": "gpus"}, {"resourceClaimName": "mine"}
TEMPLATE, POD_CLAIM = "claimtemplate-df94b6548-0", "claim-df94b6548-1-5c9d688d4c-0"
NAME = {"status": 200, "body": json.dumps({"object": "list", "data": [{"id": "m"}]}), "error": ""}
MODELS = "http://10.0.0.1:8000/v1/models"


def claim(name, made_for="", status=None, **metadata):
    meta = {"name": name, "creationTimestamp": "2026-01-01T00:00:00Z"} | metadata
    meta["annotations"] = {"resource.kubernetes.io/pod-claim-name": made_for} if made_for else {}
    status = {"allocation": {"devices": {}}, "reservedFor": [{}]} if status is None else status
    return {"metadata": meta, "status": status}


def children(cr, observed):
    manifests = [child.manifest for child in desired(NIMServiceApp(cr, observed)).children]
    return {f"{item['kind']}/ns/{item['metadata']['name']}": item for item in manifests}


@pytest.mark.parametrize(
    ("resources", "more"),
    [
        pytest.param([], [], id="none"),
        pytest.param(None, [], id="unset"),
        pytest.param([SHARED], ["ResourceClaim/ns/*"], id="by name: it is among all claims"),
        pytest.param(
            [NAMED, CREATED, NAMED],
            [
                "ResourceClaim/ns/*",
                "ResourceClaimTemplate/ns/gpus",
                "ResourceClaimTemplate/ns/claimtemplate-df94b6548-1",
            ],
            id="templates",
        ),
    ],
)
def test_dra_reads(make, resources, more):
    plain = [read.key for read in reads(make.app())]
    found = [read.key for read in reads(make.app({"draResources": resources}))]
    assert found == plain + more


def test_build_templates_before_workload(make):
    labels, annotations = {"team": "a"}, {"note": "b"}
    spec = {"draResources": [CREATED], "labels": labels, "annotations": annotations}
    found = children(make.cr(spec), make.observe())
    assert list(found)[-2:] == [f"ResourceClaimTemplate/ns/{TEMPLATE}", "Deployment/ns/llm"]
    template, deployment = (found[key] for key in list(found)[-2:])
    for metadata in (template["metadata"], template["spec"]["metadata"]):
        assert labels.items() <= metadata["labels"].items()
        assert metadata["labels"]["app.kubernetes.io/managed-by"] == "k8s-nim-operator"
        assert metadata["annotations"] == {"openshift.io/required-scc": "nonroot", "note": "b"}
    assert template["metadata"]["ownerReferences"][0]["name"] == "llm"
    assert "ownerReferences" not in template["spec"]["metadata"]
    assert deployment["spec"]["template"]["spec"]["resourceClaims"] == [
        {"name": POD_CLAIM, "resourceClaimTemplateName": TEMPLATE}
    ]


def test_pod_claims_in_containers(make):
    helper = {"name": "h", "image": {"repository": "r", "tag": "t"}}
    spec = {
        "draResources": [CREATED | {"requests": ["gpu"]}, SHARED],
        "initContainers": [helper],
        "sidecarContainers": [helper],
        "resources": {"limits": {"cpu": 1}, "claims": [{"name": "x"}]},
    }
    pod = children(make.cr(spec), make.observe())["Deployment/ns/llm"]["spec"]["template"]["spec"]
    shared = pod["resourceClaims"][1]["name"]
    used = [{"name": POD_CLAIM, "request": "gpu"}, {"name": shared}]
    assert [item["resources"] for item in pod["containers"]] == [
        {"limits": {"cpu": "1"}, "claims": used},
        {"claims": used},
    ]
    assert "resources" not in pod["initContainers"][0]


def test_build_resources_with_devices(make):
    listed = {"state": "Ready", "pvc": "x", "profiles": [{"name": "p", "config": {"tp": "2"}}]}
    store = Store({}, cache=make.cache(status=listed), profile="p")
    assert build_resources(make.app(), store)
    assert build_resources(make.app({"draResources": [SHARED]}), store) == {}


def test_build_templates_changed_labels(make):
    """The spec of a template, which includes the labels of claims, is immutable."""
    old = make.cr({"draResources": [CREATED]})
    live = children(old, make.observe())[f"ResourceClaimTemplate/ns/{TEMPLATE}"]
    live["metadata"] |= {"resourceVersion": "1"}
    new = make.cr({"draResources": [CREATED], "labels": {"team": "b"}})
    made = children(new, make.observe(live))[f"ResourceClaimTemplate/ns/{TEMPLATE}"]
    assert made["metadata"]["labels"]["team"] == "b"
    assert made["spec"] == live["spec"]


def test_build_templates_keeps_hash(make):
    """Without the hash, the reference operator crashes after a rollback."""
    cr = make.cr({"draResources": [CREATED]})
    live = children(cr, make.observe())[f"ResourceClaimTemplate/ns/{TEMPLATE}"]
    live["metadata"]["annotations"] |= {
        "nvidia.com/last-applied-hash": "1",
        "nvidia.com/parent-spec-hash": "2",
    }
    made = children(cr, make.observe(live))[f"ResourceClaimTemplate/ns/{TEMPLATE}"]
    assert made["metadata"]["annotations"]["nvidia.com/last-applied-hash"] == "1"
    assert "nvidia.com/parent-spec-hash" not in made["metadata"]["annotations"]


def test_build_templates_ambiguous_devices(make):
    selector = {"key": "k", "op": "LessThan", "value": {"stringValue": "x"}}
    device = {"name": "gpu", "attributeSelectors": [selector]}
    cr = make.cr({"draResources": [{"claimCreationSpec": {"devices": [device]}}]})
    found = desired(make.app(cr))
    assert {"Service", "ServiceAccount"} <= {item.manifest["kind"] for item in found.children}
    assert "Deployment" not in {item.manifest["kind"] for item in found.children}
    assert found.failure is not None
    assert found.failure.reason == "ResourceClaimTemplateFailed"
    assert str(found.failure).startswith(f"failed to reconcile DRAResource {TEMPLATE}: invalid op")


def test_build_templates_cache_not_ready(make):
    spec = {"draResources": [CREATED], "storage": {"nimCache": {"name": "cache"}}}
    assert not [key for key in children(make.cr(spec), make.observe()) if "Template" in key]


def test_build_templates_of_namesake(make):
    cr = make.cr({"draResources": [CREATED]})
    live = children(cr, make.observe())[f"ResourceClaimTemplate/ns/{TEMPLATE}"]
    live["metadata"]["ownerReferences"][0]["uid"] = "former"
    seen = make.observe(live)
    refusals = compare(cr, desired(NIMServiceApp(cr, seen)), seen).refusals
    assert [item.name for item in refusals] == [TEMPLATE, "llm"]
    assert refusals[1].kind == "Deployment", "its pods would claim by it"


TWICE = [SHARED, SHARED]
OLD = (
    "DRA resources are not supported by NIM-Operator on this cluster, please upgrade to k8s version"
)


@pytest.mark.parametrize(
    ("resources", "answers", "message"),
    [
        pytest.param([CREATED], {"ResourceClaim": None}, OLD, id="cluster without the API"),
        pytest.param(TWICE, {"ResourceClaim": []}, "duplicate resource claim name", id="twice"),
    ],
)
def test_find_error(make, resources, answers, message):
    cr, seen = make.cr({"draResources": resources}), make.observe(**answers)
    wanted = desired(NIMServiceApp(cr, seen))
    assert (wanted.children, wanted.unwanted) == ([], [])
    result = assess(NIMServiceApp(cr, seen), Outcome())
    failed = result.status["conditions"][1]
    assert (result.status["state"], failed["reason"]) == ("Failed", "DRAResourcesUnsupported")
    assert message in failed["message"]
    assert [(item.kind, item.reason, item.message) for item in result.events] == [
        ("Warning", "Failed", failed["message"])
    ]
    assert (result.error, result.requeue.after) == ("", False)


def test_find_error_api_not_read(make):
    assert desired(make.app({"draResources": [CREATED]})).children


def world(make, cr, *claims, templates=(), **live):
    """A cluster with the workload, claims and templates."""
    made = [
        {"kind": "ResourceClaimTemplate", "metadata": {"name": name}, "spec": {}}
        for name in templates
    ]
    answers = {"ResourceClaim": list(claims), MODELS: NAME}
    return make.observe(make.rolled_out(cr, **live), make.with_address(cr), *made, **answers)


def test_dra_statuses_ready(make):
    cr = make.cr({"draResources": [CREATED, SHARED]})
    seen = world(make, cr, claim("c", POD_CLAIM), claim("mine", status={}), templates=[TEMPLATE])
    result = assess(NIMServiceApp(cr, seen), Outcome())
    assert result.status["state"] == "Ready"
    assert result.status["draResourceStatuses"] == [
        {
            "name": POD_CLAIM,
            "resourceClaimTemplateStatus": {
                "name": TEMPLATE,
                "resourceClaimStatuses": [{"name": "c", "state": "allocated,reserved"}],
            },
        },
        {
            "name": "claim-df94b6548-0-6566fbd946-0",
            "resourceClaimStatus": {"name": "mine", "state": "pending"},
        },
    ]
    assert not result.requeue.after


@pytest.mark.parametrize(
    ("resources", "claims", "templates", "missing"),
    [
        pytest.param([SHARED], [], [], 'ResourceClaim "mine"', id="claim"),
        pytest.param([NAMED], [], [], 'ResourceClaimTemplate "gpus"', id="template"),
        pytest.param([NAMED], [], ["gpus"], "", id="nothing"),
        pytest.param([SHARED, NAMED], [claim("mine")], [], 'Template "gpus"', id="the second"),
    ],
)
@pytest.mark.parametrize("stuck", [False, True], ids=["moving", "stuck"])
def test_missing_source(make, resources, claims, templates, missing, stuck):
    cr = make.cr({"draResources": resources})
    conditions = [{"type": "Progressing", "reason": "ProgressDeadlineExceeded"}] if stuck else []
    seen = world(make, cr, *claims, templates=templates, availableReplicas=0, conditions=conditions)
    result = assess(NIMServiceApp(cr, seen), Outcome())
    ready, *_, last = result.status["conditions"]
    assert (result.status["state"], ready["reason"]) == ("NotReady", "NotReady")
    assert last["type"] == ("Stalled" if stuck else "Reconciling")
    assert result.requeue.after is not stuck
    assert ready["message"].startswith(
        "Waiting for " if missing else ("deployment", "Waiting for d")
    )
    assert missing in ready["message"]
    assert ("which does not exist" in ready["message"]) is bool(missing)


def test_missing_source_scaled_down(make):
    cr = make.cr({"draResources": [SHARED], "replicas": 0})
    result = assess(NIMServiceApp(cr, world(make, cr)), Outcome())
    assert result.status["conditions"][0]["message"] == 'deployment "llm" is scaled down'
    assert not result.requeue.after


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(claim("c", POD_CLAIM, deletionTimestamp="x"), id="on its way out"),
        pytest.param(claim("d", POD_CLAIM), id="of a pod that ends"),
    ],
)
def test_dra_statuses_vanishing_claims(make, found):
    cr = make.cr({"draResources": [CREATED]})
    seen = world(make, cr, claim("b", POD_CLAIM), found, templates=[TEMPLATE])
    result = assess(NIMServiceApp(cr, seen), Outcome())
    assert (result.status["state"], result.requeue.after) == ("Ready", True)


def test_dra_statuses_without_workload(make):
    cr = make.cr({"draResources": [CREATED]}, {"draResourceStatuses": [{"name": "old"}]})
    seen = make.observe(ResourceClaim=[], **{"Deployment/ns/llm": None})
    assert "draResourceStatuses" not in assess(NIMServiceApp(cr, seen), Outcome()).status


def test_dra_statuses_not_read(make):
    going = {"name": "t", "resourceClaimStatuses": [{"name": "c", "state": "deleted,allocated"}]}
    old = [{"name": "old", "resourceClaimTemplateStatus": going}]
    cr = make.cr({"draResources": [CREATED]}, {"draResourceStatuses": old})
    result = assess(make.app(cr), Outcome(failure="the API server cannot be reached"))
    assert result.status["draResourceStatuses"] == old
    assert not result.requeue.after


def test_build_templates_refused(make):
    cr = make.cr({"draResources": [CREATED]})
    refusal = Refusal("ResourceClaimTemplate", TEMPLATE, "compilation failed")
    result = assess(NIMServiceApp(cr, world(make, cr)), Outcome(refusals=[refusal]))
    failed = result.status["conditions"][1]
    assert failed["reason"] == "ResourceClaimTemplateFailed"
    assert failed["message"] == f'ResourceClaimTemplate "{TEMPLATE}": compilation failed'


GROUPS = {"parallelism": {"pipeline": 3}}
SEVERAL = {"multiNode": GROUPS}
OURS = {"multiNode": GROUPS | {"computeDomain": {"create": True}}}
THEIRS = {"multiNode": GROUPS | {"computeDomain": {"name": "shared"}}}
SET, CHANNELS = "LeaderWorkerSet/ns/llm-lws", "cd-claimtemplate-df94b6548"
CHANNEL = "claim-df94b6548-2-5cb744997d-0"
SIDE = {"name": "side", "image": {"repository": "r", "tag": "2"}}


def domain(template="test-template"):
    channel = {"resourceClaimTemplate": {"name": template}}
    return {
        "kind": "ComputeDomain",
        "metadata": {"name": "shared"},
        "spec": {"channel": channel},
        "status": {"status": "Ready"},
    }


def groups(make, cr, *others, **status):
    """The live LeaderWorkerSet with ready groups."""
    made = children(cr, make.observe(*others))[SET]
    conditions = [{"type": "Available", "status": "True"}]
    ready = {"readyReplicas": made["spec"]["replicas"], "conditions": conditions}
    return made | {"status": ready | status}


def group_world(make, cr, *claims, templates=(), **live):
    made = [
        {"kind": "ResourceClaimTemplate", "metadata": {"name": name}, "spec": {}}
        for name in templates
    ]
    objects = [groups(make, cr, domain(), **live), make.with_address(cr), domain(), *made]
    return make.observe(*objects, ResourceClaim=list(claims), **{MODELS: NAME})


COMPUTE_DOMAIN = {
    "several nodes without claims: nothing": (SEVERAL, [], []),
    "a ComputeDomain of ours": (
        OURS, [], ["ResourceClaim/ns/*", f"ResourceClaimTemplate/ns/{CHANNELS}"],
    ),
    "one of others, not known yet": (THEIRS, [], ["ResourceClaim/ns/*"]),
    "one of others": (
        THEIRS, [domain()], ["ResourceClaim/ns/*", "ResourceClaimTemplate/ns/test-template"],
    ),
    "and devices": (
        OURS | {"draResources": [CREATED]}, [],
        [
            "ResourceClaim/ns/*",
            *(f"ResourceClaimTemplate/ns/{name}" for name in (TEMPLATE, CHANNELS)),
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("spec", "known", "more"),
    COMPUTE_DOMAIN.values(),
    ids=COMPUTE_DOMAIN,
)
def test_dra_reads_compute_domain(make, spec, known, more):
    found = [read.key for read in reads(make.app(spec, *known))]
    assert [key for key in found if key.startswith("ResourceClaim")] == more
    assert len(set(found)) == len(found)


def test_pod_claims_in_groups(make):
    """Claims are used by all containers of leaders and workers except init containers."""
    resources = [CREATED | {"requests": ["gpu"]}, SHARED]
    side = {"sidecarContainers": [SIDE], "initContainers": [SIDE]}
    found = children(make.cr(THEIRS | side | {"draResources": resources}), make.observe(domain()))
    assert list(found)[4] == f"ResourceClaimTemplate/ns/{TEMPLATE}"
    assert list(found)[-1] == SET
    for role in ("leader", "worker"):
        pod = found[SET]["spec"]["leaderWorkerTemplate"][f"{role}Template"]["spec"]
        mine = "claim-df94b6548-0-6566fbd946-0"
        assert pod["resourceClaims"] == [
            {"name": POD_CLAIM, "resourceClaimTemplateName": TEMPLATE},
            {"name": mine, "resourceClaimName": "mine"},
            {"name": CHANNEL, "resourceClaimTemplateName": "test-template"},
        ]
        used = [{"name": POD_CLAIM, "request": "gpu"}, {"name": mine}, {"name": CHANNEL}]
        assert [item["resources"] for item in pod["containers"]] == [{"claims": used}] * 2
        assert "resources" not in pod["initContainers"][0]


def test_find_error_repeated_claims_in_groups(make):
    several = {"draResources": [NAMED, NAMED | {"requests": ["a", "b"]}]}
    assert children(make.cr(several), make.observe())
    cr, seen = make.cr(SEVERAL | several), make.observe(**{SET: None, "ResourceClaim": []})
    assert desired(NIMServiceApp(cr, seen)).children == []
    result = assess(NIMServiceApp(cr, seen), Outcome())
    failed = result.status["conditions"][1]
    assert (result.status["state"], failed["reason"]) == ("Failed", "DRAResourcesUnsupported")
    assert failed["message"].startswith("spec.draResources[1].requests: ")


def test_dra_statuses_in_groups(make):
    cr = make.cr(THEIRS | {"draResources": [CREATED], "replicas": 2})
    claims = [claim(f"g{i}", POD_CLAIM) for i in range(6)] + [claim("c0", CHANNEL)]
    seen = group_world(make, cr, *claims, templates=[TEMPLATE, "test-template"])
    result = assess(NIMServiceApp(cr, seen), Outcome())
    assert result.status["state"] == "Ready"
    devices, channel = result.status["draResourceStatuses"]
    assert len(devices["resourceClaimTemplateStatus"]["resourceClaimStatuses"]) == 6
    assert channel == {
        "name": CHANNEL,
        "resourceClaimTemplateStatus": {
            "name": "test-template",
            "resourceClaimStatuses": [{"name": "c0", "state": "allocated,reserved"}],
        },
    }
    assert not result.requeue.after, "six claims are those of two groups of three"
    more = group_world(make, cr, *claims, claim("g6", POD_CLAIM), templates=[TEMPLATE])
    assert assess(NIMServiceApp(cr, more), Outcome()).requeue.after


@pytest.mark.parametrize(
    ("templates", "missing"),
    [
        pytest.param([], f'"{TEMPLATE}" of spec.draResources', id="devices first"),
        pytest.param(
            [TEMPLATE], '"test-template" of spec.multiNode.computeDomain', id="then the channel"
        ),
        pytest.param([TEMPLATE, "test-template"], "", id="nothing"),
    ],
)
def test_missing_source_in_groups(make, templates, missing):
    cr = make.cr(THEIRS | {"draResources": [CREATED]})
    seen = group_world(make, cr, templates=templates, conditions=[])
    result = assess(NIMServiceApp(cr, seen), Outcome())
    ready, *_ = result.status["conditions"]
    assert result.requeue.wake_on_child is not bool(missing)  # only children cause events
    waiting = f"Waiting for ResourceClaimTemplate {missing}, which does not exist"
    assert ready["message"] == (waiting if missing else 'leaderworkerset "llm-lws" is not ready')


def test_missing_source_without_api(make):
    """On an older cluster, a ComputeDomain works with an older API."""
    cr = make.cr(OURS)
    seen = make.observe(groups(make, cr, conditions=[]), ResourceClaim=None)
    result = assess(NIMServiceApp(cr, seen), Outcome())
    assert result.status["conditions"][0]["message"] == 'leaderworkerset "llm-lws" is not ready'


def test_dra_statuses_missing_domain(make):
    cr = make.cr(THEIRS | {"draResources": [SHARED]})
    live = groups(make, cr, domain())
    seen = make.observe(live, ResourceClaim=[claim("mine")], **{"ComputeDomain/ns/shared": None})
    assert {read.key for read in reads(NIMServiceApp(cr, seen))} >= {"ResourceClaim/ns/*", SET}
    result = assess(
        NIMServiceApp(cr, seen), Outcome(failure="not found", failure_reason="ComputeDomainFailed")
    )
    assert result.status["state"] == "Failed"
    assert [item["name"] for item in result.status["draResourceStatuses"]] == [
        "claim-df94b6548-0-6566fbd946-0"
    ]


def test_dra_statuses_unwanted_claims(make):
    cr = make.cr(status={"draResourceStatuses": [{"name": "old"}]})
    result = assess(make.app(cr, make.rolled_out(cr)), Outcome())
    assert "draResourceStatuses" not in result.status
