# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""ResourceQuotas and LimitRanges."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.preflight.namespace_limits import (
    check_limit_ranges,
    check_quotas,
    container_defaults,
)

GPU = "requests.nvidia.com/gpu"
POD = {
    "containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": "2", "memory": "4Gi"}}}]
}


def limit_range(kind="Container", **limit):
    return {"metadata": {"name": "l"}, "spec": {"limits": [{"type": kind, **limit}]}}


LIMITS = {
    "within the maximum": (limit_range(max={"memory": "4Gi"}), []),
    "above the maximum": (limit_range(max={"memory": "3Gi"}), ["memory 4Gi is more than 3Gi"]),
    "above the maximum of a Pod": (
        limit_range("Pod", max={"memory": "3Gi"}),
        ["memory 4Gi is more"],
    ),
    "below the minimum": (limit_range(min={"memory": "5Gi"}), ["memory 4Gi is less than 5Gi"]),
    "maximum without a limit": (limit_range(max={"cpu": "1"}), ["has no cpu limit"]),
    "minimum without a request": (limit_range(min={"cpu": "1"}), ["has no cpu request"]),
    "ratio": (limit_range(maxLimitRequestRatio={"memory": "2"}), []),
    "ratio without a limit": (limit_range(maxLimitRequestRatio={"cpu": "2"}), ["limit of cpu is"]),
    "type PersistentVolumeClaim": (
        limit_range("PersistentVolumeClaim", max={"storage": "1Gi"}),
        [],
    ),
}


@pytest.mark.parametrize("case", LIMITS)
def test_check_limit_ranges(make_group, make_rendered, make_facts, levels, case):
    given, wanted = LIMITS[case]
    facts = make_facts(lists={("LimitRange", "nim"): [given]})
    found = levels(check_limit_ranges([make_group(POD)], make_rendered(), facts))
    errors = [message for level, message in found if level == "error"]
    assert len(errors) == len(wanted)
    assert all(part in message for part, message in zip(wanted, errors, strict=True))


def claim(size="2Gi", name="standard"):
    spec = {"storageClassName": name, "resources": {"requests": {"storage": size}}}
    metadata = {"name": "llm-pvc", "namespace": "nim"}
    return {"kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}


def test_check_limit_ranges_claim(make_rendered, make_facts, levels):
    given = limit_range("PersistentVolumeClaim", max={"storage": "1Gi"})
    facts = make_facts(lists={("LimitRange", "nim"): [given]})
    ((level, message),) = levels(check_limit_ranges([], make_rendered(claim()), facts))
    assert level == "error"
    assert message.startswith("the claim llm-pvc: storage 2Gi is more than 1Gi")


def test_container_defaults():
    given = [
        limit_range(default={"memory": "2Gi", "cpu": "2"}, defaultRequest={"cpu": "1"}),
        limit_range("Pod", max={"cpu": "9"}),
    ]
    assert container_defaults(given) == {
        "requests": {"memory": "2Gi", "cpu": "1"},
        "limits": {"memory": "2Gi", "cpu": "2"},
    }


def quota(used=None, scopes=None, selector=None, **hard):
    spec = {"hard": hard, "scopes": scopes} if scopes else {"hard": hard}
    if selector:
        spec["scopeSelector"] = {"matchExpressions": [selector]}
    status = {"hard": hard, "used": used or {}}
    return {"metadata": {"name": "q"}, "spec": spec, "status": status}


HIGH = {"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}
QUOTAS = {
    "sufficient": (quota(**{GPU: "4"}), 2, ""),
    "exceeded with the used amount": (
        quota({GPU: "1"}, **{GPU: "4"}),
        2,
        "requests.nvidia.com/gpu is 4; 1 in use, 4 more needed",
    ),
    "pods": (quota(pods="1"), 2, "pods is 1"),
    "memory": (quota(**{"limits.memory": "7Gi"}), 2, "limits.memory is 7Gi"),
    "memory as a request": (quota(memory="7Gi"), 2, "memory is 7Gi"),
    "CPU without a request": (quota(cpu="99"), 1, "must specify cpu"),
    "storage": (quota(**{"requests.storage": "1Gi"}), 1, "requests.storage is 1Gi"),
    "storage of a StorageClass": (
        quota(**{"standard.storageclass.storage.k8s.io/requests.storage": "1Gi"}),
        1,
        "standard.storageclass",
    ),
    "claims": (quota(persistentvolumeclaims="0"), 1, "persistentvolumeclaims is 0"),
    "count of Services": (quota(**{"count/services": "0"}), 1, "count/services is 0"),
    "count of NIMServices": (
        quota(**{"count/nimservices.apps.nvidia.com": "0"}),
        1,
        "count/nimservices",
    ),
    "node ports": (quota(**{"services.nodeports": "0"}), 1, "services.nodeports is 0"),
    "scope does not match": (quota(scopes=["BestEffort"], pods="0"), 1, ""),
    "scope matches": (quota(scopes=["NotBestEffort"], pods="0"), 1, "pods is 0"),
    "scope of pods with a deadline": (quota(scopes=["Terminating"], pods="0"), 1, ""),
    "scope of a different priority class": (quota(selector=HIGH, pods="0"), 1, ""),
    "already exceeded, nothing added": (quota({"configmaps": "9"}, configmaps="1"), 1, ""),
}
SERVICE = {
    "kind": "Service",
    "metadata": {"name": "llm", "namespace": "nim"},
    "spec": {"type": "NodePort", "ports": [{"port": 80}]},
}


@pytest.mark.parametrize("case", QUOTAS)
def test_check_quotas(make_group, make_rendered, make_facts, levels, case):
    given, count, wanted = QUOTAS[case]
    facts = make_facts(lists={("ResourceQuota", "nim"): [given]})
    groups = [make_group(POD, count)]
    found = levels(check_quotas(groups, make_rendered(claim(), SERVICE), facts))
    errors = [message for level, message in found if level == "error"]
    assert len(errors) == bool(wanted)
    assert all(wanted in message for message in errors)


def test_check_quotas_running_pods(make_group, make_rendered, make_facts, levels):
    """Running pods are counted already; replaced pods release what they use."""
    facts = make_facts(lists={("ResourceQuota", "nim"): [quota({GPU: "2"}, **{GPU: "2"})]})
    rendered = make_rendered(SERVICE)
    running = make_group(POD, existing=({"spec": {"nodeName": "a", **POD}},))
    for group in (running, replace(running, is_replaced=True)):
        assert [level for level, _text in levels(check_quotas([group], rendered, facts))] == ["ok"]
    more = replace(running, count=2)
    assert [level for level, _text in levels(check_quotas([more], rendered, facts))] == ["error"]


def test_check_quotas_job_and_workload(make_group, make_rendered, make_facts, levels):
    """The pods of a Job and those of the workload do not add up: the Job completes first."""
    facts = make_facts(lists={("ResourceQuota", "nim"): [quota(**{GPU: "2"})]})
    groups = [make_group(POD, runs_to_completion=True), make_group(POD)]
    found = levels(check_quotas(groups, make_rendered(SERVICE), facts))
    assert [level for level, _text in found] == ["ok"]
