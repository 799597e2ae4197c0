# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import copy

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.app import NIMServiceApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.model_store import Store
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.multi_node.leader_worker_set import (
    build_groups,
    count_groups,
)

STORE = Store({"emptyDir": {}})
MPI = {"multiNode": {"parallelism": {"pipeline": 3, "tensor": 8}}}
RAY = {"multiNode": {"parallelism": {"pipeline": 2, "tensor": 8}, "ray": {"rayPort": 7000}}}
SIDE = {"name": "side", "image": {"repository": "r", "tag": "2"}, "env": [{"name": "E"}]}
VERSION = "app.kubernetes.io/operator-version"


def build(make, spec, *live, **answers):
    return build_groups(make.app(spec, *live, **answers), STORE)


def template_of(groups, role):
    return groups["spec"]["leaderWorkerTemplate"][f"{role}Template"]


def pods_of(groups):
    return [template_of(groups, role)["spec"] for role in ("leader", "worker")]


def models_of(groups):
    return [pod["containers"][0] for pod in pods_of(groups)]


def names(items):
    return [item["name"] for item in items]


def test_build_groups(make):
    made = build(make, MPI | {"replicas": 2})
    assert (made["kind"], made["metadata"]["name"]) == ("LeaderWorkerSet", "llm-lws")
    frame = {key: value for key, value in made["spec"].items() if key != "leaderWorkerTemplate"}
    assert frame == {
        "replicas": 2,
        "networkConfig": {"subdomainPolicy": "Shared"},
        "rolloutStrategy": {
            "type": "RollingUpdate",
            "rollingUpdateConfiguration": {"maxSurge": 0, "maxUnavailable": 1},
        },
        "startupPolicy": "LeaderCreated",
    }
    groups = made["spec"]["leaderWorkerTemplate"]
    assert (groups["size"], groups["restartPolicy"]) == (3, "RecreateGroupOnPodRestart")


def test_build_groups_labels(make):
    made = build(make, MPI | {"labels": {"app": "mine", "team": "x"}})
    leader, worker = (template_of(made, role)["metadata"] for role in ("leader", "worker"))
    assert leader["labels"] == made["metadata"]["labels"] | {
        "app": "llm-lws",
        "nim-llm-role": "leader",
    }
    assert leader["labels"]["team"] == "x"
    assert worker == {"annotations": leader["annotations"]}


@pytest.mark.parametrize(
    ("spec", "field", "wanted"),
    [
        pytest.param({}, "serviceAccountName", "llm", id="account"),
        pytest.param({"affinity": {"podAffinity": {}}}, "affinity", {"podAffinity": {}}, id="aff."),
        pytest.param({"runtimeClassName": "nvidia"}, "runtimeClassName", "nvidia", id="runtime"),
        pytest.param({"schedulerName": "s"}, "schedulerName", "s", id="scheduler"),
        pytest.param({"priorityClassName": "p"}, "priorityClassName", "p", id="priority"),
        pytest.param({"nodeSelector": {"a": "1"}}, "nodeSelector", {"a": "1"}, id="nodes"),
        pytest.param({"tolerations": [{"key": "a"}]}, "tolerations", [{"key": "a"}], id="taints"),
        pytest.param(
            {},
            "securityContext",
            {"runAsUser": 1000, "runAsGroup": 2000, "fsGroup": 2000},
            id="user",
        ),
    ],
)
def test_build_groups_placement(make, spec, field, wanted):
    assert [pod.get(field) for pod in pods_of(build(make, MPI | spec))] == [wanted, wanted]


def test_build_groups_mpi_containers(make):
    leader, worker = models_of(build(make, MPI | {"expose": {"service": {"grpcPort": 81}}}))
    assert names((leader, worker)) == ["nim-leader", "nim-worker"]
    assert leader["image"] == worker["image"] == "registry.example/nim:1.0"
    assert leader["imagePullPolicy"] == worker["imagePullPolicy"] == "IfNotPresent"
    assert names(leader["ports"]) == names(worker["ports"]) == ["api", "grpc"]
    assert {"livenessProbe", "readinessProbe", "startupProbe"} <= set(leader)
    assert not [field for field in worker if field.endswith("Probe")]
    assert not {"command", "args"} & (set(leader) | set(worker))


def test_build_groups_ray_containers(make):
    leader, worker = models_of(build(make, RAY))
    assert leader["args"] == ["nim-serve-ray", "--head", "--port", "7000"]
    assert worker["args"] == ["nim-serve-ray", "--head-address", "$(LWS_LEADER_ADDRESS):7000"]
    ray = {"name": "ray", "containerPort": 7000, "protocol": "TCP"}
    assert leader["ports"][-1] == worker["ports"][-1] == ray
    assert {"livenessProbe", "readinessProbe", "startupProbe"} <= set(leader)
    assert [field for field in worker if field.endswith("Probe")] == ["startupProbe"]
    assert worker["startupProbe"] == {
        "exec": {"command": ["/bin/sh", "-c", "ray status"]},
        "initialDelaySeconds": 30,
        "timeoutSeconds": 5,
        "periodSeconds": 10,
        "failureThreshold": 3,
    }


@pytest.mark.parametrize("mode", [MPI, RAY], ids=["mpi", "ray"])
def test_build_groups_user_command(make, mode):
    for model in models_of(build(make, mode | {"command": ["c"], "args": ["a"]})):
        assert (model["command"], model["args"]) == (["c"], ["a"])


