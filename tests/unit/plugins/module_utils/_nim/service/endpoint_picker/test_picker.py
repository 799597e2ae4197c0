# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The objects of an endpoint picker: creation, reads, deletion and readiness."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import key_of
from ansible_collections.nimops.nim.plugins.module_utils._engine.reads import ReadPresence
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.app import NIMServiceApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.desired import desired
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.endpoint_picker.picker import (
    picker_leftovers,
    picker_readiness,
    picker_reads,
    why_picker_unready,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.reads import reads

CONFIG, DEPLOYMENT = "ConfigMap/ns/llm-epp-config", "Deployment/ns/llm-epp"
ACCOUNT = "ServiceAccount/ns/llm-epp"
ALL = [
    ACCOUNT, "Role/ns/llm-epp", "RoleBinding/ns/llm-epp", CONFIG, "Service/ns/llm-epp", DEPLOYMENT,
    "InferencePool/ns/llm",
]  # fmt: skip
WITHOUT_CONFIG = [key for key in ALL if key != CONFIG]
MINE = "ConfigMap/ns/mine"


def picker(**fields):
    given = {"containerSpec": {"image": {"repository": "r", "tag": "1"}}, **fields}
    return {"expose": {"router": {"eppConfig": given}}}


def by_name(name="mine"):
    return picker(configMapRef={"name": name, "key": "k"})


INLINE = picker(config={"plugins": [], "schedulingProfiles": []})
KSERVE = {"inferencePlatform": "kserve"}
NO_CACHE = {"storage": {"nimCache": {"name": "none"}}}


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        pytest.param({}, [], id="none"),
        pytest.param(INLINE, ALL, id="config"),
        pytest.param(by_name(), WITHOUT_CONFIG, id="config of the user"),
        pytest.param(INLINE | NO_CACHE, ALL, id="before the cache is ready"),
    ],
)
def test_picker_children(make, spec, wanted):
    made = [child.manifest for child in desired(make.app(spec)).children]
    assert [key_of(item) for item in made if key_of(item) in ALL] == wanted
    for item in made:
        assert item["metadata"]["labels"]["app.kubernetes.io/part-of"] == "nim-service"
        assert [owner["uid"] for owner in item["metadata"]["ownerReferences"]] == ["u1"]


def test_picker_children_binding(make):
    made = [child.manifest for child in desired(make.app(INLINE)).children]
    (binding,) = (item for item in made if key_of(item) == "RoleBinding/ns/llm-epp")
    assert binding["roleRef"]["name"] == "llm-epp"
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "llm-epp", "namespace": "ns"}]


def test_picker_children_name_conflict(make):
    spec = {"expose": INLINE["expose"] | {"service": {"name": "llm-epp"}}}
    with pytest.raises(NimError, match=r"spec\.expose\.service\.name: llm-epp is") as raised:
        desired(make.app(spec))
    assert raised.value.reason == "ServiceFailed"


NEW = None
SETTLED = {"state": "Ready", "observedGeneration": 2}
ASLEEP = SETTLED | {"state": "NotReady"}
CHANGED = SETTLED | {"observedGeneration": 1}
TAKEN_OVER = {"state": "Ready"}
BROKEN = SETTLED | {"state": "Failed"}
THERE = {"metadata": {}}
FOUND = {ACCOUNT: THERE}
UP = {DEPLOYMENT: {"metadata": {"name": "llm-epp"}, "spec": {"replicas": 1}}}
UP[DEPLOYMENT]["status"] = {"updatedReplicas": 1, "availableReplicas": 1}
DOWN = {DEPLOYMENT: UP[DEPLOYMENT] | {"status": {}}}
STARTING = {DEPLOYMENT: UP[DEPLOYMENT] | {"status": {"replicas": 1, "updatedReplicas": 1}}}
PODS = "Pod/ns/*?app=llm-epp"


