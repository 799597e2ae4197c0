# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Whether all pods find nodes at once."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.preflight.scheduling import (
    check_device_claims,
    check_nodes,
    claims_named,
    lacks_room,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import (
    ObjectKey as Key,
)

GPU = "nvidia.com/gpu"


def node(name="a", gpus=2, **labels):
    amounts = {"cpu": "8", "memory": "64Gi", "pods": "10", GPU: str(gpus)}
    return {"metadata": {"name": name, "labels": labels}, "status": {"allocatable": amounts}}


def live(gpus, name="other", priority=0, **spec):
    container = {"name": "c", "resources": {"requests": {GPU: str(gpus)}}}
    return {
        "metadata": {"name": name, "namespace": "nim"},
        "spec": {"nodeName": "a", "containers": [container], "priority": priority, **spec},
        "status": {"phase": "Running"},
    }


def pod(gpus=1, **spec):
    return {"containers": [{"name": "c", "resources": {"limits": {GPU: str(gpus)}}}], **spec}


@pytest.fixture
def check(make_facts, make_rendered, levels):
    """The levels and messages for groups on nodes with pods."""

    def run(groups, nodes, pods=(), objects=(), **lists):
        facts = make_facts(*objects, lists={"Node": nodes, "Pod": list(pods), **lists})
        return levels(check_nodes(groups, make_rendered(), facts))

    return run


def named(group, name):
    return replace(group, workload=Key("Deployment", "nim", name))


def test_check_nodes_message(check, make_group):
    groups = [make_group(pod(2), 2)]
    assert check(groups, [node(), node("b")]) == [
        ("ok", f"2 pods of Deployment llm with 2 {GPU}: 2 of 2 nodes have room for one")
    ]
    assert check(groups, [node()]) == [
        (
            "error",
            f"2 pods of Deployment llm with 2 {GPU}: 1 of 2 fit; for the rest, 0 of 1 nodes fit:"
            f" 1 with 0 of 2 {GPU} free",
        )
    ]
    assert check(groups, [])[0][1].endswith("there are no nodes")


def test_check_nodes_shares_capacity(check, make_group):
    groups = [make_group(pod()), named(make_group(pod()), "b"), named(make_group(pod()), "c")]
    assert [level for level, _text in check(groups, [node()])] == ["ok", "ok", "error"]


def test_check_nodes_only_if_packed(check, make_group):
    """Two small pods on different nodes leave no node for a large one."""
    groups = [make_group(pod(), 2), named(make_group(pod(2)), "large")]
    found = check(groups, [node(), node("b")])
    assert [level for level, _text in found] == ["ok", "error"]
    assert "fit only if those of all resources are packed" in found[1][1]


def test_check_nodes_jobs_apart(check, make_group):
    groups = [make_group(pod(2), runs_to_completion=True), named(make_group(pod(2)), "b")]
    assert [level for level, _text in check(groups, [node()])] == ["ok", "ok"]


def test_check_nodes_running_pods(check, make_group):
    own = live(2, "llm-1")
    running = make_group(pod(2), existing=(own,))
    assert check([running], [node()], [own]) == [
        ("ok", "the pods of Deployment llm are scheduled already")
    ]
    replaced = replace(running, is_replaced=True)
    assert [level for level, _text in check([replaced], [node()], [own])] == ["ok"]
    others = [own, live(1, "x")]
    assert [level for level, _text in check([replaced], [node()], others)] == ["error"]
    more = replace(running, count=2)
    assert [level for level, _text in check([more], [node()], [own])] == ["error"]


@pytest.mark.parametrize(("policy", "level"), [(None, "warning"), ("Never", "error")])
def test_check_nodes_preemption(check, make_group, policy, level):
    high = {"kind": "PriorityClass", "metadata": {"name": "high"}, "value": 10}
    high |= {"preemptionPolicy": policy} if policy else {}
    group = make_group(pod(priorityClassName="high"))
    ((found, _text),) = check([group], [node()], [live(2, priority=9)], [high])
    assert found == level
    ((found, _text),) = check([group], [node()], [live(2, priority=10)], [high])
    assert found == "error"


