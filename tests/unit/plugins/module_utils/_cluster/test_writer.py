# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import base64
import threading

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import ApiError
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._cluster.writer import execute_plan
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import api_path
from ansible_collections.nimops.nim.plugins.module_utils._engine.plan import Plan
from ansible_collections.nimops.nim.plugins.module_utils._engine.secret_placeholders import (
    SecretPlaceholder,
)

FOLDER = "/api/v1/namespaces/nim/configmaps"
NO = "you may not"


def config_map(name, **metadata):
    metadata = {"name": name, "namespace": "nim", **metadata}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"by": "us"}}


@pytest.fixture
def write(cluster, tmp_path):
    client = Client(cluster.kubeconfig(tmp_path))
    return lambda **plan: execute_plan(client, Plan(**plan))


@pytest.mark.parametrize(
    ("bound", "live", "expected"),
    [
        pytest.param({"resourceVersion": "1"}, None, "written", id="absent, as was seen"),
        pytest.param({"resourceVersion": "1"}, "u-other", "raced", id="has appeared"),
        pytest.param({"uid": "u-seen"}, "u-seen", "written", id="there, as was seen"),
        pytest.param({"uid": "u-seen"}, "u-other", "raced", id="was replaced"),
        pytest.param({"uid": "u-seen"}, None, "raced", id="is gone"),
        pytest.param({}, "u-other", "written", id="shared"),
    ],
)
def test_apply_only_observed_version(cluster, write, bound, live, expected):
    if live:
        cluster.put(f"{FOLDER}/a", config_map("a", uid=live) | {"data": {"by": "another"}})
    found = write(apply=[config_map("a", **bound)])
    assert (list(found.written), found.raced, found.refusals) == (
        ["ConfigMap/nim/a"] if expected == "written" else [],
        ["ConfigMap/nim/a"] if expected == "raced" else [],
        [],
    )
    assert expected == "written" or cluster.objects.get(f"{FOLDER}/a", {}).get("data") != {
        "by": "us"
    }


@pytest.mark.parametrize(
    ("live", "expected"),
    [
        pytest.param("u-seen", "deleted", id="as was seen"),
        pytest.param("u-other", "raced", id="was replaced"),
        pytest.param(None, "deleted", id="is gone"),
    ],
)
def test_prune_only_observed_object(cluster, write, live, expected):
    if live:
        cluster.put(f"{FOLDER}/a", config_map("a", uid=live))
    found = write(prune=[config_map("a", uid="u-seen")])
    assert (found.deleted, found.raced) == (
        ["ConfigMap/nim/a"] if expected == "deleted" else [],
        ["ConfigMap/nim/a"] if expected == "raced" else [],
    )
    assert (f"{FOLDER}/a" in cluster.objects) == (expected == "raced")
    (request,) = cluster.calls("DELETE")
    assert request.body["propagationPolicy"] == "Background"


def test_adopt_race(cluster, write, refused):
    """Another refusal would only be repeated, so it waits for the next routine pass."""
    for name in ("a", "b", "c"):
        cluster.put(f"{FOLDER}/{name}", config_map(name, uid=f"u-{name}"))
    cluster.refuse["PATCH", f"{FOLDER}/c"] = [refused(403, "no")]
    now = cluster.objects[f"{FOLDER}/a"]["metadata"]["resourceVersion"]
    adopt = [config_map("a", resourceVersion=now), config_map("b", resourceVersion="1")]
    found = write(adopt=[*adopt, config_map("c")])
    assert (found.raced, found.refusals) == (["ConfigMap/nim/b"], [])


def test_apply_continues_after_refusal(cluster, write, refused):
    cluster.refuse["PATCH", f"{FOLDER}/a"] = [refused(403, NO)]
    cluster.put(f"{FOLDER}/c", config_map("c"))
    found = write(
        apply=[config_map("a"), config_map("b")], prune=[config_map("c"), config_map("d")]
    )
    assert (list(found.written), found.raced) == (["ConfigMap/nim/b"], [])
    assert found.deleted == ["ConfigMap/nim/c", "ConfigMap/nim/d"]
    assert [(item.name, item.message) for item in found.refusals] == [("a", NO)]


class Meeting:
    """A client whose first writes wait for each other: the first barrier is broken otherwise."""

    def __init__(self, *meet):
        self.meet = meet
        self.barrier = threading.Barrier(len(meet), timeout=5)
        self.written = []

    def apply(self, path, body, _manager):
        kind = path.rsplit("/", 2)[1]
        if kind in self.meet:
            self.barrier.wait()
        self.written.append(kind)
        return body

    def patch(self, path, body, _manager):
        return self.apply(path, body, _manager)


def child(kind, version):
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "a", "namespace": "nim"}}


