# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import copy
import json

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._builders.pod import image_reference
from ansible_collections.nimops.nim.plugins.module_utils._engine.conditions import stamp
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import (
    Event,
    Outcome,
    Refusal,
    Trigger,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.metadata import owner_reference
from ansible_collections.nimops.nim.plugins.module_utils._engine.reads import LATER
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.app import NIMServiceApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.desired import desired
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.status import assess

MODELS = "http://10.0.0.1:8000/v1/models"
NAMED = {"status": 200, "body": json.dumps({"object": "list", "data": [{"id": "m"}]}), "error": ""}
DOWN = {"status": 0, "body": "", "error": "connection refused"}
ROLLED = 'deployment "llm" successfully rolled out\n'
WAITING = f"Waiting for the model: GET {MODELS}: connection refused"
PART = 'Waiting for deployment "llm" rollout to finish: 0 of 1 updated replicas are available...\n'
MODEL = {"name": "m", "clusterEndpoint": "10.0.0.1:8000", "externalEndpoint": ""}


def conditions(ready, failed, *more):
    """The conditions Ready and Failed, as (status, reason, message), and more."""
    fields = ("status", "reason", "message")
    pair = [
        {"type": "Ready"} | dict(zip(fields, ready, strict=True)),
        {"type": "Failed"} | dict(zip(fields, failed, strict=True)),
    ]
    return pair + [
        {"type": kind, "status": "True", "reason": reason, "message": text}
        for kind, reason, text in more
    ]


IS_READY = conditions(("True", "Ready", ROLLED), ("False", "Ready", ""))
READY = {
    "state": "Ready", "observedGeneration": 2, "conditions": IS_READY, "availableReplicas": 1,
    "replicas": 1, "selector": "app=llm", "model": MODEL,
}  # fmt: skip


def not_ready(reason, text, kind="Reconciling", why=""):
    return conditions(
        ("False", reason, text), ("False", "Ready", text), (kind, why or reason, text)
    )


def has_failed(reason, text):
    return conditions(("False", "Failed", ""), ("True", reason, text), ("Stalled", reason, text))


def around(make, cr, *more, model=NAMED, **deployment):
    """The context of ``cr`` in a cluster with all its objects."""
    answers = {} if model is None else {MODELS: model}
    live = make.rolled_out(make.cr(), **deployment)
    return make.app(cr, live, make.with_address(make.cr()), *more, **answers)


@pytest.mark.parametrize("status", [None, READY], ids=["new", "settled"])
def test_assess_ready(make, status):
    cr = make.cr(status=status)
    result = assess(around(make, cr, model=None if status else NAMED), Outcome())
    assert {"observedGeneration": 2} | result.status == READY
    assert result.events == (
        [] if status else [Event("Normal", "Ready", f"NIMService llm ready, msg: {ROLLED}")]
    )
    assert (result.requeue.after, result.error, result.triggers) == (False, "", [])


def test_assess_ready_overridden(make):
    """S7: an event names the values of the user that have no effect."""
    name = "app.kubernetes.io/name"
    labels = {"app.kubernetes.io/instance": "vss", name: "llm", "team": "a"}
    annotations = {"openshift.io/required-scc": "privileged", "note": "b"}
    cr = make.cr({"labels": labels, "annotations": annotations})
    events = assess(around(make, cr, model=NAMED), Outcome()).events
    assert [(item.kind, item.reason, item.message) for item in events[1:]] == [
        (
            "Warning",
            "Ignored",
            "the operator's own values replace spec.labels[app.kubernetes.io/instance],"
            " spec.annotations[openshift.io/required-scc]",
        )
    ]


@pytest.mark.parametrize("seen", [None, 1], ids=["new", "changed"])
@pytest.mark.parametrize(
    ("spec", "event"),
    [
        (
            {"resources": {"claims": [{"name": "gpu"}]}},
            ("Ignored", "spec.resources.claims has no effect beside other fields of the spec"),
        ),
        (
            {"draResources": [{"resourceClaimName": "a"}], "replicas": 2},
            ("SharedClaim", "all replicas share ResourceClaim a, and so its devices"),
        ),
        (
            {"draResources": [{"resourceClaimName": "a"}], "scale": {"enabled": True}},
            ("SharedClaim", "all replicas share ResourceClaim a, and so its devices"),
        ),
    ],
    ids=["claims", "replicas", "autoscaler"],
)
def test_assess_spec_warnings(make, seen, spec, event):
    cr = make.cr(spec, None if seen is None else {"state": "NotReady", "observedGeneration": seen})
    result = assess(around(make, cr, model=NAMED), Outcome())
    assert event in [(item.reason, item.message) for item in result.events]
    settled = make.cr(spec, result.status | {"observedGeneration": 2})
    assert event not in [
        (item.reason, item.message)
        for item in assess(around(make, settled, model=NAMED), Outcome()).events
    ]


CACHE = {"storage": {"nimCache": {"name": "cache"}}}
STUCK = [{"type": "Progressing", "reason": "ProgressDeadlineExceeded"}]
DEADLINE = 'deployment "llm" exceeded its progress deadline'
NO_WRITE = Refusal("Deployment", "llm", "denied")


def failing(reason, text, **outcome):
    """A case that fails with a message, which is also the error of the run."""
    fields = {"outcome": Outcome(**outcome), "wanted": has_failed(reason, text), "error": text}
    return FAILS | fields


DEFAULT = {
    "spec": {},
    "live": {},
    "outcome": Outcome(),
    "state": "NotReady",
    "after": True,
    "error": "",
}
FAILS = {"state": "Failed", "after": False}
NOT_QUERIED = "Waiting for the model: the model server has not been queried yet"
STUCK_CONDITIONS = not_ready("NotReady", DEADLINE, "Stalled", "ProgressDeadlineExceeded")
NOT_READY_CASES = {
    "rolling out": {"live": {"availableReplicas": 0}, "wanted": not_ready("NotReady", PART)},
    "rollout stuck": {"live": {"conditions": STUCK}, "wanted": STUCK_CONDITIONS, "after": False},
    "no answer of the model": {"live": {"model": DOWN}, "wanted": not_ready("NotReady", WAITING)},
    "model hangs": {"live": {"model": DOWN | {"late": True}}, "wanted": not_ready("NotReady", WAITING)},
    "model not asked": {"live": {"model": None}, "wanted": not_ready("NotReady", NOT_QUERIED)},
    "cache missing": FAILS | {"spec": CACHE, "wanted": has_failed("NIMCacheNotFound", "NIMCache cache not found")},
    "bad spec": failing("Failed", "bad size", failure="bad size", failure_reason="Failed"),
    "bad spec with a reason": failing(
        "GRPCRouteFailed", "no port", failure="no port", failure_reason="GRPCRouteFailed"
    ),
    "refused": failing("DeploymentFailed", 'Deployment "llm": denied', refusals=[NO_WRITE]),
    "two refused": failing(
        "HPAFailed", 'HorizontalPodAutoscaler "llm": x; Deployment "llm": denied',
        refusals=[Refusal("HorizontalPodAutoscaler", "llm", "x"), NO_WRITE],
    ),
    "claim refused": failing(
        "Failed", 'PersistentVolumeClaim "p": x', refusals=[Refusal("PersistentVolumeClaim", "p", "x")]
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", NOT_READY_CASES.values(), ids=NOT_READY_CASES)
def test_assess_not_ready(make, case):
    case = DEFAULT | case
    cr = make.cr(case["spec"])
    result = assess(around(make, cr, **case["live"]), case["outcome"])
    assert result.status["state"] == case["state"]
    assert result.status["conditions"] == case["wanted"]
    assert "model" not in result.status
    assert (result.requeue.after, result.error) == (case["after"], case["error"])


def test_assess_replicas_not_a_number(make):
    cr = make.cr()
    result = assess(around(make, cr, availableReplicas=["1"]), Outcome(failure="x"))
    assert "availableReplicas" not in result.status


def test_assess_rollout_event(make):
    cr = make.cr(status=READY)
    result = assess(around(make, cr, availableReplicas=0), Outcome())
    assert result.events == [Event("Normal", "NotReady", f"NIMService llm not ready, msg: {PART}")]


PODS = "Pod/ns/*?app=llm"
CRASH = {"terminated": {"reason": "Error", "exitCode": 3}}
CODE_31 = {"terminated": {"reason": "Error", "exitCode": 31}}
CRASHED = "Pod llm-1, container llm-ctr: ended with Error, exit code 3"
NOT_PULLED = "Pod llm-1, container llm-ctr: ErrImagePull"
TRY = {"waiting": {"reason": "ErrImagePull", "message": "denied"}}
BACK_OFF = {"waiting": {"reason": "ImagePullBackOff", "message": 'Back-off pulling image "x"'}}


def pods_in(state):
    container = {"name": "llm-ctr", "ready": False, "state": state}
    return {PODS: [{"metadata": {"name": "llm-1"}, "status": {"containerStatuses": [container]}}]}


@pytest.mark.parametrize(
    ("deployment", "answers", "message"),
    [
        pytest.param({}, {}, PART, id="not read"),
        pytest.param({}, {PODS: []}, PART, id="no pods"),
        pytest.param({}, pods_in({"running": {}}), PART, id="starting"),
        pytest.param({}, pods_in(CRASH), PART + CRASHED, id="crash"),
        pytest.param({"conditions": STUCK}, pods_in(CRASH), f"{DEADLINE}: {CRASHED}", id="stuck"),
        pytest.param(
            {"observedGeneration": 2},
            pods_in(CRASH),
            'Waiting for deployment "llm" spec update to be observed...\n',
            id="pods of an older spec",
        ),
        pytest.param({"availableReplicas": 1}, pods_in(CRASH), ROLLED, id="Ready"),
    ],
)
def test_assess_unready_pods(make, deployment, answers, message):
    cr = make.cr()
    live = make.rolled_out(cr, **({"availableReplicas": 0} | deployment))
    observed = make.observe(live, make.with_address(cr), **answers, **{MODELS: NAMED})
    result = assess(NIMServiceApp(cr, observed), Outcome())
    assert result.status["conditions"][0]["message"] == message


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        pytest.param(TRY, BACK_OFF, f"{NOT_PULLED}: denied", id="less"),
        pytest.param(BACK_OFF, TRY, f"{NOT_PULLED}: denied", id="more"),
        pytest.param(TRY, CRASH, CRASHED, id="something else"),
        pytest.param(CODE_31, CRASH, CRASHED, id="a shorter exit code"),
        pytest.param(TRY, {"running": {}}, "", id="nothing"),
    ],
)
def test_assess_stable_pod_reason(make, before, after, message):
    cr = make.cr()
    for state in (before, after):
        observed = make.observe(make.rolled_out(cr, availableReplicas=0), **pods_in(state))
        result = assess(NIMServiceApp(cr, observed), Outcome())
        cr = make.cr(status=result.status)
    assert [item["message"] for item in result.status["conditions"]] == [PART + message] * 3


def test_assess_unready_pods_of_groups(make):
    cr = make.cr(GROUPS)
    (pods,) = pods_in(CRASH).values()
    live = {
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "llm-lws"},
        "spec": {"replicas": 1},
        "status": {"replicas": 1},
    }
    key = "Pod/ns/*?leaderworkerset.sigs.k8s.io/name=llm-lws"
    result = assess(make.app(cr, live, **{key: pods}), Outcome())
    told = result.status["conditions"][0]["message"]
    assert told == f'leaderworkerset "llm-lws" is not ready: {CRASHED}'