def test_check_nodes_another_scheduler(check, make_group):
    ((level, text),) = check([make_group(pod(3, schedulerName="kai"))], [node()])
    assert (level, "by the rules of default-scheduler" in text) == ("warning", True)


def test_check_nodes_not_read(make_group, make_rendered, make_facts):
    assert check_nodes([make_group(pod())], make_rendered(), make_facts()) == []


def test_check_nodes_daemon_set(check, make_group):
    assert check([make_group(pod(9), per_node=True)], [node()]) == []


REMEDIES = {
    "selector": (pod(nodeSelector={"a": "b"}), [node()], "label a node"),
    "amount first": (pod(3, nodeSelector={"a": "b"}), [node(), node("b", a="b")], "free capacity"),
}


@pytest.mark.parametrize("case", REMEDIES)
def test_check_nodes_remedy(make_group, make_rendered, make_facts, case):
    spec, nodes, wanted = REMEDIES[case]
    facts = make_facts(lists={"Node": nodes, "Pod": []})
    reporters = check_nodes([make_group(spec)], make_rendered(), facts)
    (found,) = (check for reporter in reporters for check in reporter.found)
    assert found.remedy.startswith(wanted)


def template(count=1, name="gpu.nvidia.com", **more):
    request = {"name": "gpu", "exactly": {"deviceClassName": name, "count": count}}
    devices = {"requests": [request], **more}
    metadata = {"name": "gpus", "namespace": "nim"}
    spec = {"spec": {"devices": devices}}
    return {"kind": "ResourceClaimTemplate", "metadata": metadata, "spec": spec}


def slices(*names):
    pool = {"name": "a", "generation": 1}
    devices = [{"name": name} if isinstance(name, str) else name for name in names]
    return [{"spec": {"driver": "d", "nodeName": "a", "pool": pool, "devices": devices}}]


CLAIMING = {"resourceClaims": [{"name": "x", "resourceClaimTemplateName": "gpus"}]}
CLASS = {"metadata": {"name": "gpu.nvidia.com"}, "spec": {}}


def allocated(device, user):
    results = [{"driver": "d", "pool": "a", "device": device}]
    return {
        "metadata": {"name": device, "namespace": "nim"},
        "status": {
            "allocation": {"devices": {"results": results}},
            "reservedFor": [{"resource": "pods", "name": user}],
        },
    }


DEVICES = {
    "enough": (template(2), slices("x", "y"), [], ["ok"]),
    "too few": (template(2), slices("x"), [], ["error"]),
    "in use": (template(2), slices("x", "y"), [allocated("x", "other")], ["error"]),
    "constraints": (template(constraints=[{}]), slices("x"), [], ["ok", "warning"]),
    "counters": (
        template(),
        slices({"name": "x", "consumesCounters": [{}]}),
        [],
        ["ok", "warning"],
    ),
}


@pytest.mark.parametrize("case", DEVICES)
def test_check_nodes_devices(check, make_group, case):
    item, found, claims, wanted = DEVICES[case]
    lists = {"ResourceSlice": found, "ResourceClaim": claims, "DeviceClass": [CLASS]}
    checks = check([make_group(CLAIMING)], [node()], objects=[item], **lists)
    assert [level for level, _text in checks] == wanted


def offering(name, created="2026-01-01T00:00:00Z", resource="nvidia.com/gpu"):
    metadata = {"name": name, "creationTimestamp": created}
    selectors = [{"cel": {"expression": f'device.driver == "{name}"'}}]
    return {
        "metadata": metadata,
        "spec": {"extendedResourceName": resource, "selectors": selectors},
    }