OF_A_SERVICE = [
    child("ServiceAccount", "v1"),
    child("Role", "rbac.authorization.k8s.io/v1"),
    child("RoleBinding", "rbac.authorization.k8s.io/v1"),
    child("Service", "v1"),
    child("Deployment", "apps/v1"),
]


@pytest.mark.parametrize(
    "meet",
    [
        pytest.param(("serviceaccounts", "services", "roles"), id="what names nothing"),
        pytest.param(("rolebindings", "services", "deployments"), id="what pods do not need"),
    ],
)
def test_apply_in_parallel(meet):
    client = Meeting(*meet)
    found = execute_plan(client, Plan(apply=OF_A_SERVICE))
    order = client.written.index
    assert order("roles") < order("rolebindings")
    assert max(order("serviceaccounts"), order("roles")) < order("deployments")
    assert list(found.written)[-1] == "Deployment/nim/a", "the workload, last"


def named(item, name, **fields):
    return item | {"metadata": item["metadata"] | {"name": name}} | fields


def test_apply_job_waits_for_all():
    """More of them than there are threads."""
    client = Meeting()
    kinds = [("Pod", "v1"), ("Job", "batch/v1")] * 4
    starts = [named(child(*kind), f"a{number}") for number, kind in enumerate(kinds)]
    execute_plan(client, Plan(apply=[*OF_A_SERVICE, *starts]))
    assert client.written[5:] == ["pods", "jobs"] * 4


def test_apply_reuses_connections(serve, answer, kubeconfig_text, tmp_path):
    together = threading.Barrier(4, timeout=5)

    def respond(request):
        together.wait()
        return answer(200, request.body)

    server = serve(respond)
    path = tmp_path / "kubeconfig"
    path.write_text(kubeconfig_text(server.url))
    client = Client(str(path))
    for _ in range(3):
        manifests = [named(child("ConfigMap", "v1"), f"a{number}") for number in range(4)]
        execute_plan(client, Plan(apply=manifests))
    assert (len(server.requests), server.connections) == (12, 4)


def pods(**spec):
    return {"spec": {"template": {"metadata": {"labels": {"app": "a"}}, "spec": spec}}}


GATEWAY = "gateway.networking.k8s.io/v1"
ACCOUNT = child("ServiceAccount", "v1")
BINDING = child("RoleBinding", "rbac.authorization.k8s.io/v1") | {
    "roleRef": {"kind": "Role", "name": "a"},
    "subjects": [{"kind": "ServiceAccount", "name": "a", "namespace": "nim"}],
}
SERVICE = child("Service", "v1") | {"spec": {"type": "ClusterIP", "selector": {"app": "a"}}}
ROUTE = child("HTTPRoute", GATEWAY) | {"spec": {"rules": [{"backendRefs": [{"name": "a"}]}]}}
SCALER = child("HorizontalPodAutoscaler", "autoscaling/v2") | {
    "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "a"}}
}
DEPLOYMENT = child("Deployment", "apps/v1") | pods(serviceAccountName="a")
DAEMON_SET = child("DaemonSet", "apps/v1") | pods(serviceAccountName="a")
CONNECTED = [ACCOUNT, OF_A_SERVICE[1], BINDING, SERVICE, ROUTE, SCALER, DEPLOYMENT, DAEMON_SET]
WAIT_FOR_ACCOUNT = [
    *("RoleBinding", "HTTPRoute", "HorizontalPodAutoscaler", "Deployment", "DaemonSet"),
]


def keys(*kinds):
    return [f"{kind}/nim/a" for kind in kinds]


@pytest.mark.parametrize(
    ("kind", "waiting"),
    [
        pytest.param("ServiceAccount", WAIT_FOR_ACCOUNT, id="account"),
        pytest.param("Role", ["RoleBinding"], id="role"),
        pytest.param("Service", ["HTTPRoute"], id="service"),
        pytest.param("Deployment", ["HTTPRoute", "HorizontalPodAutoscaler"], id="workload"),
    ],
)
@pytest.mark.parametrize(
    ("status", "reported"),
    [
        pytest.param(403, "exceeded quota", id="refused"),
        pytest.param(422, "spec: bad", id="invalid"),
        pytest.param(409, "somebody else was first", id="raced"),
        pytest.param(422, "metadata.uid: Invalid value: x: field is immutable", id="replaced"),
    ],
)
def test_apply_skips_references_to_unwritten(
    cluster, write, refused, kind, waiting, status, reported
):
    cluster.refuse["PATCH", api_path(kind, "nim", "a")] = [refused(status, reported)]
    found = write(apply=CONNECTED)
    kinds = [item["kind"] for item in CONNECTED]
    lost = [kind, *waiting]
    assert list(found.written) == keys(*(item for item in kinds if item not in lost))
    sent = {call.path for call in cluster.calls("PATCH")}
    assert sent.isdisjoint(api_path(item, "nim", "a") for item in waiting)
    if status == 409 or "uid" in reported:
        assert (found.raced, found.refusals) == (keys(*lost), [])
    else:
        assert found.raced == []
        assert [item.kind for item in found.refusals] == lost, "what is behind it comes first"
        assert all(item.message.startswith("waits for ") for item in found.refusals[1:])