@pytest.mark.parametrize(
    ("spec", "status", "known", "wanted"),
    [
        pytest.param({}, NEW, {}, [], id="off: new"),
        pytest.param({}, SETTLED, {}, [], id="off: settled"),
        pytest.param({}, ASLEEP, {}, [], id="off: settled, not ready"),
        pytest.param({}, CHANGED, {}, [ACCOUNT], id="off: changed"),
        pytest.param({}, TAKEN_OVER, {}, [ACCOUNT], id="off: taken over"),
        pytest.param({}, CHANGED, {ACCOUNT: None}, [ACCOUNT], id="off: nothing found"),
        pytest.param({}, CHANGED, FOUND, ALL, id="off: found"),
        pytest.param({}, BROKEN, {}, ALL, id="off: failed"),
        pytest.param(INLINE, NEW, {}, ALL, id="on"),
        pytest.param(INLINE, SETTLED, UP, ALL, id="on: settled"),
        pytest.param(by_name(), SETTLED, UP, WITHOUT_CONFIG, id="by name: settled"),
        pytest.param(by_name(), SETTLED, {}, WITHOUT_CONFIG, id="by name: not known yet"),
        pytest.param(by_name(), SETTLED, DOWN, [*WITHOUT_CONFIG, MINE], id="by name: down"),
        pytest.param(INLINE, SETTLED, STARTING, [*ALL, PODS], id="on: starting"),
        pytest.param(
            by_name(), NEW, {DEPLOYMENT: None}, [*WITHOUT_CONFIG, MINE], id="by name: new"
        ),
        pytest.param(by_name(), CHANGED, UP, ALL, id="by name: changed"),
    ],
)
def test_picker_reads(make, spec, status, known, wanted):
    found = picker_reads(make.app(make.cr(spec, status), **known))
    assert [read.key for read in found] == wanted
    assert [read.key for read in found if isinstance(read, ReadPresence)] == wanted.count(MINE) * [
        MINE
    ]


def test_picker_reads_settled_service(make):
    found = [read.key for read in reads(make.app(make.cr(status=SETTLED)))]
    assert [key for key in found if "epp" in key or "InferencePool" in key] == []


def served(make, cr, generation, state="Ready"):
    """The resource after a change of its spec."""
    changed = make.cr(cr, {"state": state, "observedGeneration": generation - 1})
    changed["metadata"]["generation"] = generation
    return changed


def picker_objects(cluster):
    return sorted(key for key in cluster.objects if key in ALL)


@pytest.mark.parametrize(
    ("before", "after", "gone"),
    [
        pytest.param(INLINE, {}, ALL, id="off"),
        pytest.param(by_name(), {}, WITHOUT_CONFIG, id="off, config of the user"),
        pytest.param(INLINE, by_name(), [CONFIG], id="to a config of the user"),
        pytest.param(INLINE, by_name("llm-epp-config"), [], id="which may have this name"),
        pytest.param(by_name(), INLINE, [], id="to a config of ours"),
        pytest.param(INLINE, NO_CACHE, ALL, id="off, and no cache"),
    ],
)
def test_picker_leftovers_deleted(make, before, after, gone):
    cluster = make.cluster()
    cluster.run_pass(make.cr(before))
    had = picker_objects(cluster)
    cluster.objects[MINE] = {"kind": "ConfigMap", "metadata": {"name": "mine", "namespace": "ns"}}
    deleted = cluster.run_pass(served(make, after, 3))
    assert deleted == list(reversed(gone))
    wanted = set(had) - set(gone) | ({CONFIG} if after == INLINE else set())
    assert picker_objects(cluster) == sorted(wanted)
    assert MINE in cluster.objects
    settled = make.cr(after, SETTLED)
    assert cluster.run_pass(settled) == []


def test_picker_leftovers_retried(make):
    cluster = make.cluster()
    cluster.run_pass(make.cr(INLINE))
    del cluster.objects[ACCOUNT]
    assert cluster.run_pass(make.cr({}, CHANGED)) == []
    assert set(cluster.run_pass(make.cr({}, BROKEN))) == set(ALL) - {ACCOUNT}


def test_picker_leftovers_foreign(make):
    cluster = make.cluster()
    for key in ALL:
        kind, _namespace, name = key.split("/")
        cluster.objects[key] = {"kind": kind, "metadata": {"name": name, "namespace": "ns"}}
    assert cluster.run_pass(make.cr({}, CHANGED)) == []


def test_picker_leftovers_service_with_picker_name(make):
    spec = {"expose": {"service": {"name": "llm-epp"}}}
    cluster = make.cluster()
    cluster.run_pass(make.cr(INLINE))
    assert "Service/ns/llm-epp" not in cluster.run_pass(make.cr(spec, CHANGED))
    assert cluster.objects["Service/ns/llm-epp"]["spec"]["selector"] == {"app": "llm"}


def test_picker_leftovers_on_kserve(make):
    known = make.observe(**dict.fromkeys(ALL, THERE))
    found = picker_leftovers(NIMServiceApp(make.cr(INLINE | KSERVE, CHANGED), known))
    assert [f"{kind}/ns/{name}" for kind, name in reversed(found)] == ALL