def test_assess_cache_in_progress(make):
    cr = make.cr(CACHE)
    result = assess(around(make, cr, make.cache(status={"state": "InProgress"})), Outcome())
    text = "NIMCache cache not ready"
    assert result.status["conditions"] == not_ready("NIMCacheNotReady", text)
    assert result.events == [
        Event("Normal", "NotReady", f"NIMService llm not ready yet, msg: {text}")
    ]
    assert (result.requeue.after, result.requeue.slow) == (True, True)


@pytest.mark.parametrize(
    ("told", "seen", "looks"),
    [
        pytest.param(None, {"state": "InProgress"}, (True, True), id="not told yet"),
        pytest.param("cache=InProgress", {"state": "InProgress"}, (True, True), id="as told"),
        pytest.param(
            "cache=Ready", {"state": "InProgress"}, (True, False), id="it is Ready by now"
        ),
        pytest.param("cache=Ready", {}, (True, False), id="Ready, seen before its first pass"),
        pytest.param("other=Ready", {"state": "InProgress"}, (True, True), id="another cache"),
        pytest.param("cache=Ready", {"state": "Failed"}, (True, False), id="failed before"),
        pytest.param("cache=Failed", {"state": "Failed"}, (False, False), id="failed"),
        pytest.param(None, None, (False, False), id="not there"),
    ],
)
def test_assess_requeue_by_cache_state(make, told, seen, looks):
    """The NIMCache is read through the runtime's cache; without a requeue the service could wait forever."""
    noted = {"annotations": {"nimops.nim/cache-state": told}} if told else {}
    cr = make.cr(CACHE, **noted)
    live = [] if seen is None else [make.cache(status=seen)]
    result = assess(around(make, cr, *live), Outcome())
    assert (result.requeue.after, result.requeue.slow) == looks


