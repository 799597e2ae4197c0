# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.app import NIMServiceApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.endpoint_picker.deployment import (
    build_picker,
    build_picker_role,
)

IMAGE = {"repository": "registry.example/epp", "tag": "v1"}
VERSION = "app.kubernetes.io/operator-version"
ARGS = (
    "--pool-name llm --pool-namespace ns --pool-group inference.networking.k8s.io --zap-encoder json"
    " --config-file {file} --v 6 --model-server-metrics-path /v1/metrics"
)


def picker(container=None, **fields):
    given = {"containerSpec": {"name": "x", "image": IMAGE} | (container or {}), **fields}
    if "configMapRef" not in fields:
        given["config"] = {"plugins": [], "schedulingProfiles": []}
    return {"expose": {"router": {"eppConfig": given}}}


def pod(make, spec):
    return build_picker(make.app(spec))["spec"]["template"]["spec"]


def container(make, spec):
    return pod(make, spec)["containers"][0]


def test_build_picker(make):
    spec = picker() | {"annotations": {"a": "b"}, "labels": {"l": "1", "app": "x"}, "replicas": 3}
    made = build_picker(make.app(spec))
    assert made["metadata"]["name"] == "llm-epp"
    assert "annotations" not in made["metadata"]
    assert "replicas" not in made["spec"]
    assert made["spec"]["selector"] == {"matchLabels": {"app": "llm-epp"}}
    pods = made["spec"]["template"]["metadata"]
    assert set(pods) == {"labels"}
    assert (pods["labels"]["app"], pods["labels"]["l"]) == ("llm-epp", "1")
    assert pods["labels"]["app.kubernetes.io/name"] == "llm"


def test_build_picker_keeps_operator_version(make):
    template = {"metadata": {"labels": {VERSION: "0.1"}}}
    live = {"kind": "Deployment", "metadata": {"name": "llm-epp"}, "spec": {"template": template}}
    observed = make.observe(live, operator={"version": "0.2.1", "version_label": "0.2"})
    made = build_picker(NIMServiceApp(make.cr(picker()), observed))
    assert made["metadata"]["labels"][VERSION] == "0.2"
    assert made["metadata"]["annotations"] == {"nimops.nim/operator-version": "0.2.1"}
    assert made["spec"]["template"]["metadata"]["labels"][VERSION] == "0.1"


def test_build_picker_default_container(make):
    made = container(make, picker())
    health = {"grpc": {"port": 9003}, "initialDelaySeconds": 5, "periodSeconds": 10}
    assert made == {
        "name": "epp",
        "image": "registry.example/epp:v1",
        "imagePullPolicy": "IfNotPresent",
        "args": ARGS.format(file="/config/default-plugins.yaml").split(),
        "ports": [
            {"name": "grpc-ext-proc", "containerPort": 9002, "protocol": "TCP"},
            {"name": "grpc-health", "containerPort": 9003, "protocol": "TCP"},
            {"name": "http-metrics", "containerPort": 9090, "protocol": "TCP"},
        ],
        "readinessProbe": health,
        "livenessProbe": health,
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [{"name": "epp-config", "mountPath": "/config", "readOnly": True}],
    }


PROBES = {f"{name}Probe": {"exec": {"command": [name]}} for name in ("readiness", "liveness")}
PROBES["startupProbe"] = {"exec": {"command": ["startup"]}}
ENV = [{"name": "A", "value": "1"}, {"name": "B"}]


PICKER_CONTAINER = {
    "no tag": (picker({"image": IMAGE | {"tag": ""}}), {"image": "registry.example/epp:latest"}),
    "pull policy": (
        picker({"image": IMAGE | {"pullPolicy": "Always"}}),
        {"imagePullPolicy": "Always"},
    ),
    "what runs": (
        picker({"command": ["/epp"], "args": ["--x"], "env": ENV, "workingDir": "/w"}),
        {"command": ["/epp"], "args": ["--x"], "env": ENV, "workingDir": "/w"},
    ),
    "probes": (picker(**PROBES), PROBES),
    "ports": (
        picker(ports=[{"containerPort": 9002, "protocol": "UDP", "name": "a"}]),
        {"ports": [{"containerPort": 9002, "protocol": "UDP", "name": "a"}]},
    ),
    "config of the user": (
        picker(configMapRef={"name": "mine", "key": "epp.yaml"}),
        {"args": ARGS.format(file="/config/epp.yaml").split()},
    ),
}