STUCK = {"conditions": [{"type": "Progressing", "reason": "ProgressDeadlineExceeded"}]}
ELECTING = {"expose": {"router": {"eppConfig": {
    "containerSpec": {"image": {"repository": "r"}, "args": ["--ha-enable-leader-election"]},
    "config": {"plugins": []},
}}}}  # fmt: skip
LED_STATUS = {"replicas": 3, "updatedReplicas": 3, "availableReplicas": 1}
LED = {DEPLOYMENT: UP[DEPLOYMENT] | {"spec": {"replicas": 3}, "status": LED_STATUS}}
PORTS = "spec.expose.router.eppConfig.ports lacks 9002/TCP, where the InferencePool connects"
MISSING = 'Waiting for ConfigMap "mine" of spec.expose.router.eppConfig.configMapRef, which does'


CASES = {
    "none": ({}, {}, None, False, False),
    "up": (INLINE, UP, None, False, False),
    "none yet": (INLINE, {}, 'deployment "llm-epp" does not exist', True, False),
    "down": (INLINE, DOWN, "0 out of 1 new replicas", True, False),
    "stuck": (
        INLINE, {DEPLOYMENT: UP[DEPLOYMENT] | {"status": STUCK}}, "exceeded its progress deadline",
        False, True,
    ),
    "asleep": (
        INLINE, {DEPLOYMENT: UP[DEPLOYMENT] | {"spec": {"replicas": 0}}}, "is scaled down", False,
        False,
    ),
    "port": (picker(ports=[{"containerPort": 1}]), UP, PORTS, False, False),
    "no config": (by_name(), DOWN | {MINE: None}, MISSING, True, False),
    "config there": (by_name(), DOWN | {MINE: THERE}, "0 out of 1", True, False),
    "config not looked for": (by_name(), DOWN, "0 out of 1", True, False),
    "leader up": (ELECTING, LED, None, False, False),
    "leader up, past the deadline": (
        ELECTING, {DEPLOYMENT: LED[DEPLOYMENT] | {"status": {**LED_STATUS, **STUCK}}}, None, False, False,
    ),
    "no leader": (ELECTING, {DEPLOYMENT: LED[DEPLOYMENT] | {"status": {"updatedReplicas": 3}}},
        "0 of 3 updated replicas", True, False),
    "all must be up": (INLINE, LED, "1 of 3 updated replicas", True, False),
}  # fmt: skip


@pytest.mark.parametrize(
    ("spec", "live", "message", "moving", "stuck"),
    CASES.values(),
    ids=CASES,
)
def test_picker_readiness(make, spec, live, message, moving, stuck):
    found = picker_readiness(make.app(spec, **live))
    assert (found.ready, found.moving, found.stuck) == (message is None, moving, stuck)
    assert (message or "") in found.message


ERROR = "plugin type 'queue-scorerr' is not registered"
LOG = f'''cut"}}
{{"level":"error","msg":"Failed to parse configuration","error":"{ERROR}","stacktrace":"main\\n"}}
bye
'''


def crashed(message, created="1", name="llm-epp-1"):
    ended = {"exitCode": 1, "reason": "Error", "message": message}
    item = {"name": "epp", "ready": False, "restartCount": 2, "lastState": {"terminated": ended}}
    item["state"] = {"waiting": {"reason": "CrashLoopBackOff"}}
    metadata = {"name": name, "creationTimestamp": created}
    return {"metadata": metadata, "status": {"containerStatuses": [item]}}


ENDED = "Pod llm-epp-1, container epp: ended 3 times, last with Error, exit code 1"
FIELD = "spec.expose.router.eppConfig"


@pytest.mark.parametrize(
    ("spec", "live", "pods", "wanted"),
    [
        pytest.param(INLINE, STARTING, [], "", id="starting"),
        pytest.param(INLINE, UP, [crashed(LOG)], "", id="up"),
        pytest.param(
            INLINE, STARTING, [crashed(LOG)], f"{ENDED}: {ERROR} ({FIELD}.config)", id="ours"
        ),
        pytest.param(
            by_name(),
            STARTING,
            [crashed(LOG)],
            f"{ENDED}: {ERROR} ({FIELD}.configMapRef)",
            id="the user's",
        ),
        pytest.param(INLINE, STARTING, [crashed("secret\n[1]\n")], ENDED, id="other output"),
        pytest.param(INLINE, STARTING, [crashed(None)], ENDED, id="no output"),
        pytest.param(
            INLINE,
            STARTING,
            [crashed('{"error": "old"}', "1"), crashed(LOG, "2", "llm-epp-2")],
            f"{ENDED}: {ERROR} ({FIELD}.config)",
            id="newest",
        ),
    ],
)
def test_why_picker_unready(make, spec, live, pods, wanted):
    assert why_picker_unready(make.app(spec, **live, **{PODS: pods})) == wanted