@pytest.mark.parametrize(
    ("spec", "outcome", "reason"),
    [
        pytest.param(CACHE, Outcome(), "NIMCacheNotFound", id="the cache vanished"),
        pytest.param({}, Outcome(failure="x"), "Failed", id="bad spec"),
        pytest.param({}, Outcome(refusals=[NO_WRITE]), "DeploymentFailed", id="refused"),
    ],
)
def test_assess_ready_then_failed(make, spec, outcome, reason):
    cr = make.cr(spec, READY)
    result = assess(around(make, cr, model=None), outcome)
    assert result.status["state"] == "Failed"
    assert result.status["conditions"][1]["reason"] == reason
    assert (result.status["model"], result.status["availableReplicas"]) == (MODEL, 1)
    assert {event.kind for event in result.events} == {"Warning"}


def test_assess_error_events(make):
    result = assess(make.app(), Outcome(failure="x"))
    text = "NIMService llm failed, msg: x"
    assert result.events == [
        Event("Warning", "Failed", text),
        Event("Warning", "ReconcileFailed", text),
    ]


def test_assess_ready_model_silent(make):
    cr = make.cr(status=READY, generation=3)
    result = assess(around(make, cr, model=DOWN), Outcome())
    assert result.status == READY | {
        "conditions": [
            *IS_READY,
            {"type": "Reconciling", "status": "True", "reason": "NotReady", "message": WAITING},
        ]
    }
    assert (result.events, result.requeue.after) == ([], True)


def picker(cr, replicas=1, **status):
    metadata = {"name": f"{cr['metadata']['name']}-epp"}
    spec = {"replicas": replicas}
    return {"kind": "Deployment", "metadata": metadata, "spec": spec, "status": status}


EPP = {"expose": {"router": {"eppConfig": {"config": {}}}}}
EPP_UP = {"updatedReplicas": 1, "availableReplicas": 1}
EPP_PART = (
    'Endpoint picker: Waiting for deployment "llm-epp" rollout to finish: 0 of 1 updated replicas are'
    " available..."
)


PICKER = {
    "up": (EPP_UP, None, False),
    "starting": (EPP_UP | {"availableReplicas": 0}, ("Reconciling", "NotReady", EPP_PART), True),
    "stuck": (
        {"conditions": STUCK},
        (
            "Stalled",
            "ProgressDeadlineExceeded",
            'Endpoint picker: deployment "llm-epp" exceeded its progress deadline',
        ),
        False,
    ),
    "asleep": (
        {"replicas": 0},
        ("Stalled", "NotReady", 'Endpoint picker: deployment "llm-epp" is scaled down'),
        False,
    ),
}


