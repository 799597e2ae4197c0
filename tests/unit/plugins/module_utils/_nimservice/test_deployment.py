# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import copy
import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.deployment import (
    build_deployment,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.store import Store

STORE = Store({"emptyDir": {}})
SIDE = {"name": "side", "image": {"repository": "r", "tag": "2"}}


def pod_of(deployment: dict[str, t.Any]) -> dict[str, t.Any]:
    pod = deployment["spec"]["template"]["spec"]
    assert isinstance(pod, dict)
    return pod


def build_pod(make: t.Any, spec: t.Any, *live: t.Any, **answers: t.Any) -> dict[str, t.Any]:
    return pod_of(build_deployment(make.cr(spec), make.observe(*live, **answers), STORE))


def test_frame(make: t.Any) -> None:
    made = build_deployment(make.cr(), make.observe(operator={"version": "7"}), STORE)
    assert made["spec"]["replicas"] == 1
    assert made["spec"]["strategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": 0},
    }
    assert made["spec"]["selector"] == {"matchLabels": {"app": "llm"}}
    assert made["spec"]["template"]["metadata"]["labels"] == made["metadata"]["labels"] | {
        "app": "llm"
    }
    assert pod_of(made)["securityContext"] == {
        "runAsUser": 1000,
        "runAsGroup": 2000,
        "fsGroup": 2000,
    }


@pytest.mark.parametrize(
    ("spec", "field", "wanted"),
    [
        pytest.param(
            {"nodeSelector": {"a": "true", "b": "1"}},
            "nodeSelector",
            {"a": "true", "b": "1"},
            id="nodeSelector with values that YAML would read",
        ),
        pytest.param(
            {"tolerations": [{"key": "a", "tolerationSeconds": 5}]},
            "tolerations",
            [{"key": "a", "tolerationSeconds": 5}],
            id="tolerationSeconds",
        ),
        pytest.param(
            {"affinity": {"nodeAffinity": {}}}, "affinity", {"nodeAffinity": {}}, id="affinity"
        ),
        pytest.param({"podAffinity": {"x": 1}}, "affinity", None, id="podAffinity is ignored"),
        pytest.param({"schedulerName": "s"}, "schedulerName", "s", id="schedulerName"),
        pytest.param(
            {"runtimeClassName": ""}, "runtimeClassName", None, id="empty runtimeClassName"
        ),
        pytest.param({"priorityClassName": "p"}, "priorityClassName", "p", id="priorityClassName"),
        pytest.param(
            {"userID": 0, "groupID": 5},
            "securityContext",
            {"runAsUser": 0, "runAsGroup": 5, "fsGroup": 5},
            id="user 0",
        ),
        pytest.param(
            {"image": {"repository": "r", "tag": "1", "pullSecrets": ["a", "b", "a"]}},
            "imagePullSecrets",
            [{"name": "a"}, {"name": "b"}],
            id="a pull secret named twice",
        ),
    ],
)
def test_pod_fields(make: t.Any, spec: t.Any, field: str, wanted: t.Any) -> None:
    assert build_pod(make, spec).get(field) == wanted


def test_user_labels_cannot_break_the_selector(make: t.Any) -> None:
    made = build_deployment(make.cr({"labels": {"app": "mine"}}), make.observe(), STORE)
    assert made["spec"]["template"]["metadata"]["labels"]["app"] == "llm"
    assert made["metadata"]["labels"]["app"] == "mine"


def test_unset_replicas_are_left_out(make: t.Any) -> None:
    made = build_deployment(make.cr({"replicas": None}), make.observe(), STORE)
    assert "replicas" not in made["spec"]


def test_main_container(make: t.Any) -> None:
    spec = {
        "command": ["c"],
        "args": ["a"],
        "expose": {"service": {"grpcPort": 81}},
        "livenessProbe": {"enabled": False},
    }
    (container,) = build_pod(make, spec)["containers"]
    assert list(container) == [
        "name",
        "image",
        "imagePullPolicy",
        "command",
        "args",
        "ports",
        "env",
        "volumeMounts",
        "readinessProbe",
        "startupProbe",
    ]
    assert container["name"] == "llm-ctr"
    assert container["image"] == "registry.example/nim:1.0"
    assert container["ports"] == [
        {"name": "api", "containerPort": 8000, "protocol": "TCP"},
        {"name": "grpc", "containerPort": 81, "protocol": "TCP"},
    ]


def test_side_containers(make: t.Any) -> None:
    own = SIDE | {"workingDir": "/w", "args": ["a"], "env": [{"name": "E", "value": "1"}]}
    never = SIDE | {"name": "never", "image": SIDE["image"] | {"pullPolicy": "Never"}}
    pod = build_pod(make, {"sidecarContainers": [own, never], "initContainers": [own]})
    main, side, other = pod["containers"]
    (init,) = pod["initContainers"]
    assert side["volumeMounts"] == main["volumeMounts"]
    assert (side["imagePullPolicy"], other["imagePullPolicy"]) == ("IfNotPresent", "Never")
    assert [item["name"] for item in init["volumeMounts"]] == ["model-store", "scratch"]
    for made in (side, init):
        assert (made["image"], made["workingDir"], made["args"]) == ("r:2", "/w", ["a"])
        assert made["env"][0] == {"name": "E", "value": "1"}
        assert "command" not in made


CERT = {"proxy": {"httpsProxy": "p", "certConfigMap": "ca"}, "initContainers": [SIDE]}


def test_certificates_come_first(make: t.Any) -> None:
    ca, user = build_pod(make, CERT)["initContainers"]
    assert ca["name"] == "update-ca-certificates"
    assert ca["image"] == "registry.example/nim:1.0"
    assert ca["imagePullPolicy"] == "IfNotPresent"
    assert ca["env"] == user["env"]
    assert ca["volumeMounts"] == user["volumeMounts"]


@pytest.mark.parametrize(
    ("image", "kept"),
    [
        pytest.param("registry.example/nim:1.0", True, id="same image"),
        pytest.param("registry.example/nim:0.9", False, id="another image"),
    ],
)
def test_a_live_certificate_script_is_kept(make: t.Any, image: str, kept: bool) -> None:
    """Changing it would restart the pods for nothing, at a take-over above all."""
    cr = make.cr(CERT)
    live = copy.deepcopy(build_deployment(cr, make.observe(), STORE))
    theirs = {"image": image, "command": ["/bin/sh", "-c"], "args": ["theirs"]}
    pod_of(live)["initContainers"][0] |= theirs
    ca = pod_of(build_deployment(cr, make.observe(live), STORE))["initContainers"][0]
    assert (ca.get("args") == ["theirs"]) is kept
    assert ca["image"] == "registry.example/nim:1.0"


def test_an_operator_upgrade_restarts_nothing(make: t.Any) -> None:
    label = "app.kubernetes.io/operator-version"
    live = build_deployment(make.cr(), make.observe(operator={"version": "1"}), STORE)
    made = build_deployment(make.cr(), make.observe(live, operator={"version": "2"}), STORE)
    assert made["metadata"]["labels"][label] == "2"
    assert made["spec"]["template"] == live["spec"]["template"]
