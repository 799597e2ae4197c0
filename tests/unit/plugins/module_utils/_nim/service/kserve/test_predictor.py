# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import copy

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.app import NIMServiceApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.kserve.predictor import (
    build_inference_service,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.model_store import (
    Store,
    select_store,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.pod.group_env import group_env

SIDE = {"name": "side", "image": {"repository": "r/side", "tag": "1"}, "env": [{"name": "A"}]}
VISIBILITY = "networking.kserve.io/visibility"
VERSION = "app.kubernetes.io/operator-version"
HPA = {"enabled": True, "hpa": {"minReplicas": 1, "maxReplicas": 3}}
TKGS = {"Node/*?vsphere-tanzu": [{"metadata": {"name": "a"}}]}


def made(make, spec=None, mode="Standard", **answers):
    cr = make.cr({"inferencePlatform": "kserve"} | (spec or {}))
    observed = make.observe(**answers)
    store = select_store(NIMServiceApp(cr, observed))
    assert isinstance(store, Store)
    return build_inference_service(NIMServiceApp(cr, observed), store, mode)


def predictor(*args, **answers):
    return made(*args, **answers)["spec"]["predictor"]


def model(*args, **answers):
    return predictor(*args, **answers)["containers"][0]


@pytest.mark.parametrize(
    ("spec", "label"),
    [
        pytest.param({}, "cluster-local", id="default"),
        pytest.param({"labels": {VISIBILITY: "exposed"}}, "exposed", id="the user's"),
        pytest.param({"expose": {"ingress": {"enabled": True}}}, None, id="legacy ingress"),
        pytest.param(
            {"expose": {"router": {"ingress": {"ingressClass": "x"}}}}, None, id="ingress"
        ),
    ],
)
def test_build_inference_service_visibility(make, spec, label):
    assert made(make, spec)["metadata"]["labels"].get(VISIBILITY) == label


@pytest.mark.parametrize(
    ("spec", "mode", "more"),
    [
        pytest.param({}, "Standard", {}, id="standard"),
        pytest.param({"scale": HPA}, "Standard", {"autoscalerClass": "hpa"}, id="autoscaled"),
        pytest.param({"scale": HPA}, "RawDeployment", {"autoscalerClass": "hpa"}, id="old name"),
        pytest.param({"scale": HPA}, "ModelMesh", {}, id="not a Deployment"),
        pytest.param({}, "Serverless", {}, id="passed on as it is"),
    ],
)
def test_build_inference_service_annotations(make, spec, mode, more):
    found = made(make, spec | {"replicas": None}, mode)["metadata"]["annotations"]
    assert found == {
        "openshift.io/required-scc": "nonroot",
        **{
            f"serving.kserve.io/{key}": value
            for key, value in {
                "enable-metric-aggregation": "true",
                "enable-prometheus-scraping": "true",
                "deploymentMode": mode,
                **more,
            }.items()
        },
    }


def test_build_inference_service_user_annotations(make):
    """Pods also get annotations of canaries and autoscalers; two annotations are ours."""
    given = {
        "serving.kserve.io/deploymentMode": "RawDeployment",
        "serving.kserve.io/enable-tag-routing": "true",
        "serving.kserve.io/enable-prometheus-scraping": "false",
        "autoscaling.knative.dev/target": "10",
    }
    found = made(make, {"annotations": given})
    mine = "serving.kserve.io/enable-prometheus-scraping"
    assert found["metadata"]["annotations"].items() >= (given | {mine: "true"}).items()
    assert found["spec"]["predictor"]["annotations"].items() >= given.items()


OLD, NEW = "RawDeployment", "Standard"


@pytest.mark.parametrize(
    ("annotation", "reported", "wanted", "changed", "written"),
    [
        pytest.param(OLD, OLD, NEW, {}, OLD, id="the user renames"),
        pytest.param(OLD, OLD, NEW, {"schedulerName": "x"}, OLD, id="the user renames and changes"),
        pytest.param(NEW, OLD, OLD, {}, NEW, id="KServe's webhook rewrites the annotation"),
        pytest.param(OLD, NEW, OLD, {}, OLD, id="KServe reports the new name"),
        pytest.param(OLD, NEW, OLD, {"schedulerName": "x"}, NEW, id="an update after the rename"),
        pytest.param("", NEW, OLD, {}, NEW, id="the annotation is gone"),
        pytest.param(
            "Serverless", "Knative", "Serverless", {"schedulerName": "x"}, "Knative", id="Knative"
        ),
        pytest.param(OLD, OLD, "Knative", {}, "Knative", id="another mode"),
    ],
)
def test_build_inference_service_mode_name(make, annotation, reported, wanted, changed, written):
    """R05: KServe renamed its modes and refuses an annotation that differs from what it reports."""
    key = "serving.kserve.io/deploymentMode"
    live = made(make, {"annotations": {key: annotation or wanted}}, reported)
    live["metadata"]["annotations"][key] = annotation
    live["status"] = {"deploymentMode": reported}
    live["metadata"]["managedFields"] = [
        {"manager": "nimops.nim", "operation": "Apply", "fieldsV1": {}}
    ]
    spec = {"annotations": {key: wanted}, **changed}
    found = made(make, spec, reported, **{"InferenceService/ns/llm": live})
    assert found["metadata"]["annotations"][key] == written
    if wanted != "Knative" and not changed:
        assert found["spec"] == live["spec"], "no restart for another name"


def test_build_inference_service_empty_mode(make):
    given = {"annotations": {"serving.kserve.io/deploymentMode": ""}}
    found = made(make, given)["metadata"]["annotations"]
    assert found["serving.kserve.io/deploymentMode"] == "Standard"


def test_build_inference_service_command(make):
    """O-17"""
    spec = {"command": ["serve"], "args": ["--fast"]}
    for mode in ("Standard", "Knative"):
        assert model(make, spec, mode).items() >= spec.items()


def test_build_inference_service_standard(make):
    spec = {"expose": {"service": {"port": 8000, "grpcPort": 81, "metricsPort": 82}}}
    found = predictor(make, spec, "RawDeployment", **TKGS)
    assert (found["minReplicas"], found["maxReplicas"]) == (1, 1)
    assert found["deploymentStrategy"]["rollingUpdate"] == {"maxUnavailable": "25%", "maxSurge": 0}
    assert found["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    container = found["containers"][0]
    assert [port["name"] for port in container["ports"]] == ["api", "grpc", "metrics"]
    assert container["startupProbe"]["failureThreshold"] == 120
    assert container["startupProbe"]["httpGet"]["port"] == "api"


@pytest.mark.parametrize("mode", ["Knative", "Serverless", "ModelMesh"])
def test_build_inference_service_knative(make, mode):
    spec = {"replicas": 2, "expose": {"service": {"port": 8000, "metricsPort": 82}}}
    found = predictor(make, spec, mode)
    left_out = ("minReplicas", "maxReplicas", "deploymentStrategy", "securityContext")
    assert [field for field in left_out if field in found] == []
    container = found["containers"][0]
    assert container["ports"] == [{"containerPort": 8000, "protocol": "TCP"}]
    paths = {
        probe: (
            container[f"{probe}Probe"]["httpGet"],
            container[f"{probe}Probe"]["initialDelaySeconds"],
            container[f"{probe}Probe"]["failureThreshold"],
        )
        for probe in ("liveness", "readiness", "startup")
    }
    ready = {"path": "/v1/health/ready", "port": 8000}
    assert paths == {
        "liveness": ({"path": "/v1/health/live", "port": 8000}, 15, 3),
        "readiness": (ready, 15, 3),
        "startup": (ready, 30, 30),
    }


def test_build_inference_service_knative_grpc(make):
    container = model(make, {"expose": {"service": {"grpcPort": 81}}}, "Knative")
    assert [port["containerPort"] for port in container["ports"]] == [8000, 81]
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        assert container[probe]["grpc"] == {"port": 81}
        assert "httpGet" not in container[probe]


def test_build_inference_service_user_probes(make):
    own = {"exec": {"command": ["true"]}}
    spec = {"startupProbe": {"probe": own}, "livenessProbe": {"enabled": False}}
    for mode in ("Standard", "Knative"):
        container = model(make, spec, mode)
        assert container["startupProbe"] == own
        assert "livenessProbe" not in container


def test_build_inference_service_pod_fields(make):
    spec = {
        "schedulerName": "s",
        "priorityClassName": "p",
        "runtimeClassName": "r",
        "nodeSelector": {"a": "true"},
        "tolerations": [{"operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
        "draResources": [{"resourceClaimTemplateName": "gpu"}],
    }
    for mode in ("Standard", "Knative"):
        found = predictor(make, spec, mode)
        given = {key: value for key, value in spec.items() if key != "draResources"}
        assert found.items() >= given.items()
        assert found["serviceAccountName"] == "llm"
        assert found["resourceClaims"][0]["resourceClaimTemplateName"] == "gpu"
        (claim,) = found["containers"][0]["resources"]["claims"]
        assert claim["name"] == found["resourceClaims"][0]["name"]


def test_build_inference_service_side_containers(make):
    """O-30"""
    found = predictor(make, {"sidecarContainers": [SIDE], "initContainers": [SIDE]})
    for container in (found["containers"][1], found["initContainers"][0]):
        assert "NIM_MULTI_NODE" not in [item["name"] for item in container["env"]]


def reference(make, spec):
    """The live InferenceService of the reference operator."""
    live = copy.deepcopy(made(make, spec))
    for where in ("initContainers", "containers"):
        for item in live["spec"]["predictor"].get(where, []):
            if item["name"] == "side":
                item["env"] += [{"name": e["name"], "value": "0"} for e in group_env(make.app())]
    live["metadata"]["annotations"] |= {
        "nvidia.com/parent-spec-hash": "x",
        "nvidia.com/last-applied-hash": "y",
    }
    live["metadata"]["labels"][VERSION] = "v3.1"
    return live


def test_build_inference_service_takeover(make):
    spec = {"sidecarContainers": [SIDE], "initContainers": [SIDE]}
    live = reference(make, spec)
    assert made(make, spec, **{"InferenceService/ns/llm": live}) == live


def test_build_inference_service_restart(make):
    spec = {"sidecarContainers": [SIDE]}
    live = reference(make, spec)
    found = made(make, spec | {"schedulerName": "x"}, **{"InferenceService/ns/llm": live})
    fresh = made(make, spec | {"schedulerName": "x"})
    assert found["spec"] == fresh["spec"]
    assert found["metadata"]["annotations"] == live["metadata"]["annotations"]


def test_build_inference_service_user_variable(make):
    own = {"env": [{"name": "NIM_MULTI_NODE", "value": "0"}]}
    live = made(make, own)
    found = made(make, {}, **{"InferenceService/ns/llm": live})
    assert found["spec"] == made(make)["spec"]


def test_build_inference_service_pure(make):
    spec = {"sidecarContainers": [SIDE]}
    live = reference(make, spec)
    before = copy.deepcopy(live)
    first = made(make, spec, "Knative", **{"InferenceService/ns/llm": live})
    assert live == before
    assert made(make, spec, "Knative", **{"InferenceService/ns/llm": live}) == first


def test_build_inference_service_no_replicas(make):
    """R10: for KServe, maxReplicas 0 means no limit, so an annotation stops the service."""
    key = "serving.kserve.io/stop"
    assert made(make, {"replicas": 0})["metadata"]["annotations"][key] == "true"
    assert key not in made(make, {"replicas": 1})["metadata"]["annotations"]
    given = {"replicas": 0, "annotations": {key: "false"}}
    assert made(make, given)["metadata"]["annotations"][key] == "false"


@pytest.mark.parametrize(("mode", "seconds"), [("Standard", 65), ("Knative", None)])
def test_build_inference_service_drain(make, mode, seconds):
    """Knative refuses these fields, and drains by itself."""
    platform = {"inferencePlatform": "kserve"}
    drained = make.cr(platform, annotations={"nimops.nim/drain-seconds": "60"})
    store = select_store(NIMServiceApp(drained, make.observe()))
    built = build_inference_service(NIMServiceApp(drained, make.observe()), store, mode)
    pod = built["spec"]["predictor"]
    assert pod.get("terminationGracePeriodSeconds") == seconds
    assert pod["containers"][0].get("lifecycle") == (
        {"preStop": {"sleep": {"seconds": 5}}} if seconds else None
    )


BOUNDS = {"autoscaling.knative.dev/min-scale": "0", "autoscaling.knative.dev/max-scale": "4"}


@pytest.mark.parametrize(("mode", "wanted"), [("Knative", (0, 4)), ("Standard", (1, 1))])
def test_build_inference_service_bounds(make, mode, wanted):
    """KServe drops the annotations; of the fields, it makes its own."""
    found = predictor(make, {"annotations": BOUNDS}, mode)
    assert (found["minReplicas"], found["maxReplicas"]) == wanted


@pytest.mark.parametrize(
    ("changes", "is_set"),
    [
        pytest.param({}, False, id="the same pods"),
        pytest.param({"schedulerName": "x"}, True, id="other pods"),
        pytest.param(
            {"annotations": BOUNDS | {"autoscaling.knative.dev/max-scale": "5"}},
            True,
            id="other limits",
        ),
    ],
)
def test_build_inference_service_bounds_of_running_pods(make, changes, is_set):
    """A takeover does not restart pods."""
    spec = {"annotations": BOUNDS}
    live = made(make, spec, "Knative")
    for field in ("minReplicas", "maxReplicas"):
        del live["spec"]["predictor"][field]
    found = predictor(make, spec | changes, "Knative", **{"InferenceService/ns/llm": live})
    assert ("minReplicas" in found, "maxReplicas" in found) == (is_set, is_set)