@pytest.mark.parametrize(("live", "condition", "is_requeued"), PICKER.values(), ids=PICKER)
@pytest.mark.parametrize("status", [None, READY], ids=["new", "settled"])
def test_assess_picker(make, status, live, condition, is_requeued):
    cr = make.cr(EPP, status)
    result = assess(around(make, cr, picker(cr, **live)), Outcome())
    more = [condition] if condition else []
    ready = conditions(("True", "Ready", ROLLED), ("False", "Ready", ""), *more)
    assert {"observedGeneration": 2} | result.status == READY | {"conditions": ready}
    assert (result.requeue.after, result.error, len(result.events)) == (
        is_requeued,
        "",
        0 if status else 1,
    )


def test_assess_picker_without_pods(make):
    cr = make.cr(EPP)
    result = assess(around(make, cr, picker(cr), availableReplicas=0), Outcome())
    assert result.status["conditions"] == not_ready("NotReady", PART)


def test_assess_written_deployment(make):
    """Right after an update, the Deployment's status still describes the old rollout."""
    cr = make.cr(status=READY)
    written = copy.deepcopy(make.rolled_out(make.cr()))
    written["metadata"]["generation"] = 4
    written["spec"]["template"]["spec"]["containers"][0]["image"] = "another"
    result = assess(around(make, cr), Outcome(written={"Deployment/ns/llm": written}))
    assert result.status["state"] == "NotReady"
    assert "spec update to be observed" in result.status["conditions"][0]["message"]
    assert result.status["model"] == MODEL


def test_assess_ready_pods_unchanged(make):
    """A takeover changes the Deployment, but not its pods."""
    cr = make.cr(status=READY)
    written = copy.deepcopy(make.rolled_out(cr))
    written["metadata"]["generation"] = 4
    written["spec"]["progressDeadlineSeconds"] = 900
    outcome = Outcome(written={"Deployment/ns/llm": written})
    assert assess(around(make, cr), outcome).status["state"] == "Ready"
    unobserved = make.observe(written, make.with_address(cr))
    result = assess(NIMServiceApp(cr, unobserved), Outcome())
    assert result.status["state"] == "Ready"
    pending = assess(NIMServiceApp(make.cr(), unobserved), Outcome())
    assert pending.status["state"] == "NotReady"


@pytest.mark.parametrize("kind", ["InferenceService", "LeaderWorkerSet"])
def test_assess_ready_pods_unchanged_other_kinds(make, kind):
    on_kserve = kind == "InferenceService"
    cr = make.cr({"inferencePlatform": "kserve"} if on_kserve else GROUPS, READY)

    def live(generation):
        if on_kserve:
            return inference("True", generation=generation, **ADDRESSES)
        return live_groups(generation, **AVAILABLE)

    written = {f"{kind}/ns/{live(2)['metadata']['name']}": live(2)}
    app = make.app(cr, live(1)) if on_kserve else around_groups(make, cr, live(1))
    result = assess(app, Outcome(written=written))
    assert result.status["state"] == "Ready"


def test_assess_service_name_taken(make):
    cr = make.cr({"expose": {"service": {"name": "front"}}})
    taken = {"kind": "Service", "metadata": {"name": "front"}}
    observed = make.observe(taken, make.with_address(cr), make.rolled_out(cr), **{MODELS: NAMED})
    result = assess(NIMServiceApp(cr, observed), Outcome())
    assert result.status["state"] == "Ready"
    assert result.status["model"]["clusterEndpoint"] == "10.0.0.1:8000"
    (stalled,) = (item for item in result.status["conditions"] if item["type"] == "Stalled")
    assert (stalled["status"], stalled["reason"]) == ("True", "ServiceFailed")
    assert 'Service "front" exists and was not created for this NIMService' in stalled["message"]


def test_assess_scaled_down(make):
    cr = make.cr({"replicas": 0})
    result = assess(make.app(cr, make.rolled_out(cr)), Outcome())
    text = 'deployment "llm" is scaled down'
    assert result.status["conditions"] == conditions(
        ("False", "ScaledToZero", text), ("False", "Ready", text)
    )
    assert ("availableReplicas" in result.status, result.requeue.after) == (False, False)
    assert ("replicas" in result.status, result.status["selector"]) == (False, "app=llm")


@pytest.mark.parametrize(
    ("stand", "reason"),
    [
        pytest.param({"Stopped": "True", "PredictorReady": "False"}, "ScaledToZero", id="stopped"),
        pytest.param({"PredictorReady": "False"}, "ScaledToZero", id="not ready"),
        pytest.param({}, "ScaledToZero", id="never ready"),
        pytest.param({"PredictorReady": "True"}, "NotReady", id="KServe has not stopped it yet"),
    ],
)
def test_assess_scaled_down_kserve(make, stand, reason):
    cr = make.cr({"replicas": 0, "inferencePlatform": "kserve"})
    live = {
        "kind": "InferenceService",
        "metadata": {
            "name": "llm",
            "namespace": "ns",
            "annotations": {"serving.kserve.io/stop": "true"},
            "ownerReferences": [owner_reference(cr)],
        },
        "status": {
            "deploymentMode": "Standard",
            "conditions": [{"type": kind, "status": status} for kind, status in stand.items()],
        },
    }
    status = assess(make.app(cr, live), Outcome()).status
    assert (status["state"], status["conditions"][0]["reason"]) == ("NotReady", reason)
    kinds = [item["type"] for item in status["conditions"]]
    assert ("Reconciling" in kinds) == (reason != "ScaledToZero")


