# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The pods of rendered objects."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.preflight.workloads import (
    Planned,
    pod_groups,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import (
    ObjectKey as Key,
)

PARENT = Key("NIMService", "nim", "llm")
POD = {"containers": [{"name": "c"}]}
TEMPLATE = {"metadata": {"labels": {"app": "llm"}}, "spec": POD}
SELECTOR = {"matchLabels": {"app": "llm"}}


def item(kind, live=None, restarts=False, **spec):
    metadata = {"name": "llm", "namespace": "nim"}
    manifest = {"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": spec}
    return Planned(PARENT, manifest, live, restarts)


def group_of(size, **more):
    return {"leaderWorkerTemplate": {"size": size, "workerTemplate": TEMPLATE, **more}}


COUNTS = {
    "a Deployment": (item("Deployment", replicas=3, template=TEMPLATE), [3]),
    "its default": (item("Deployment", template=TEMPLATE), [1]),
    "a live count": (
        item("Deployment", {"spec": {"replicas": 4, "selector": SELECTOR}}, template=TEMPLATE),
        [4],
    ),
    "no replicas": (item("Deployment", replicas=0, template=TEMPLATE), [0]),
    "a Job": (item("Job", template=TEMPLATE), [1]),
    "a complete Job": (
        item(
            "Job",
            {"status": {"conditions": [{"type": "Complete", "status": "True"}]}},
            template=TEMPLATE,
        ),
        [0],
    ),
    "groups": (item("LeaderWorkerSet", replicas=2, **group_of(3)), [6]),
    "groups with leaders": (
        item("LeaderWorkerSet", replicas=2, **group_of(3, leaderTemplate=TEMPLATE)),
        [4, 2],
    ),
    "an InferenceService": (item("InferenceService", predictor={"minReplicas": 2, **POD}), [2]),
    "one that scales to zero": (
        item("InferenceService", predictor={"minReplicas": 0, **POD}),
        [0],
    ),
    "a pod": (item("Pod", **POD), [1]),
    "a DaemonSet": (item("DaemonSet", template=TEMPLATE), [1]),
    "a Service": (item("Service"), []),
}


@pytest.mark.parametrize("case", COUNTS)
def test_pod_groups(case):
    planned, wanted = COUNTS[case]
    groups = pod_groups([planned])
    assert [group.count for group in groups] == wanted
    assert all(group.spec["containers"] == POD["containers"] for group in groups)
    assert {group.runs_to_completion for group in groups} <= {planned.key.kind in ("Job", "Pod")}


def live_pod(name="a", node="n", phase="Running", **labels):
    metadata = {"name": name, "namespace": "nim", "labels": labels}
    return {"metadata": metadata, "spec": {"nodeName": node}, "status": {"phase": phase}}


LIVE = {"spec": {"replicas": 2, "selector": SELECTOR}}
LWS = "leaderworkerset.sigs.k8s.io/name"
BELONGING = {
    "running": (
        item("Deployment", LIVE, replicas=2, template=TEMPLATE),
        [live_pod(app="llm"), live_pod("b", app="llm")],
        0,
    ),
    "one of two": (
        item("Deployment", LIVE, replicas=2, template=TEMPLATE),
        [live_pod(app="llm")],
        1,
    ),
    "pending": (
        item("Deployment", LIVE, replicas=1, template=TEMPLATE),
        [live_pod(node="", app="llm")],
        1,
    ),
    "ended": (
        item("Deployment", LIVE, replicas=1, template=TEMPLATE),
        [live_pod(phase="Failed", app="llm")],
        1,
    ),
    "replaced": (
        item("Deployment", LIVE, True, replicas=1, template=TEMPLATE),
        [live_pod(app="llm")],
        1,
    ),
    "of another": (
        item("Deployment", LIVE, replicas=1, template=TEMPLATE),
        [live_pod(app="other")],
        1,
    ),
    "new": (item("Deployment", replicas=1, template=TEMPLATE), [live_pod(app="llm")], 1),
    "a group": (
        item("LeaderWorkerSet", {}, replicas=1, **group_of(2)),
        [live_pod(**{LWS: "llm"}), live_pod("b", **{LWS: "llm"})],
        0,
    ),
    "a predictor": (
        item("InferenceService", {}, predictor=POD),
        [live_pod(**{"serving.kserve.io/inferenceservice": "llm"})],
        0,
    ),
    "of a Job": (item("Job", {}, template=TEMPLATE), [live_pod(**{"job-name": "llm"})], 0),
    "itself": (item("Pod", {}, **POD), [live_pod("llm")], 0),
}


@pytest.mark.parametrize("case", BELONGING)
def test_pod_group_new(case):
    planned, pods, wanted = BELONGING[case]
    assert sum(group.new for group in pod_groups([planned], pods)) == wanted


def test_pod_group_released_if_replaced():
    pods = [live_pod(app="llm")]
    (kept,) = pod_groups([item("Deployment", LIVE, template=TEMPLATE)], pods)
    strategy = {"type": "Recreate"}
    planned = item("Deployment", LIVE, True, template=TEMPLATE, strategy=strategy)
    (replaced,) = pod_groups([planned], pods)
    assert (kept.released, replaced.released) == ((), tuple(pods))


@pytest.mark.parametrize(
    ("strategy", "wanted"),
    [
        ({"type": "Recreate"}, (2, 1)),
        ({"rollingUpdate": {"maxSurge": 0}}, (2, 1)),
        ({"rollingUpdate": {"maxSurge": 1}}, (1, 0)),
        ({}, (1, 0)),
    ],
)
def test_pod_group_surge(strategy, wanted):
    """A rollout that surges needs room for one more pod."""
    planned = item("Deployment", LIVE, True, replicas=2, template=TEMPLATE, strategy=strategy)
    (group,) = pod_groups([planned], [live_pod(app="llm")])
    assert (group.new, len(group.released)) == wanted


def test_rendered_find(make_rendered):
    rendered = make_rendered({"kind": "Service", "metadata": {"name": "a", "namespace": "nim"}})
    assert rendered.find("Service", "nim", "a")["kind"] == "Service"
    assert rendered.find("Service", "nim", "b") is None
