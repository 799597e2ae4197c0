# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._builders.image import parse_image
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.model_store import (
    Store,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.pod.containers import (
    build_containers,
    pull_policy,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.pod.probes import model_probes
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.pod.template import (
    build_template,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.pod.variant import PodVariant
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.workload import (
    container_of,
    live_template,
)

STORE = Store({"emptyDir": {}})
SIDE = {"name": "side", "image": {"repository": "r", "tag": "2"}}


def build_pod(make, spec, *live):
    app = make.app(spec, *live)
    variant = PodVariant(container_of(app), live_template(app), model_probes(app.spec))
    return build_template(app, STORE, variant)["spec"]


def test_build_containers_main(make):
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


def test_build_containers_side(make):
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


def test_build_init_containers_certificates(make):
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
def test_build_init_containers_keeps_live_script(make, image, kept):
    """A change, for example at a takeover, would restart the pods without need."""
    theirs = {"image": image, "command": ["/bin/sh", "-c"], "args": ["theirs"]}
    script = {"name": "update-ca-certificates", **theirs}
    live = {
        "kind": "Deployment",
        "metadata": {"name": "llm"},
        "spec": {"template": {"spec": {"initContainers": [script]}}},
    }
    ca = build_pod(make, CERT, live)["initContainers"][0]
    assert (ca.get("args") == ["theirs"]) is kept
    assert ca["image"] == "registry.example/nim:1.0"


@pytest.mark.parametrize(
    ("model", "own", "policy"),
    [
        pytest.param(None, None, "", id="neither"),
        pytest.param("Always", None, "Always", id="the model's"),
        pytest.param(None, "Never", "Never", id="its own"),
        pytest.param("Always", "Never", "Never", id="both"),
        pytest.param("Always", "", "Always", id="its own is empty"),
    ],
)
def test_pull_policy(make, model, own, policy):
    image = {"repository": "r", "tag": "1"}
    app = make.app({"image": image | {"pullPolicy": model}})
    assert pull_policy(app, parse_image(image | {"pullPolicy": own})) == policy


def test_build_containers_user_args(make):
    variant = PodVariant("main", {}, {}, args=["ours"], ports={"mpi": 22})
    plain, given = (
        build_containers(make.app(spec), STORE, variant)[0] for spec in ({}, {"args": ["theirs"]})
    )
    assert (plain["name"], plain["args"], given["args"]) == ("main", ["ours"], ["theirs"])
    assert [port["name"] for port in plain["ports"]] == ["api", "mpi"]