@pytest.mark.parametrize(
    ("kind", "finalizers", "text"),
    [
        ("Service", [], 'waiting for Service "llm" to be deleted'),
        (
            "Deployment", ["a/b"], 'waiting for Deployment "llm" to be deleted (finalizers: a/b)',
        ),
    ],
)  # fmt: skip
def test_assess_child_being_deleted(make, kind, finalizers, text):
    cr = make.cr(None, READY)
    live = {item["kind"]: item for item in (make.rolled_out(cr), make.with_address(cr))}
    live[kind]["metadata"] |= {"deletionTimestamp": "now", "finalizers": finalizers}
    status = assess(make.app(cr, *live.values()), Outcome()).status
    (found,) = (item for item in status["conditions"] if item["type"] == "Reconciling")
    assert (found["reason"], found["message"]) == ("Terminating", text)


def test_assess_pool_being_deleted(make):
    cr = make.cr(EPP, READY)
    pool = {
        "kind": "InferencePool",
        "metadata": {
            "name": "llm",
            "namespace": "ns",
            "ownerReferences": [owner_reference(cr)],
            "deletionTimestamp": "now",
        },
    }
    status = assess(around(make, cr, picker(cr, **EPP_UP), pool, model=None), Outcome()).status
    (found,) = (item for item in status["conditions"] if item["type"] == "Reconciling")
    assert found["message"] == 'waiting for InferencePool "llm" to be deleted'


def test_assess_domain_being_deleted(make):
    spec = {"multiNode": {"parallelism": {"pipeline": 2}, "computeDomain": {"create": True}}}
    cr = make.cr(spec, READY)
    domain = {
        "kind": "ComputeDomain",
        "metadata": {
            "name": "llm",
            "namespace": "ns",
            "ownerReferences": [owner_reference(cr)],
            "deletionTimestamp": "now",
            "finalizers": ["resource.nvidia.com/computeDomain"],
        },
    }
    status = assess(make.app(cr, domain), Outcome()).status
    (found,) = (item for item in status["conditions"] if item["type"] == "Reconciling")
    assert found["message"] == (
        'waiting for ComputeDomain "llm" to be deleted (finalizers:'
        " resource.nvidia.com/computeDomain): set replicas: 0 to release it"
    )


@pytest.mark.parametrize(
    ("profiles", "env", "is_told"),
    [
        (["a", "b"], [], True),
        (["a"], [], False),
        (["a", "b"], [{"name": "NIM_MODEL_PROFILE", "value": "a"}], False),
    ],
)
def test_assess_profile_not_named(make, profiles, env, is_told):
    cr = make.cr({"storage": {"nimCache": {"name": "cache"}}, "env": env})
    status = {"state": "Ready", "pvc": "p", "profiles": [{"name": name} for name in profiles]}
    cache = make.cache({"ngc": {"modelPuller": "registry.example/nim:1.0"}}, status)
    found = around(make, cr, cache)
    events = [(event.kind, event.reason) for event in assess(found, Outcome()).events]
    assert (("Normal", "ProfileNotNamed") in events) == is_told


def test_assess_scaled_down_without_cache(make):
    """S1: a service is off although its cache is not ready."""
    live = make.rolled_out(make.cr({"replicas": 0}))
    cr = make.cr({"replicas": 0, "storage": {"nimCache": {"name": "gone"}}})
    status = assess(make.app(cr, live), Outcome()).status
    assert status["conditions"][0]["reason"] == "ScaledToZero"


@pytest.mark.parametrize(
    "change", [{}, {"multiNode": {"parallelism": {"pipeline": 2}}}, {"inferencePlatform": "kserve"}]
)
def test_assess_off_from_the_start(make, change):
    """A service that never had a workload is off as well, and its pipeline does not wait for it."""
    cr = make.cr({"replicas": 0, "storage": {"nimCache": {"name": "gone"}}} | change)
    status = assess(make.app(cr), Outcome()).status
    found = {item["type"]: item["reason"] for item in status["conditions"]}
    assert found["Ready"] == "ScaledToZero"
    assert "Reconciling" not in found
    on = assess(make.app(make.cr(cr["spec"] | {"replicas": 1})), Outcome()).status
    assert on["conditions"][0]["reason"] != "ScaledToZero"


def test_assess_endpoint_changed(make):
    gateway = {"gateway": {"name": "g", "namespace": "gw"}, "hostDomainName": "example.com"}
    cr = make.cr({"expose": {"router": gateway}}, READY)
    result = assess(around(make, cr, model=None), Outcome())
    assert result.status["model"] == MODEL | {"externalEndpoint": "llm.ns.example.com"}


def test_assess_foreign_conditions(make):
    other = {
        "type": "Other",
        "status": "True",
        "reason": "x",
        "message": "",
        "lastTransitionTime": "t",
    }
    stray = other | {"type": "NIM_CACHE_PVC_CREATED"}
    stalled = other | {"type": "Stalled"}
    cr = make.cr(status=READY | {"conditions": [stray, other, *IS_READY, stalled]})
    result = assess(around(make, cr, model=None), Outcome())
    assert result.status["conditions"] == [other, *IS_READY]


def test_assess_replicas_not_read(make):
    result = assess(make.app(make.cr(status=READY)), Outcome(failure="the API is away"))
    assert result.status["availableReplicas"] == 1


def test_assess_replicas_missing_workload(make):
    cr = make.cr(CACHE, READY)
    result = assess(make.app(cr, **{"Deployment/ns/llm": None}), Outcome())
    assert "availableReplicas" not in result.status


