# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Devices of DRA drivers."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.preflight.devices import (
    Claim,
    Devices,
    devices_of,
    tolerates,
    used_by,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.preflight.placement import (
    Node,
    selects_node,
)

NODE = Node("a", {"zone": "x"}, [], {})
ZONE = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]}


def slice_of(*names, generation=1, **spec):
    pool = {"name": "a", "generation": generation, "resourceSliceCount": 1}
    devices = [{"name": name} if isinstance(name, str) else name for name in names]
    where = spec or {"nodeName": "a"}
    return {"spec": {"driver": "gpu.nvidia.com", "pool": pool, "devices": devices, **where}}


def claim(count=1, **request):
    exactly = {"deviceClassName": "gpu.nvidia.com", "count": count, **request}
    return Claim({"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}})


def cel(expression):
    return [{"cel": {"expression": expression}}]


TAINTED = {"name": "x", "taints": [{"key": "bad", "effect": "NoSchedule"}]}
CLASS = {"spec": {"selectors": cel('device.driver == "gpu.nvidia.com"')}}

CASES = {
    "enough": ([slice_of("x", "y")], [claim(2)], ""),
    "too few": ([slice_of("x")], [claim(2)], "with 1 of 1 suitable devices"),
    "two claims": ([slice_of("x")], [claim(), claim()], "with 0 of 1 suitable devices"),
    "another node": ([slice_of("x", nodeName="b")], [claim()], "without a suitable device"),
    "all nodes": ([slice_of("x", allNodes=True)], [claim()], ""),
    "selected nodes": ([slice_of("x", nodeSelector=ZONE)], [claim()], ""),
    "each device has its node": (
        [slice_of({"name": "x", "nodeName": "a"}, perDeviceNodeSelection=True)],
        [claim()],
        "",
    ),
    "an old generation": (
        [slice_of("x", "y"), slice_of("z", generation=2)],
        [claim(2)],
        "with 1 of 1 suitable",
    ),
    "a selector": ([slice_of("x")], [claim(selectors=cel("false"))], "without a suitable device"),
    "a selector of a missing attribute": (
        [slice_of("x")],
        [claim(selectors=cel('device.attributes["a"].b == "c"'))],
        "with a device without an attribute",
    ),
    "enough devices before one without the attribute": (
        [slice_of({"name": "x", "attributes": {"a/b": {"string": "c"}}}, "y")],
        [claim(selectors=cel('device.attributes["a"].b == "c"'))],
        "",
    ),
    "requests for any device and for a certain one": (
        [slice_of({"name": "x", "attributes": {"a/b": {"bool": True}}}, "y")],
        [
            Claim(
                {
                    "devices": {
                        "requests": [
                            {"exactly": {"deviceClassName": "gpu.nvidia.com"}},
                            {
                                "exactly": {
                                    "deviceClassName": "gpu.nvidia.com",
                                    "selectors": cel('has(device.attributes["a"].b)'),
                                }
                            },
                        ]
                    }
                }
            )
        ],
        "",
    ),
    "a taint": ([slice_of(TAINTED)], [claim()], "without a suitable device"),
    "a tolerated taint": (
        [slice_of(TAINTED)],
        [claim(tolerations=[{"key": "bad", "operator": "Exists"}])],
        "",
    ),
    "all": ([slice_of("x", "y")], [claim(allocationMode="All")], ""),
    "all of none": ([], [claim(allocationMode="All")], "without a suitable device"),
    "administrator": ([slice_of("x")], [claim(adminAccess=True), claim()], ""),
    "the second choice": (
        [slice_of("x")],
        [
            Claim(
                {
                    "devices": {
                        "requests": [
                            {
                                "firstAvailable": [
                                    {"deviceClassName": "gpu.nvidia.com", "count": 2},
                                    {"deviceClassName": "gpu.nvidia.com", "count": 1},
                                ]
                            }
                        ]
                    }
                }
            )
        ],
        "",
    ),
    "an allocated claim": ([], [Claim({}, "nim/a", True, ZONE)], ""),
}


@pytest.mark.parametrize("case", CASES)
def test_devices_why_not(case):
    slices, claims, wanted = CASES[case]
    devices = Devices(devices_of(slices), {"gpu.nvidia.com": CLASS}, selects_node)
    found = devices.why_not(NODE, claims)
    assert found.startswith(wanted) if wanted else found == ""


RULES = {
    "any device": ({}, True),
    "no selector": (None, False),
    "the device": ({"driver": "gpu.nvidia.com", "pool": "a", "device": "x"}, True),
    "another device": ({"driver": "gpu.nvidia.com", "pool": "a", "device": "y"}, False),
    "the pool": ({"pool": "a"}, True),
    "another pool": ({"pool": "b"}, False),
    "another driver": ({"driver": "d"}, False),
}


@pytest.mark.parametrize("case", RULES)
def test_devices_of_taint_rules(case):
    selector, wanted = RULES[case]
    taint = {"key": "bad", "effect": "NoExecute"}
    rules = [{"spec": {"deviceSelector": selector, "taint": taint}}]
    (device,) = devices_of([slice_of(TAINTED)], rules)
    assert device.fields["taints"] == [*TAINTED["taints"], *([taint] if wanted else [])]


def test_devices_allocate():
    devices = Devices(devices_of([slice_of("x", "y")]), {"gpu.nvidia.com": CLASS}, selects_node)
    shared = Claim(claim().spec, shared="nim/a")
    devices.allocate(NODE, [shared])
    devices.allocate(NODE, [shared, claim()])
    assert len(devices.used) == 2
    assert devices.why_not(NODE, [shared]) == ""
    other = Node("b", {}, [], {})
    assert devices.why_not(other, [shared]) == "away from the devices of a claim"


def test_devices_unknown_expression_is_reported():
    devices = Devices(devices_of([slice_of("x")]), {}, selects_node)
    assert devices.why_not(NODE, [claim(selectors=cel("f(device)"))]) == ""
    assert devices.copy().unknown == {"f(device)"}


def test_used_by():
    results = [
        {"driver": "d", "pool": "p", "device": "x"},
        {"driver": "d", "pool": "p", "device": "y", "adminAccess": True},
    ]
    claims = [{"status": {"allocation": {"devices": {"results": results}}}}, {}]
    assert used_by(claims) == {("d", "p", "x")}


TAINT = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("toleration", "wanted"),
    [
        ({"operator": "Exists"}, True),
        ({"key": "gpu", "operator": "Exists"}, True),
        ({"key": "gpu", "value": "yes"}, True),
        ({"key": "gpu", "value": "no"}, False),
        ({"key": "gpu", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "other", "operator": "Exists"}, False),
    ],
)
def test_tolerates(toleration, wanted):
    assert tolerates(toleration, TAINT) is wanted