def test_apply_route_of_existing_workload(cluster, write, refused):
    """An Ingress changes its host, although the Deployment lacks a quota."""
    live = DEPLOYMENT | {"metadata": DEPLOYMENT["metadata"] | {"uid": "u"}}
    cluster.refuse["PATCH", api_path("Deployment", "nim", "a")] = [refused(403, NO)]
    found = write(apply=[SERVICE, ROUTE, live])
    assert list(found.written) == keys("Service", "HTTPRoute")


def test_apply_references_first():
    client = Meeting()
    found = execute_plan(
        client, Plan(apply=[SCALER, ROUTE, BINDING, *CONNECTED[:2], SERVICE, DEPLOYMENT])
    )
    order = client.written.index
    assert order("horizontalpodautoscalers") > order("deployments")
    assert order("httproutes") > max(order("services"), order("deployments"))
    assert order("rolebindings") > max(order("serviceaccounts"), order("roles"))
    assert list(found.written)[-1] == "Deployment/nim/a", "in the order given"


def test_apply_service_order():
    client = Meeting("services", "deployments")
    execute_plan(client, Plan(apply=[SERVICE, child("Deployment", "apps/v1") | pods()]))
    client = Meeting()
    outer = SERVICE | {"spec": SERVICE["spec"] | {"type": "LoadBalancer"}}
    execute_plan(client, Plan(apply=[outer, child("Deployment", "apps/v1") | pods()]))
    assert client.written == ["deployments", "services"]


def node(name, **labels):
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


def test_patch_in_parallel_before_daemonsets():
    client = Meeting("nodes", "nodes")
    given = [child("DaemonSet", "apps/v1"), child("RuntimeClass", "node.k8s.io/v1")]
    found = execute_plan(client, Plan(patch=[node("a"), node("b")], apply=given))
    assert client.written == ["runtimeclasses", "nodes", "nodes", "daemonsets"]
    assert list(found.written) == ["RuntimeClass/a", "DaemonSet/nim/a"]


class Slow:
    """A client whose first patch takes until another object is patched."""

    def __init__(self):
        self.written = []
        self.other = threading.Event()

    def patch(self, path, body, _manager):
        name, state = path.rsplit("/", 1)[1], body["metadata"]["labels"]["state"]
        if (name, state) == ("a", "1"):
            assert self.other.wait(5)
        self.written.append(name + state)
        if name == "b":
            self.other.set()
        return body


def test_patch_same_object_in_order():
    client = Slow()
    execute_plan(
        client, Plan(patch=[node("a", state="1"), node("a", state="2"), node("b", state="1")])
    )
    assert client.written == ["b1", "a1", "a2"]


def test_patch_cordons_nodes_in_order():
    client = Slow()
    client.other.set()
    names = [f"n{number}" for number in range(20)]
    given = [node(name, state="1") | {"spec": {"unschedulable": True}} for name in names]
    execute_plan(client, Plan(patch=[node("a", state="0"), *given, node("b", state="0")]))
    assert client.written[:20] == [f"{name}1" for name in names]
    assert sorted(client.written[20:]) == ["a0", "b0"]


def test_patch_continues_after_refusal(cluster, write, refused):
    for name in "abc":
        cluster.put(f"/api/v1/nodes/{name}", node(name))
    cluster.refuse["PATCH", "/api/v1/nodes/b"] = [refused(403, NO)]
    found = write(patch=[node(name, state="1") for name in "abc"], apply=[config_map("a")])
    assert [(item.name, item.message) for item in found.refusals] == [("b", NO)]
    assert [cluster.objects[f"/api/v1/nodes/{name}"]["metadata"]["labels"] for name in "ac"] == [
        {"state": "1"}
    ] * 2
    assert list(found.written) == ["ConfigMap/nim/a"]


def test_execute_plan_unreachable_server(cluster, write):
    cluster.server.close()
    with pytest.raises(ApiError, match="cannot be reached"):
        write(apply=[config_map("a"), config_map("b")])


def test_apply_missing_kind(cluster, write, answer):
    manifest = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": {"name": "a", "namespace": "nim"},
    }
    path = api_path("ServiceMonitor", "nim", "a")
    cluster.refuse["PATCH", path] = [answer(404, "404 page not found\n")]
    outcome = write(apply=[manifest])
    assert outcome.refusals[0].message == (
        'no matches for kind "ServiceMonitor" in version "monitoring.coreos.com/v1"'
    )