OLD_ROLLING = {"state": "NotReady", "conditions": not_ready("NotReady", "1 of 9")}
OLD_FAILED = {"state": "Failed", "conditions": has_failed("Failed", "x")}


@pytest.mark.parametrize(
    ("status", "outcome", "told"),
    [
        pytest.param(OLD_ROLLING, Outcome(), 0, id="the rollout goes on"),
        pytest.param(READY, Outcome(), 1, id="it was ready"),
        pytest.param(None, Outcome(), 1, id="it is new"),
        pytest.param(OLD_FAILED, Outcome(failure="x"), 0, id="the same failure"),
        pytest.param(OLD_FAILED, Outcome(failure="y"), 2, id="another failure"),
        pytest.param(OLD_FAILED, Outcome(), 1, id="the failure is over"),
    ],
)
def test_assess_event_per_change(make, status, outcome, told):
    cr = make.cr(status=status)
    assert len(assess(around(make, cr, availableReplicas=0), outcome).events) == told


def test_assess_unchanged(make):
    """A second pass computes the same status, with the same times."""
    cr = make.cr()
    first = assess(around(make, cr), Outcome()).status
    written = first | {
        "observedGeneration": 2,
        "conditions": stamp(first["conditions"], None, "t1", 2),
    }
    cr = make.cr(status=written)
    second = assess(around(make, cr, model=None), Outcome()).status
    assert (
        second | {"conditions": stamp(second["conditions"], written["conditions"], "t2", 2)}
        == written
    )


URL, INNER = "http://llm.example.com", "http://llm-predictor.ns.svc.cluster.local"
ADDRESSES = {"url": URL, "address": {"url": INNER}}
ASKED = {f"{INNER}/v1/models": NAMED}
ON_KSERVE = 'Waiting for InferenceService "llm" '


def inference(*ready, generation=1, **status):
    """The live InferenceService; ``ready``: status and message of its PredictorReady."""
    fields = dict(zip(("status", "message"), ready, strict=False))
    result = [{"type": "PredictorReady"} | fields] if ready else []
    return {
        "kind": "InferenceService",
        "metadata": {
            "name": "llm",
            "namespace": "ns",
            "generation": generation,
            "ownerReferences": [{"controller": True, "uid": "u1"}],
        },
        "status": {"deploymentMode": "Standard", "conditions": result} | status,
    }


@pytest.mark.parametrize(
    ("live", "answers", "message"),
    [
        pytest.param(None, {}, f"{ON_KSERVE}creation", id="not made"),
        pytest.param(inference(), {}, f"{ON_KSERVE}reporting Predictor readiness", id="new"),
        pytest.param(inference("False", "no GPU"), {}, "no GPU", id="not ready"),
        pytest.param(
            inference("True"),
            {},
            "Waiting for the model: external endpoint not available, nimservice llm",
            id="no URL",
        ),
        pytest.param(
            inference("True", url=URL),
            {},
            "Waiting for the model: cluster endpoint not available, nimservice llm",
            id="no address",
        ),
        pytest.param(
            inference("True", **ADDRESSES),
            {f"{INNER}/v1/models": DOWN},
            f"Waiting for the model: GET {INNER}/v1/models: connection refused",
            id="a headless Service",
        ),
    ],
)
def test_assess_kserve_not_ready(make, live, answers, message):
    cr = make.cr({"inferencePlatform": "kserve"})
    result = assess(make.app(cr, *filter(None, [live]), **answers), Outcome())
    assert result.status["conditions"] == not_ready("NotReady", message)
    yet = "" if message.startswith("Waiting for the model") else " yet"
    text = f"NIMService llm not ready{yet}, msg: {message}"
    assert result.events == [Event("Normal", "NotReady", text)]
    assert (result.requeue.after, result.error) == (True, "")


@pytest.mark.parametrize(
    ("mode", "more"),
    [
        pytest.param("Standard", [], id="standard"),
        pytest.param(
            "Knative",
            [
                Event(
                    "Warning",
                    "Ignored",
                    "KServe runs in knative mode, where spec.replicas has no effect",
                )
            ],
            id="Knative, O-62",
        ),
    ],
)
def test_assess_kserve_ready(make, mode, more):
    cr = make.cr({"inferencePlatform": "kserve"})
    copies = {"copies": {"totalCopies": 2}}
    live = inference("True", "", deploymentMode=mode, modelStatus=copies, **ADDRESSES)
    result = assess(make.app(cr, live, **ASKED), Outcome())
    model = {"name": "m", "clusterEndpoint": INNER, "externalEndpoint": URL}
    pair = conditions(("True", "Ready", ""), ("False", "Ready", ""))
    counts = {"replicas": 2, "availableReplicas": 2}
    selector = {"selector": "serving.kserve.io/inferenceservice=llm"}
    wanted = {"state": "Ready", "conditions": pair, "model": model} | counts | selector
    assert result.status == wanted
    assert result.events == [Event("Normal", "Ready", "NIMService llm ready, msg: "), *more]
    settled = make.cr(cr["spec"], result.status | {"observedGeneration": 2})
    assert assess(make.app(settled, live), Outcome()).events == []


def test_assess_kserve_changed(make):
    """The status still describes the previous predictor."""
    cr = make.cr({"inferencePlatform": "kserve"}, READY)
    changed = inference("True", generation=2, **ADDRESSES)
    written = {"InferenceService/ns/llm": changed | {"spec": {"predictor": {"minReplicas": 2}}}}
    result = assess(make.app(cr, inference("True", **ADDRESSES)), Outcome(written=written))
    assert result.status["state"] == "NotReady"


