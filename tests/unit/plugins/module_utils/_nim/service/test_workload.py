# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.app import NIMServiceApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.deployment import (
    build_deployment,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.model_store import Store
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.multi_node.leader_worker_set import (
    build_groups,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.workload import (
    LEADER,
    WORKER,
    container_of,
    count_pods,
    deployment_of,
    groups_of,
    has_workload,
    is_known,
    live_template,
    live_workload,
    other_workload,
    selector_labels,
    selector_of,
    workload_of,
)

STORE = Store({"emptyDir": {}})
MPI = {"multiNode": {"parallelism": {"pipeline": 3, "tensor": 1}}}
KSERVE = {"inferencePlatform": "kserve"}


@pytest.mark.parametrize(("predictor", "count"), [({}, 1), ({"minReplicas": 3}, 3)])
def test_count_pods_kserve(make, predictor, count):
    assert count_pods(NIMServiceApp(make.cr(KSERVE), make.inference(predictor))) == count


def live(make, workload, spec=None, **metadata):
    """The live object of a workload, controlled by the service."""
    owner = {"controller": True, "uid": "u1"}
    kind, name = workload
    meta = {"name": name, "namespace": "ns", "ownerReferences": [owner], **metadata}
    return {"kind": kind, "metadata": meta, "spec": spec or {}}


@pytest.mark.parametrize(
    ("spec", "wanted", "other"),
    [
        pytest.param({}, ("Deployment", "llm"), ("LeaderWorkerSet", "llm-lws"), id="one node"),
        pytest.param(MPI, ("LeaderWorkerSet", "llm-lws"), ("Deployment", "llm"), id="groups"),
        pytest.param(
            {"multiNode": {"parallelism": {"pipeline": 1}}},
            ("Deployment", "llm"),
            ("LeaderWorkerSet", "llm-lws"),
            id="groups of one node",
        ),
        pytest.param(
            KSERVE, ("InferenceService", "llm"), ("LeaderWorkerSet", "llm-lws"), id="KServe"
        ),
    ],
)
def test_workload_of(make, spec, wanted, other):
    app = make.app(spec)
    assert (workload_of(app), other_workload(app)) == (wanted, other)


@pytest.mark.parametrize(
    ("spec", "names"),
    [({}, ("llm-ctr", "llm-ctr")), (KSERVE, ("llm-ctr",) * 2), (MPI, ("nim-leader", "nim-worker"))],
    ids=["Deployment", "KServe", "groups"],
)
def test_container_of(make, spec, names):
    app = make.app(spec)
    assert (container_of(app), container_of(app, "worker")) == names


SIDE = {"name": "side", "image": {"repository": "r/side", "tag": "1"}}


@pytest.mark.parametrize(
    ("spec", "names", "found"),
    [
        pytest.param({}, ["llm-ctr"], "llm-ctr", id="not renamed"),
        pytest.param({}, ["kserve-container"], "kserve-container", id="renamed by the webhook"),
        pytest.param({"sidecarContainers": [SIDE]}, [], "kserve-container", id="several"),
        pytest.param(
            {"sidecarContainers": [SIDE]}, ["llm-ctr", "side"], "kserve-container", id="not served"
        ),
    ],
)
def test_container_of_inference_service(make, spec, names, found):
    predictor = {"containers": [{"name": name} for name in names]}
    assert container_of(NIMServiceApp(make.cr(KSERVE | spec), make.inference(predictor))) == found


@pytest.mark.parametrize(
    ("spec", "fields", "leader", "worker"),
    [
        pytest.param({}, {"template": {"spec": 1}}, {"spec": 1}, {"spec": 1}, id="Deployment"),
        pytest.param({}, {}, {}, {}, id="no template"),
        pytest.param(
            MPI,
            {"leaderWorkerTemplate": {"leaderTemplate": {"a": 1}, "workerTemplate": {"b": 1}}},
            {"a": 1},
            {"b": 1},
            id="groups",
        ),
        pytest.param(MPI, {"leaderWorkerTemplate": {}}, {}, {}, id="groups without templates"),
        pytest.param(
            KSERVE, {"predictor": {"x": 1}}, {"spec": {"x": 1}}, {"spec": {"x": 1}}, id="KServe"
        ),
    ],
)
def test_live_template(make, spec, fields, leader, worker):
    cr = make.cr(spec)
    found = live(make, workload_of(make.app(cr)), fields)
    app = make.app(cr, found)
    assert live_workload(app) == found
    assert (live_template(app), live_template(app, "worker")) == (leader, worker)


@pytest.mark.parametrize(
    ("spec", "fields", "count"),
    [
        pytest.param({}, None, 1, id="none yet"),
        pytest.param({}, {"replicas": 4}, 4, id="Deployment"),
        pytest.param({}, {"replicas": 0}, 0, id="scaled down"),
        pytest.param(MPI, None, 3, id="no groups yet"),
        pytest.param(MPI, {"replicas": 2}, 6, id="groups"),
    ],
)
def test_count_pods(make, spec, fields, count):
    cr = make.cr(spec)
    objects = [live(make, workload_of(make.app(cr)), fields)] if fields else []
    assert count_pods(make.app(cr, *objects)) == count


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({}, True),
        ({"ownerReferences": []}, False),
        ({"ownerReferences": [{"controller": True, "uid": "u2"}]}, False),
        ({"deletionTimestamp": "now"}, False),
    ],
    ids=["ours", "no owner", "foreign", "being deleted"],
)
def test_has_workload(make, metadata, expected):
    plain = make.app()
    found = live(make, groups_of(plain), **metadata)
    app = make.app(None, found)
    assert has_workload(app, groups_of(app)) is expected
    assert not has_workload(app, deployment_of(app))


def test_is_known(make):
    assert not is_known(make.app())
    answers = {"Deployment/ns/llm": None}
    assert is_known(make.app(**answers))
    assert not is_known(make.app(MPI, **answers))


@pytest.mark.parametrize("spec", [{}, MPI], ids=["one node", "groups"])
def test_selector_of_labels_of_pods(make, spec):
    """The pods of the built workload have the labels, and of a group only the leader."""
    app = make.app(spec)
    wanted = selector_of(app).items()
    if spec:
        groups = build_groups(app, STORE)["spec"]["leaderWorkerTemplate"]
        roles = {role: groups[f"{role}Template"]["metadata"] for role in (LEADER, WORKER)}
        found = [role for role in roles if wanted <= roles[role].get("labels", {}).items()]
        assert found == [LEADER]
        return
    built = build_deployment(app, STORE)["spec"]
    assert dict(wanted) == built["selector"]["matchLabels"]
    assert wanted <= built["template"]["metadata"]["labels"].items()


@pytest.mark.parametrize("mode", ["Standard", "Knative"])
def test_selector_of_kserve(make, mode):
    app = NIMServiceApp(make.cr(KSERVE), make.inference(deploymentMode=mode))
    assert selector_of(app) == {"serving.kserve.io/inferenceservice": "llm"}


def test_selector_labels(make):
    app = make.app()
    assert selector_labels(deployment_of(app)) == {"app": "llm"}
    assert selector_labels(groups_of(app)) == {"app": "llm-lws", "nim-llm-role": "leader"}