URL = SecretPlaceholder("pg", "password", "me:", "@h")
SEALED = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "x", "namespace": "nim"},
    "data": {"uri": URL.placeholder},
}


def test_apply_inserts_secret_values(cluster, write):
    secrets = "/api/v1/namespaces/nim/secrets"
    cluster.put(f"{secrets}/pg", {"metadata": {"name": "pg"}, "data": {"password": "czNjcjN0"}})
    found = write(apply=[SEALED])
    assert base64.b64decode(cluster.objects[f"{secrets}/x"]["data"]["uri"]) == b"me:s3cr3t@h"
    assert found.written["Secret/nim/x"]["data"] == SEALED["data"]
    asked = [item for item in cluster.server.requests if item.path == f"{secrets}/pg"]
    assert len(asked) == 1, "a value that changes meanwhile would not be told from somebody else's"


def test_apply_missing_secret_value(cluster, write):
    """And the rest is written."""
    found = write(apply=[SEALED, config_map("a")])
    (refusal,) = found.refusals
    assert (refusal.kind, refusal.message) == ("Secret", 'Secret "pg" does not exist')
    assert list(found.written) == ["ConfigMap/nim/a"]
    assert "/api/v1/namespaces/nim/secrets/x" not in cluster.objects


def test_orphan_keeps_dependents(cluster, write):
    cluster.put(f"{FOLDER}/a", config_map("a", uid="u-seen"))
    found = write(orphan=[config_map("a", uid="u-seen")])
    assert found.deleted == ["ConfigMap/nim/a"]
    (request,) = cluster.calls("DELETE")
    assert request.body["propagationPolicy"] == "Orphan"
    assert request.body["preconditions"] == {"uid": "u-seen"}


@pytest.mark.parametrize("is_refused", [False, True])
def test_orphan_before_node_labels(cluster, write, refused, is_refused):
    """Pods of a DaemonSet would end with the label that it selects its nodes by."""
    cluster.put(f"{FOLDER}/a", config_map("a", uid="u-seen"))
    cluster.put("/api/v1/nodes/n", node("n", owner="a"))
    if is_refused:
        cluster.refuse["DELETE", f"{FOLDER}/a"] = [refused(403, NO)]
    found = write(orphan=[config_map("a", uid="u-seen")], patch=[node("n", owner=None)])
    written = ["DELETE"] if is_refused else ["DELETE", "PATCH"]
    assert [call.method for call in cluster.server.requests] == written
    assert [item.message for item in found.refusals] == ([NO] if is_refused else [])


POD = "/api/v1/namespaces/nim/pods/a"
EVICTION = f"{POD}/eviction"


def pod_reference(uid="u-seen"):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "namespace": "nim", "uid": uid},
    }


def test_evict_pod(cluster, write):
    cluster.put(POD, pod_reference())
    found = write(evict=[pod_reference()])
    assert (found.deleted, found.held, found.refusals) == (["Pod/nim/a"], {}, [])
    (call,) = cluster.calls("POST")
    assert call.path == EVICTION
    assert call.body == {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": "a", "namespace": "nim"},
        "deleteOptions": {"preconditions": {"uid": "u-seen"}},
    }
    assert cluster.objects == {}


@pytest.mark.parametrize(
    ("status", "reason", "expected"),
    [
        pytest.param(429, "TooManyRequests", ([], {"Pod/nim/a": NO}, [], []), id="a budget holds"),
        pytest.param(404, "NotFound", (["Pod/nim/a"], {}, [], []), id="it has gone"),
        pytest.param(409, "Conflict", ([], {}, ["Pod/nim/a"], []), id="another pod by that name"),
        pytest.param(403, "Forbidden", ([], {}, [], [NO]), id="no right"),
        pytest.param(500, "InternalError", ([], {}, [], [NO]), id="several budgets"),
    ],
)
def test_evict_outcomes(cluster, write, refused, status, reason, expected):
    cluster.put(POD, pod_reference())
    cluster.refuse["POST", EVICTION] = [refused(status, NO, reason)]
    found = write(evict=[pod_reference()])
    assert (
        found.deleted,
        found.held,
        found.raced,
        [refusal.message for refusal in found.refusals],
    ) == expected


def test_prune_throttled(cluster, write, refused):
    cluster.put(POD, pod_reference())
    cluster.refuse["DELETE", POD] = [refused(429, NO, "TooManyRequests")]
    found = write(prune=[pod_reference()])
    assert (found.held, [refusal.message for refusal in found.refusals]) == ({}, [NO])