GROUPS = {"multiNode": {"parallelism": {"pipeline": 2}}}
DOMAIN = {"multiNode": GROUPS["multiNode"] | {"computeDomain": {"create": True}}}
AVAILABLE = {
    "conditions": [{"type": "Available", "status": "True"}], "replicas": 1, "readyReplicas": 1,
}  # fmt: skip
OF_LEADERS = {"selector": "app=llm-lws,nim-llm-role=leader"}
SET_READY = 'leaderworkerset "llm-lws" is ready'
SET_NOT_READY = 'leaderworkerset "llm-lws" is not ready'


def live_groups(generation=1, **status):
    return {
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "llm-lws", "generation": generation},
        "spec": {"replicas": 1},
        "status": status,
    }


def live_domain(**status):
    return {"kind": "ComputeDomain", "metadata": {"name": "llm"}, "status": status}


def around_groups(make, cr, *live):
    """The context of ``cr`` in a cluster with its Service and these objects."""
    return make.app(cr, make.with_address(cr), *live, **{MODELS: NAMED})


def test_assess_groups_ready(make):
    cr = make.cr(GROUPS)
    result = assess(around_groups(make, cr, live_groups(**AVAILABLE)), Outcome())
    ready = conditions(("True", "Ready", SET_READY), ("False", "Ready", ""))
    expected = READY | {"conditions": ready} | OF_LEADERS
    assert {"observedGeneration": 2} | result.status == expected
    assert result.requeue.after is False


def test_assess_groups_not_ready(make):
    cr = make.cr(GROUPS, status=READY)
    result = assess(around_groups(make, cr, live_groups()), Outcome())
    assert result.status["conditions"] == not_ready("NotReady", SET_NOT_READY)
    assert "availableReplicas" not in result.status
    assert result.status["model"] == MODEL
    assert result.requeue.after is True


@pytest.mark.parametrize(
    ("generation", "state"),
    [
        pytest.param(2, "NotReady", id="its spec changed"),
        pytest.param(1, "Ready", id="labels or owners"),
    ],
)
def test_assess_groups_written(make, generation, state):
    """The status of groups has no observedGeneration."""
    cr = make.cr(GROUPS)
    written = {"LeaderWorkerSet/ns/llm-lws": live_groups(generation, **AVAILABLE)}
    result = assess(around_groups(make, cr, live_groups(**AVAILABLE)), Outcome(written=written))
    assert result.status["state"] == state


NO_MATCH = 'no matches for kind "{}" in version "x/v1"'


MISSING_API = {
    "LWS": (
        "LeaderWorkerSet", "LeaderWorkerSetFailed",
        "install LeaderWorkerSet (sigs.k8s.io/lws), for spec.multiNode",
    ),
    "ComputeDomain": (
        "ComputeDomain", "ComputeDomainFailed",
        "install NVIDIA's DRA driver for GPUs, for spec.multiNode.computeDomain",
    ),
    "InferencePool": (
        "InferencePool", "InferencePoolFailed",
        "install the Gateway API inference extension, for spec.expose.router.eppConfig",
    ),
    "KServe": (
        "InferenceService", "DeploymentFailed",
        "install KServe, for spec.inferencePlatform: kserve",
    ),
    "no hint for others": ("ServiceMonitor", "ServiceMonitorFailed", ""),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "reason", "hint"), MISSING_API.values(), ids=MISSING_API)
def test_assess_missing_api(make, kind, reason, hint):
    refusal = Refusal(kind, "llm", NO_MATCH.format(kind))
    result = assess(make.app(GROUPS), Outcome(refusals=[refusal]))
    text = f'{kind} "llm": {refusal.message}' + (f": {hint}" if hint else "")
    assert result.status["conditions"] == has_failed(reason, text)
    assert result.error == text


@pytest.mark.parametrize(
    ("kind", "hint"),
    [
        pytest.param(
            "LeaderWorkerSet",
            ": its release on this cluster is too old, upgrade LeaderWorkerSet (sigs.k8s.io/lws),"
            " for spec.multiNode",
            id="one release too old",
        ),
        pytest.param("Ingress", "", id="of Kubernetes itself"),
    ],
)
def test_assess_old_api(make, kind, hint):
    """Server-side apply refuses the unknown field instead of dropping it."""
    text = '.spec.a.resources.claims[name="c"].request: field not declared in schema'
    result = assess(
        make.app(GROUPS),
        Outcome(refusals=[Refusal(kind, "llm", text)]),
    )
    assert result.error == f'{kind} "llm": {text}{hint}'


@pytest.mark.parametrize(
    ("reported", "shown", "is_requeued"),
    [
        pytest.param({}, {}, True, id="not reported"),
        pytest.param({"status": "NotReady"}, {"status": "NotReady"}, True, id="not ready"),
        pytest.param(
            {"status": "Ready", "nodes": [{"name": "a", "cliqueID": "c", "status": "Ready"}]},
            {"status": "Ready", "nodes": [{"name": "a", "cliqueID": "c", "status": "Ready"}]},
            False,
            id="ready",
        ),
    ],
)
def test_assess_domain_status(make, reported, shown, is_requeued):
    """No watch reports the domain's nodes, so the service polls until all are ready."""
    cr = make.cr(DOMAIN)
    live = (live_groups(**AVAILABLE), live_domain(**reported))
    result = assess(around_groups(make, cr, *live), Outcome())
    assert result.status["state"] == "Ready"
    assert result.status["computeDomainStatus"] == {"name": "llm"} | shown
    assert result.requeue.after is is_requeued