@pytest.mark.parametrize(("spec", "wanted"), PICKER_CONTAINER.values(), ids=PICKER_CONTAINER)
def test_build_picker_container(make, spec, wanted):
    assert container(make, spec) == container(make, picker()) | wanted


@pytest.mark.parametrize(
    ("own", "models", "wanted"),
    [
        pytest.param(None, None, None, id="none"),
        pytest.param(None, ["b"], ["b"], id="the model's"),
        pytest.param(["a", "b"], ["b", "c"], ["a", "b", "c"], id="both, each once"),
    ],
)
def test_build_picker_pull_secrets(make, own, models, wanted):
    image = make.cr()["spec"]["image"] | {"pullSecrets": models}
    made = pod(make, picker({"image": IMAGE | {"pullSecrets": own}}) | {"image": image})
    assert made.get("imagePullSecrets") == (wanted and [{"name": name} for name in wanted])


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        pytest.param(picker(), "llm-epp-config", id="ours"),
        pytest.param(picker(configMapRef={"name": "mine", "key": "k"}), "mine", id="the user's"),
    ],
)
def test_build_picker_pod(make, spec, name):
    made = pod(make, spec)
    assert set(made) == {"serviceAccountName", "containers", "volumes"}
    assert made["serviceAccountName"] == "llm-epp"
    assert made["volumes"] == [{"name": "epp-config", "configMap": {"name": name}}]


def test_build_picker_role(make):
    made = build_picker_role(make.app(picker()))
    assert made["metadata"]["name"] == "llm-epp"
    assert [(rule["apiGroups"], rule["resources"]) for rule in made["rules"]] == [
        (["inference.networking.k8s.io"], ["inferencepools", "inferenceobjectives"]),
        (
            ["inference.networking.x-k8s.io"],
            ["inferencepools", "inferenceobjectives", "inferencemodelrewrites"],
        ),
        ([""], ["pods"]),
    ]
    assert [rule["verbs"] for rule in made["rules"]] == [["get", "watch", "list"]] * 3


ELECTION = "--ha-enable-leader-election"


@pytest.mark.parametrize(
    ("args", "elects"),
    [
        pytest.param(["--pool-name=llm", ELECTION], True, id="flag"),
        pytest.param([f"{ELECTION}=True"], True, id="true"),
        pytest.param([f"{ELECTION}=false"], False, id="false"),
        pytest.param([f"{ELECTION}-not"], False, id="another flag"),
    ],
)
def test_build_picker_elects_leader(make, args, elects):
    app = make.app(picker({"args": args}))
    made, rules = build_picker(app)["spec"], build_picker_role(app)["rules"]
    assert (made["strategy"] == {"type": "Recreate"}) == elects
    made = made["template"]["spec"]["containers"][0]
    assert (made["livenessProbe"]["grpc"] == {"port": 9003, "service": "liveness"}) == elects
    assert made["readinessProbe"]["grpc"] == {"port": 9003}
    leases = [rule["verbs"] for rule in rules if rule["resources"] == ["leases"]]
    assert leases == ([["get", "create", "update"]] if elects else [])


def test_build_picker_elects_leader_own_probe(make):
    spec = picker({"args": [ELECTION]}, livenessProbe=PROBES["livenessProbe"])
    assert container(make, spec)["livenessProbe"] == PROBES["livenessProbe"]


@pytest.mark.parametrize("policy", ["File", "FallbackToLogsOnError"])
def test_build_picker_message_policy_stays(make, policy):
    pods = {"spec": {"containers": [{"name": "epp", "terminationMessagePolicy": policy}]}}
    live = {"metadata": {"name": "llm-epp"}, "spec": {"template": pods}}
    made = build_picker(make.app(picker(), **{"Deployment/ns/llm-epp": live}))
    [made] = made["spec"]["template"]["spec"]["containers"]
    assert made.get("terminationMessagePolicy", "File") == policy
