# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Excerpts of events, nodes, definitions and logs."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.gather.support_views import (
    event_concerns,
    join_log,
    list_containers,
    show_definition,
    show_event,
    show_node,
    sort_events,
)

STATES = {
    "runs": ({"state": {"running": {}}}, False, ""),
    "has ended": ({"state": {"terminated": {}}}, False, ""),
    "waits": ({"state": {"waiting": {"reason": "ImagePullBackOff"}}}, False, "ImagePullBackOff"),
    "crashes": (
        {
            "state": {"waiting": {"reason": "CrashLoopBackOff"}},
            "lastState": {"terminated": {"exitCode": 1}},
        },
        True,
        "",
    ),
    "was restarted": ({"state": {"running": {}}, "restartCount": 2}, True, ""),
    "is unknown": (None, False, "the pod is Pending"),
}


@pytest.mark.parametrize(("state", "has_previous", "waits_for"), STATES.values(), ids=STATES)
def test_list_containers(state, has_previous, waits_for):
    statuses = [{"name": "main", **state}] if state else None
    pod = {
        "metadata": {"name": "p", "namespace": "nim"},
        "spec": {"initContainers": [{"name": "init"}], "containers": [{"name": "main"}]},
        "status": {"phase": "Pending", "containerStatuses": statuses},
    }
    init, main = list_containers(pod)
    assert (init.name, init.waits_for) == ("init", "the pod is Pending")
    assert (main.has_previous, main.waits_for) == (has_previous, waits_for)


LOGS = {
    "a gap": (
        "a\nb\nhalf",
        "c\nd\n",
        "a\nb\n--- nimops: lines omitted ---\nc\nd\n",
        False,
    ),
    "no gap": ("a\nb\nc\nhal", "c\nhalf\nd\n", "a\nb\nc\nhalf\nd\n", True),
    "all of it": ("a\nb", "a\nb\n", "a\nb\n", True),
    "no end": ("a\nhalf", "", "a\n--- nimops: lines omitted ---\n", False),
}


@pytest.mark.parametrize(("head", "end", "text", "is_whole"), LOGS.values(), ids=LOGS)
def test_join_log(head, end, text, is_whole):
    assert join_log(head, end) == (text, is_whole)


def event(called="e", time="2026-01-01T00:00:00Z", **involved):
    return {
        "metadata": {"name": called, "creationTimestamp": "2025-01-01T00:00:00Z"},
        "involvedObject": involved,
        "lastTimestamp": time,
        "message": "m",
        "count": None,
    }


SERVICE = {
    "apiVersion": "apps.nvidia.com/v1alpha1",
    "kind": "NIMService",
    "metadata": {"name": "llm", "uid": "u1"},
}
ACCOUNT = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}


@pytest.mark.parametrize(
    ("involved", "is_so"),
    [
        pytest.param({"uid": "u1", "name": "x"}, True, id="uid"),
        pytest.param({"kind": "NIMService", "name": "llm", "uid": "old"}, True, id="namesake"),
        pytest.param({"kind": "Pod", "name": "llm-abc-1"}, True, id="a lost pod"),
        pytest.param({"kind": "Pod", "name": "llm"}, False, id="another kind"),
        pytest.param({"kind": "Pod", "name": "default-x"}, False, id="named after an account"),
        pytest.param({}, False, id="nothing"),
    ],
)
def test_event_concerns(involved, is_so):
    assert event_concerns(event(**involved), [SERVICE, ACCOUNT]) is is_so


def test_sort_events():
    events = [
        event("c", "2026-01-01T00:00:01Z"),
        {**event("b", None), "eventTime": "2026-01-01T00:00:00.5Z"},
        event("a", "2026-01-01T00:00:01Z"),
        event("d", None),
    ]
    assert [item["metadata"]["name"] for item in sort_events(events)] == ["d", "b", "a", "c"]
    assert show_event(events[0]) == {
        "time": "2026-01-01T00:00:01",
        "involvedObject": {},
        "lastTimestamp": "2026-01-01T00:00:01Z",
        "message": "m",
    }


def test_show_node():
    node = {
        "metadata": {"name": "n", "labels": {"a": "b"}, "annotations": {"x": "hidden"}},
        "spec": {"taints": [{"key": "t"}], "podCIDR": "hidden"},
        "status": {
            "allocatable": {"nvidia.com/gpu": "8"},
            "addresses": ["hidden"],
            "images": ["hidden"],
            "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "hidden"}],
            "nodeInfo": {"kubeletVersion": "v1", "machineID": "hidden", "systemUUID": "hidden"},
        },
    }
    found = show_node(node)
    assert "hidden" not in str(found)
    assert found["allocatable"] == {"nvidia.com/gpu": "8"}
    assert found["nodeInfo"] == {"kubeletVersion": "v1"}
    assert show_node({"metadata": {"name": "new"}})["taints"] == []


def test_show_definition():
    definition = {
        "metadata": {"name": "nimservices.apps.nvidia.com", "annotations": {"a": "b"}},
        "spec": {"versions": [{"name": "v1", "served": True, "schema": {"large": 1}}]},
        "status": {"storedVersions": ["v1"]},
    }
    found = show_definition(definition)
    version = {"name": "v1", "served": True, "storage": False, "deprecated": False}
    assert found["versions"] == [version]
    assert found["storedVersions"] == ["v1"]