@pytest.mark.parametrize(
    ("mode", "leader", "worker"),
    [
        pytest.param(
            MPI,
            ["mpi-config", "ssh-dotfiles", "ssh-pk", "start-mpi-script"],
            ["ssh-confs", "ssh-dotfiles", "ssh-pk", "start-mpi-script"],
            id="mpi",
        ),
        pytest.param(RAY, [], [], id="ray"),
    ],
)
def test_build_groups_volumes(make, mode, leader, worker):
    made = build(make, mode | {"proxy": {"certConfigMap": "ca"}})
    for pod, more in zip(pods_of(made), (leader, worker), strict=True):
        assert names(pod["volumes"]) == [
            "dshm",
            "model-store",
            "ca-cert-volume",
            "custom-ca",
            *more,
        ]
        mounts = names(pod["containers"][0]["volumeMounts"])
        assert mounts == ["model-store", "dshm", "ca-cert-volume", *more]


def test_build_groups_side_containers(make):
    made = build(make, MPI | {"initContainers": [SIDE], "sidecarContainers": [SIDE]})
    for pod in pods_of(made):
        model, side = pod["containers"]
        (init,) = pod["initContainers"]
        assert side["volumeMounts"] == model["volumeMounts"]
        assert names(init["volumeMounts"]) == ["model-store", "scratch"]
        for made_of_it in (side, init):
            env = names(made_of_it["env"])
            assert (env[0], env[-1]) == ("E", "NIM_NODE_RANK")
            assert "NIM_LEADER_ROLE" not in env


@pytest.mark.parametrize(
    ("given", "live", "applied", "count"),
    [
        pytest.param(None, None, None, 1, id="unset, new"),
        pytest.param(None, 3, 3, 3, id="unset, live"),
        pytest.param(2, None, 2, 2, id="given"),
        pytest.param(2, 5, 2, 2, id="given, live differs"),
        pytest.param(0, 1, 0, 0, id="put to sleep"),
    ],
)
def test_count_groups(make, given, live, applied, count):
    cr = make.cr(MPI | {"replicas": given})
    groups = [] if live is None else [build(make, MPI | {"replicas": live})]
    observed = make.observe(*groups)
    assert build_groups(NIMServiceApp(cr, observed), STORE)["spec"].get("replicas") == applied
    assert count_groups(NIMServiceApp(cr, observed)) == count


def test_count_groups_foreign_replicas(make):
    cr, live = make.cr(MPI | {"replicas": None}), build(make, MPI | {"replicas": 4})
    fields = {"f:spec": {"f:replicas": {}}}
    live["metadata"]["managedFields"] = [{"subresource": "scale", "fieldsV1": fields}]
    observed = make.observe(live)
    assert "replicas" not in build_groups(NIMServiceApp(cr, observed), STORE)["spec"]
    assert count_groups(NIMServiceApp(cr, observed)) == 4


@pytest.mark.parametrize(
    ("spec", "applied", "count"),
    [(2, None, 4), (0, 0, 0)],
)
def test_count_groups_scaled_manually(make, spec, applied, count):
    cr, live = make.cr(MPI | {"replicas": spec}), build(make, MPI | {"replicas": 4})
    fields = {"f:spec": {"f:replicas": {}}}
    live["metadata"]["managedFields"] = [
        {"manager": "kubectl", "subresource": "scale", "fieldsV1": fields}
    ]
    app = NIMServiceApp(cr, make.observe(live))
    made = build_groups(app, STORE)
    assert (made["spec"].get("replicas"), count_groups(app)) == (applied, count)
    recorded = made["metadata"]["annotations"].get("nimops.nim/spec-replicas")
    assert recorded == (None if spec == 0 else "2")


def test_build_groups_operator_upgrade(make):
    live = build(make, MPI, operator={"version": "1"})
    made = build(make, MPI, live, operator={"version_label": "2"})
    assert made["metadata"]["labels"][VERSION] == "2"
    assert made["spec"] == live["spec"]


def of_the_reference(make, spec):
    """The groups of the reference, with the default of LWS."""
    live = copy.deepcopy(build(make, spec))
    for pod in pods_of(live):
        del pod["serviceAccountName"]
        del pod["containers"][0]["imagePullPolicy"]
    live["spec"]["rolloutStrategy"]["rollingUpdateConfiguration"]["partition"] = 0
    return live


@pytest.mark.parametrize(
    ("change", "is_mended"),
    [
        pytest.param({}, False, id="nothing changed"),
        pytest.param({"replicas": 3}, False, id="scaled"),
        pytest.param({"env": [{"name": "A", "value": "1"}]}, True, id="env"),
        pytest.param({"affinity": {"podAffinity": {}}}, True, id="affinity"),
        pytest.param({"image": {"repository": "r", "tag": "2"}}, True, id="image"),
    ],
)
def test_build_groups_takeover(make, change, is_mended):
    live = of_the_reference(make, MPI)
    made = build(make, MPI | change, live)
    same = (
        made["spec"]["leaderWorkerTemplate"] | {"size": 3} == live["spec"]["leaderWorkerTemplate"]
    )
    assert same is not is_mended
    assert ["serviceAccountName" in pod for pod in pods_of(made)] == [is_mended, is_mended]


def test_build_groups_unchanged(make):
    live = build(make, MPI)
    assert build(make, MPI, live)["spec"] == live["spec"]


@pytest.mark.parametrize(
    ("image", "kept"),
    [
        pytest.param("registry.example/nim:1.0", True, id="same image"),
        pytest.param("registry.example/nim:0.9", False, id="another image"),
    ],
)
def test_build_groups_keeps_live_script(make, image, kept):
    spec = MPI | {"proxy": {"certConfigMap": "ca"}}
    live = copy.deepcopy(build(make, spec))
    for pod in pods_of(live):
        pod["initContainers"][0] |= {"image": image, "command": ["sh"], "args": ["theirs"]}
    for pod in pods_of(build(make, spec, live)):
        assert (pod["initContainers"][0].get("args") == ["theirs"]) is kept