@pytest.mark.parametrize(
    ("spec", "answers", "kept"),
    [
        pytest.param(DOMAIN, {}, True, id="could not be read"),
        pytest.param(GROUPS, {}, False, id="switched off"),
        pytest.param({}, {}, False, id="one node"),
    ],
)
def test_assess_domain_status_not_read(make, spec, answers, kept):
    cr = make.cr(spec, READY | {"computeDomainStatus": {"name": "llm", "status": "Ready"}})
    result = assess(make.app(cr, **answers), Outcome(failure="the API is away"))
    assert ("computeDomainStatus" in result.status) is kept


GOES = (
    'PersistentVolumeClaim "llm-pvc" is also deleted, with the models, unless its volume has'
    " the reclaim policy Retain"
)
KEPT = 'PersistentVolumeClaim "llm-pvc" is kept: it was not created for this NIMService'
OWNER, OTHER = {"uid": "u1", "controller": True}, {"uid": "u2"}


@pytest.mark.parametrize(
    ("storage", "owners", "wanted"),
    [
        pytest.param({"pvc": {"create": True}}, [OWNER], GOES, id="made by the service"),
        pytest.param({"pvc": {"create": True}}, None, KEPT, id="was there before"),
        pytest.param({"pvc": {"create": True}}, [OTHER], KEPT, id="foreign"),
        pytest.param({"pvc": {"create": True}}, [OWNER, OTHER], KEPT, id="shared"),
        pytest.param({"pvc": {"name": "llm-pvc"}}, [OWNER], None, id="named: not looked at"),
        pytest.param({"emptyDir": {}}, [OWNER], None, id="no claim"),
        pytest.param(
            {"nimCache": {"name": "c"}, "pvc": {"create": True}}, [OWNER], None, id="a cache"
        ),
    ],
)
def test_assess_on_deletion(make, storage, owners, wanted):
    claim = {"kind": "PersistentVolumeClaim", "metadata": {"name": "llm-pvc"}}
    claim["metadata"] |= {"ownerReferences": owners} if owners else {}
    cr = make.cr({"storage": storage}, {"onDeletion": "as it was"})
    assert assess(make.app(cr, claim), Outcome()).status.get("onDeletion") == wanted


def test_assess_on_deletion_new_claim(make):
    claim = {"kind": "PersistentVolumeClaim", "metadata": {"name": "llm-pvc"}}
    claim["metadata"]["ownerReferences"] = [OWNER]
    outcome = Outcome(written={"PersistentVolumeClaim/ns/llm-pvc": claim})
    cr = make.cr({"storage": {"pvc": {"create": True}}})
    assert assess(make.app(cr), Outcome()).status.get("onDeletion") is None
    assert assess(make.app(cr), outcome).status["onDeletion"] == GOES


@pytest.mark.parametrize("status", [None, READY | {"observedGeneration": 1}], ids=["new", "Ready"])
@pytest.mark.parametrize("late", [False, True])
def test_assess_requeue_slow_model(make, status, late):
    """Each slow call blocks a worker of the operator for seconds; a refused connection does not."""
    cr = make.cr(status=status)
    result = assess(around(make, cr, model=DOWN | {"late": late}), Outcome())
    assert (result.requeue.after, result.requeue.slow) == (True, late)


@pytest.mark.parametrize("status", [None, READY | {"observedGeneration": 1}], ids=["new", "Ready"])
def test_assess_slow_registry(make, status):
    """A wrong layout would require another rollout."""
    cr = make.cr(status=status)
    observed = make.observe(**{f"protocol/{image_reference(cr['spec']['image'])}": LATER})
    children = {child.manifest["kind"] for child in desired(NIMServiceApp(cr, observed)).children}
    assert "Service" in children
    assert "Deployment" not in children
    result = assess(NIMServiceApp(cr, observed), Outcome())
    assert (result.status["state"], result.requeue.after, result.requeue.slow) == (
        "NotReady",
        True,
        True,
    )
    ready = result.status["conditions"][0]
    assert ready["reason"] == "RegistryAwaited"
    assert "which is slow to answer" in ready["message"]


def owned_by(kind, **more):
    owner = {"kind": kind, "name": "rag", "uid": "u0", "controller": True} | more
    return {"ownerReferences": [owner]}


@pytest.mark.parametrize(
    ("owners", "status", "wakes"),
    [
        pytest.param(owned_by("NIMPipeline"), None, True, id="new"),
        pytest.param(owned_by("NIMPipeline"), READY | {"state": "Failed"}, True, id="changed"),
        pytest.param(owned_by("NIMPipeline"), READY, False, id="as before"),
        pytest.param(owned_by("NIMPipeline", controller=False), None, False, id="no controller"),
        pytest.param(owned_by("Other"), None, False, id="another owner"),
        pytest.param({}, None, False, id="no owner"),
    ],
)
def test_assess_triggers_pipeline(make, owners, status, wakes):
    cr = make.cr(status=status, **owners)
    result = assess(around(make, cr), Outcome())
    stamp = Trigger("NIMPipeline", "rag", "nimops.nim/service-state", "llm=Ready")
    assert result.triggers == ([stamp] if wakes else [])
