# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import ApiError, NimError
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._commands.gpu.node_status import Log
from ansible_collections.nimops.nim.plugins.module_utils._commands.gpu.reading import (
    operand_namespaces,
    read_daemon_sets,
    read_log,
    read_policies,
    read_simulation,
    read_upgrades,
    read_warnings,
)

POLICIES = "/apis/nvidia.com/v1/clusterpolicies"
DRIVERS = "/apis/nvidia.com/v1alpha1/nvidiadrivers"
AUTO = {"upgradePolicy": {"autoUpgrade": True}}
SANDBOXES = {"sandboxWorkloads": {"enabled": True}, "driver": AUTO}


@pytest.fixture
def client(cluster, tmp_path):
    return Client(cluster.kubeconfig(tmp_path))


def test_read_policies_active_first(cluster, client, answer):
    items = [
        {"metadata": {"name": name, "creationTimestamp": time}}
        for name, time in (("b", "2026-01-02T"), ("c", "2026-01-01T"), ("a", "2026-01-02T"))
    ]
    cluster.refuse["GET", POLICIES] = [answer(200, {"items": items})]
    assert [item["metadata"]["name"] for item in read_policies(client)] == ["c", "a", "b"]


def test_read_policies_unknown_kind(cluster, client, refused):
    cluster.refuse["GET", POLICIES] = [refused(404, "not found", "NotFound")]
    with pytest.raises(NimError, match=r"nimops\.nim\.install -e components=gpu"):
        read_policies(client)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"driver": AUTO}, ""),
        ({}, "autoUpgrade is not true"),
        ({"driver": {"enabled": False}}, "driver.enabled is false"),
        pytest.param(
            {"driver": {"enabled": False, "upgradePolicy": {"maxUnavailable": "many"}}},
            "driver.enabled is false",
            id="unused invalid policy",
        ),
        (SANDBOXES, "sandboxWorkloads.enabled is true"),
        ({"driver": {"useNvidiaDriverCRD": True, **AUTO}}, "there is no NVIDIADriver"),
    ],
)
def test_read_upgrades_reasons(client, spec, expected):
    found = read_upgrades(client, {"spec": spec})
    if expected:
        assert (found.policies, len(found.reasons)) == ({}, 1)
        assert expected in found.reasons[0]
    else:
        assert (list(found.policies), found.reasons) == ([None], ())


def test_read_upgrades_policy(client):
    policy = {"spec": {"driver": {"upgradePolicy": {"maxUnavailable": 7}}}}
    found = read_upgrades(client, policy, is_assumed=True)
    assert found.policies[None].max_unavailable == "7"
    assert found.reasons == (
        "driver.upgradePolicy.autoUpgrade is not true: drivers are not upgraded",
    )


@pytest.mark.parametrize(
    ("is_assumed", "expected"), [(False, ["by-default"]), (True, ["by-default", "off"])]
)
def test_read_upgrades_nvidia_drivers(cluster, client, answer, is_assumed, expected):
    specs = {
        "by-default": {},
        "off": {"upgradePolicy": {"autoUpgrade": False}},
        "wrong": {"upgradePolicy": {"maxUnavailable": "many"}},
    }
    items = [{"metadata": {"name": name}, "spec": spec} for name, spec in specs.items()]
    cluster.refuse["GET", DRIVERS] = [answer(200, {"items": items})]
    policy = {"spec": {"driver": {"useNvidiaDriverCRD": True}}}
    found = read_upgrades(client, policy, is_assumed=is_assumed)
    assert list(found.policies) == expected
    reasons = [reason.split(":")[0] for reason in found.reasons]
    assert reasons == ["NVIDIADriver off", "NVIDIADriver wrong"]


def test_read_simulation(cluster, client, gpu):
    def put(path, item):
        cluster.put(f"{path}/{item['metadata']['name']}", item)

    put("/api/v1/nodes", gpu.node("n"))
    claimed = gpu.replica("a", "n")
    claimed["spec"]["resourceClaims"] = [{"name": "x", "resourceClaimName": "c"}]
    for pod in (gpu.driver("n"), claimed):
        put(f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods", pod)
    put("/apis/apps/v1/namespaces/gpu/controllerrevisions", gpu.revision("new", 2))
    put("/apis/policy/v1/namespaces/nim/poddisruptionbudgets", gpu.budget())
    put("/apis/apps/v1/namespaces/nim/deployments", gpu.workload(2))
    claim = {"metadata": {"name": "c", "namespace": "nim"}}
    put("/apis/resource.k8s.io/v1/namespaces/nim/resourceclaims", claim)
    found = read_simulation(client, is_guarded=False)
    snapshot = found.snapshot()
    assert [node.name for node in snapshot.managed] == ["n"]
    assert [service.wanted for service in snapshot.services] == [2]
    assert (len(snapshot.budgets), list(snapshot.claims)) == (1, [("nim", "c")])
    assert not snapshot.is_guarded
    assert snapshot.now > 1_700_000_000
    assert read_simulation(client).snapshot().is_guarded


def test_read_simulation_pages(cluster, client, gpu, answer):
    pages = [
        {"metadata": {"continue": "next"}, "items": [gpu.driver("a")]},
        {"metadata": {}, "items": [gpu.driver("b")]},
    ]
    cluster.refuse["GET", "/api/v1/pods"] = [answer(200, page) for page in pages]
    names = [pod["metadata"]["name"] for pod in read_simulation(client).pods]
    assert names == ["driver-a", "driver-b"]
    calls = [call.query for call in cluster.calls("GET") if call.path == "/api/v1/pods"]
    assert [call.get("continue") for call in calls] == [None, "next"]
    assert {call["limit"] for call in calls} == {"500"}


def test_operand_namespaces(gpu):
    policies = [{"metadata": {"name": "p"}, "status": {"namespace": "here"}}, {"metadata": {}}]
    assert operand_namespaces(policies, [gpu.driver("n"), gpu.pod("x")]) == {"here", "gpu"}


def test_read_daemon_sets(cluster, client):
    for namespace in ("a", "b"):
        item = {"metadata": {"name": "d", "namespace": namespace}}
        cluster.put(f"/apis/apps/v1/namespaces/{namespace}/daemonsets/d", item)
    assert [item["metadata"]["namespace"] for item in read_daemon_sets(client, ["b"])] == ["b"]


def test_read_warnings_latest(cluster, client, answer):
    about = {"message": "m", "involvedObject": {"uid": "u"}}
    events = [{"lastTimestamp": f"2026-01-0{i}", "reason": f"R{i}", **about} for i in range(1, 6)]
    cluster.refuse["GET", "/api/v1/namespaces/gpu/events"] = [answer(200, {"items": events})]
    assert read_warnings(client, ["gpu"]) == {"u": ["R5: m", "R4: m", "R3: m"]}
    (call,) = cluster.calls("GET")
    assert call.query["fieldSelector"] == "type=Warning,involvedObject.kind=Pod"


def test_read_log(cluster, client, refused):
    path = "/api/v1/namespaces/gpu/pods/d/log"
    cluster.texts[path] = "so it is"
    assert read_log(client, Log("gpu", "d", "c", is_previous=True)) == "so it is"
    (call,) = cluster.calls("GET")
    assert (call.query["container"], call.query["previous"]) == ("c", "true")
    cluster.refuse["GET", path] = [refused(403, "no", "Forbidden")]
    assert read_log(client, Log("gpu", "d", "c")) == ""


def test_read_log_no_response(tmp_path):
    with pytest.raises(ApiError):
        read_log(Client(str(tmp_path / "absent")), Log("gpu", "d", "c"))