EXTENDED = {
    "enough": (2, node(gpus=0), [offering("d")], ["ok"]),
    "too few": (3, node(gpus=0), [offering("d")], ["error"]),
    "each once": (1, node(gpus=0), [offering("d")], ["ok"]),
    "a device plugin": (2, node(gpus=1), [offering("d")], ["error"]),
    "another resource": (1, node(gpus=0), [offering("d", resource="nvidia.com/mig")], ["error"]),
    "no such devices": (1, node(gpus=0), [offering("e")], ["error"]),
    "the newest class": (
        1,
        node(gpus=0),
        [offering("e"), offering("d", "2026-01-02T00:00:00Z")],
        ["ok"],
    ),
    "the first of two": (1, node(gpus=0), [offering("e"), offering("d")], ["ok"]),
}


@pytest.mark.parametrize("case", EXTENDED)
def test_check_nodes_extended_resource_of_devices(check, make_group, case):
    gpus, where, classes, wanted = EXTENDED[case]
    lists = {"ResourceSlice": slices("x", "y"), "ResourceClaim": [], "DeviceClass": classes}
    checks = check([make_group(pod(gpus))], [where], **lists)
    assert [level for level, _text in checks] == wanted


def test_check_nodes_extended_resource_taken_once(check, make_group):
    lists = {"ResourceSlice": slices("x", "y"), "ResourceClaim": [], "DeviceClass": [offering("d")]}
    checks = check([make_group(pod(1), 3)], [node(gpus=0)], **lists)
    assert [level for level, _text in checks] == ["error"]
    assert "2 of 3 fit" in checks[0][1]


@pytest.mark.parametrize(
    ("nodes", "wanted"),
    [
        pytest.param([node()], False, id="fits"),
        pytest.param([node(gpus=0)], True, id="does not fit"),
        pytest.param(None, False, id="unknown"),
    ],
)
def test_lacks_room(make_group, make_rendered, make_facts, nodes, wanted):
    facts = make_facts(lists={} if nodes is None else {"Node": nodes, "Pod": []})
    assert lacks_room([make_group(pod())], make_rendered(), facts) is wanted


def test_check_nodes_devices_of_replaced_pods(check, make_group):
    own = live(0, "llm-1")
    group = make_group(CLAIMING, existing=(own,), is_replaced=True)
    lists = {"ResourceSlice": slices("x"), "ResourceClaim": [allocated("x", "llm-1")]}
    checks = check([group], [node()], [own], [template()], **lists, DeviceClass=[CLASS])
    assert [level for level, _text in checks] == ["ok"]


def test_check_nodes_shared_claim(check, make_group):
    spec = {"resourceClaims": [{"name": "x", "resourceClaimName": "shared"}]}
    claim = {
        "kind": "ResourceClaim",
        "metadata": {"name": "shared", "namespace": "nim"},
        "spec": template()["spec"]["spec"],
    }
    lists = {"ResourceSlice": slices("x"), "ResourceClaim": [], "DeviceClass": [CLASS]}
    checks = check([make_group(spec, 2)], [node()], objects=[claim], **lists)
    assert [level for level, _text in checks] == ["ok"]


def test_check_device_claims(make_group, make_rendered, make_facts, levels):
    lists = {"DeviceClass": [CLASS]}
    group = make_group(CLAIMING)
    facts = make_facts(template(name="lost"), lists=lists)
    ((level, text),) = levels(check_device_claims([group], make_rendered(), facts))
    assert (level, text) == ("error", "the DeviceClass lost does not exist")
    facts = make_facts(absent=[("ResourceClaimTemplate", "gpus")], lists=lists)
    ((level, text),) = levels(check_device_claims([group], make_rendered(), facts))
    assert text.startswith("ResourceClaimTemplate gpus does not exist")
    assert levels(check_device_claims([group], make_rendered(template()), facts)) == []
    assert claims_named(CLAIMING) == [("ResourceClaimTemplate", "gpus")]
