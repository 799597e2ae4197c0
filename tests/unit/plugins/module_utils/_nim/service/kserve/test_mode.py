# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import json

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.app import NIMServiceApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.kserve.mode import (
    MODE_ANNOTATION,
    deployment_mode,
    ignored_fields,
    is_standard,
    mode_reads,
)

KSERVE = {"inferencePlatform": "kserve"}
CONTROLLERS = "Deployment/*?control-plane=kserve-controller-manager"
CONFIG = "ConfigMap/kserve/inferenceservice-config"


def controller(namespace, name="kserve-controller-manager", **more):
    return {"metadata": {"name": name, "namespace": namespace, **more}}


def settings(namespace, mode):
    data = {"deploy": json.dumps({"defaultDeploymentMode": mode})}
    return {f"ConfigMap/{namespace}/inferenceservice-config": {"metadata": {}, "data": data}}


ONE = {CONTROLLERS: [controller("kserve")]}
OURS = {"labels": {"app.kubernetes.io/managed-by": "k8s-nim-operator"}}
SOME = (0, 1, 10, 11, 12, 13, 14, 15)
OWNED = {"ownerReferences": [{"apiVersion": "apps.nvidia.com/v1alpha1", "kind": "NIMService"}]}
INFERENCE = "InferenceService/ns/llm"
GATEWAY = {"gateway": {"name": "g", "namespace": "gw"}, "hostDomainName": "example.com"}


def config(**keys):
    """KServe's settings, and its controller in the same namespace."""
    data = {key: item if isinstance(item, str) else json.dumps(item) for key, item in keys.items()}
    return {**ONE, CONFIG: {"kind": "ConfigMap", "metadata": {}, "data": data}}


def default(mode):
    return config(deploy={"defaultDeploymentMode": mode})


def live(mode):
    metadata = {"name": "llm", "namespace": "ns"}
    return {"kind": "InferenceService", "metadata": metadata, "status": {"deploymentMode": mode}}


def asked_for(make, annotation=None, **spec):
    annotations = {} if annotation is None else {MODE_ANNOTATION: annotation}
    return make.cr(KSERVE | {"annotations": annotations} | spec)


@pytest.mark.parametrize(
    ("annotation", "answers", "mode"),
    [
        pytest.param("Standard", default("Knative"), "Standard", id="annotation before default"),
        pytest.param("RawDeployment", default("Knative"), "RawDeployment", id="old name"),
        pytest.param("Serverless", default("Standard"), "Serverless", id="other old name"),
        pytest.param("ModelMesh", default("Standard"), "ModelMesh", id="ModelMesh"),
        pytest.param("", default("Knative"), "Knative", id="empty annotation"),
        pytest.param(None, default("Knative"), "Knative", id="default"),
        pytest.param(None, default("RawDeployment"), "RawDeployment", id="default of old"),
        pytest.param(None, {**ONE, CONFIG: None}, "Standard", id="no ConfigMap"),
        pytest.param(None, config(ingress={}), "Standard", id="no such key"),
        pytest.param(
            "Knative",
            config(
                deploy={"defaultDeploymentMode": "Standard"},
                inferenceService={"serviceAnnotationDisallowedList": [MODE_ANNOTATION]},
            ),
            "Standard",
            id="annotation that KServe ignores",
        ),
        pytest.param(
            "Knative",
            config(inferenceService={"serviceAnnotationDisallowedList": ["other"]}),
            "Knative",
            id="another is ignored",
        ),
        pytest.param(
            None,
            {"operator": {"kserve": "kserve"}, CONFIG: default("Knative")[CONFIG]},
            "Knative",
            id="given namespace",
        ),
    ],
)
def test_deployment_mode(make, annotation, answers, mode):
    assert deployment_mode(make.app(asked_for(make, annotation), **answers)) == mode


@pytest.mark.parametrize("mode", ["Standard", "RawDeployment", "Knative", "Serverless"])
@pytest.mark.parametrize(
    "answers",
    [default("ModelMesh"), {}, {CONTROLLERS: []}, config(deploy="[")],
    ids=["another default", "nothing read", "no controller", "bad settings"],
)
def test_deployment_mode_of_running_service(make, mode, answers):
    cr, observed = asked_for(make, "ModelMesh"), make.observe(live(mode), **answers)
    assert deployment_mode(NIMServiceApp(cr, observed)) == mode
    assert mode_reads(NIMServiceApp(cr, observed)) == []


REFUSES = {
    "annotation": (
        "standard", default("Standard"),
        "deployment mode annotation found but value is invalid: standard",
    ),
    "empty default": (
        None, default(""), "invalid deploy config, defaultDeploymentMode is required",
    ),
    "no default": (
        None, config(deploy={}), "invalid deploy config, defaultDeploymentMode is required",
    ),
    "unknown default": (
        None, default("Raw"),
        "invalid deployment mode. Supported modes are Knative, Standard, ModelMesh and RawDeployment, Serverless",
    ),
    "not JSON": (None, config(deploy="{"), "key deploy of ConfigMap kserve/"),
    "not an object": (None, config(deploy="[]"), "is not a JSON object"),
    "too deep": (None, config(deploy="[" * 9000), "is not a JSON object"),
    "no list": (
        "Standard", config(inferenceService={"serviceAnnotationDisallowedList": 1}),
        "serviceAnnotationDisallowedList (key inferenceService of ConfigMap kserve/",
    ),
    "no controller": (
        "Standard", {CONTROLLERS: [], "InferenceService": []},
        "no KServe controller deployment found with label control-plane=kserve-controller-manager; set the KSERVE_NAMESPACE env var to specify the target KServe namespace explicitly",
    ),
    "two controllers": (
        "Standard", {CONTROLLERS: [controller("a"), controller("b")]},
        "expected exactly one KServe controller deployment with label control-plane=kserve-controller-manager, found 2; set the KSERVE_NAMESPACE env var",
    ),
    "two with settings": (
        "Standard",
        {
            CONTROLLERS: [controller("a"), controller("b"), controller("c")],
            **settings("b", "Knative"),
            **settings("c", "Knative"),
        },
        "expected exactly one KServe controller deployment with label control-plane=kserve-controller-manager, found 2; set",
    ),
    "the label only": (
        "Standard",
        {
            CONTROLLERS: [controller("a", "llm"), controller("b", **OURS)],
            "InferenceService/ns/*": [],
        },
        "no KServe controller deployment found",
    ),
    "no KServe at all": (
        None, {CONTROLLERS: [], "InferenceService/ns/*": None},
        'no matches for kind "InferenceService" in version "serving.kserve.io/v1beta1": install KServe, for spec.inferencePlatform: kserve',
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("annotation", "answers", "message"),
    REFUSES.values(),
    ids=REFUSES,
)
def test_deployment_mode_refuses(make, annotation, answers, message):
    with pytest.raises(NimError) as raised:
        deployment_mode(make.app(asked_for(make, annotation), **answers))
    assert str(raised.value).startswith(message) or message in str(raised.value)


@pytest.mark.parametrize(
    "others",
    [
        pytest.param([controller("a")], id="of its name"),
        pytest.param([controller("a"), controller("b"), controller("z")], id="several"),
        pytest.param([controller("a", "llm", **OURS)], id="a NIMService's"),
        pytest.param([controller("a", **OURS)], id="a NIMService's of its name"),
        pytest.param([controller("a", **OWNED)], id="owned by a NIMService"),
    ],
)
def test_deployment_mode_ignores_other_controllers(make, others):
    answers = settings("kserve", "Knative") | settings("a", "Standard")
    for found in ([*others, *ONE[CONTROLLERS]], [*ONE[CONTROLLERS], *others]):
        observed = make.observe(**answers, **{CONTROLLERS: found})
        assert deployment_mode(NIMServiceApp(asked_for(make), observed)) == "Knative"


@pytest.mark.parametrize(
    "found",
    [
        pytest.param([controller("odh"), controller("a", **OURS)], id="beside a NIMService's"),
        pytest.param([controller("odh"), controller("a", "llm")], id="beside one with the label"),
        pytest.param([controller("odh"), controller("a")], id="beside one without settings"),
    ],
)
def test_deployment_mode_other_namespace(make, found):
    observed = make.observe(**settings("odh", "Knative"), **{CONTROLLERS: found})
    assert deployment_mode(NIMServiceApp(asked_for(make), observed)) == "Knative"


MODE_READS_CASES = {
    "the InferenceService comes first": ({}, []),
    "then the controller": ({INFERENCE: None}, [CONTROLLERS]),
    "KServe has not seen it": ({INFERENCE: live("")}, [CONTROLLERS]),
    "then its settings": ({INFERENCE: None, **ONE}, [CONTROLLERS, CONFIG]),
    "two of them": (
        {INFERENCE: None, CONTROLLERS: [controller("b"), controller("a")]},
        [CONTROLLERS, "ConfigMap/a/inferenceservice-config", "ConfigMap/b/inferenceservice-config"],
    ),
    "many of them": (
        {INFERENCE: None, CONTROLLERS: [controller(f"n{number}") for number in range(20)]},
        [CONTROLLERS, *(f"ConfigMap/n{n}/inferenceservice-config" for n in SOME)],
    ),
    "one at KServe's place": (
        {INFERENCE: None, CONTROLLERS: [controller("a"), controller("kserve")]},
        [CONTROLLERS, CONFIG],
    ),
    "one of ours": (
        {INFERENCE: None, CONTROLLERS: [controller("a", **OURS)]},
        [CONTROLLERS, "InferenceService/ns/*"],
    ),
    "none: is there a KServe?": (
        {INFERENCE: None, CONTROLLERS: []}, [CONTROLLERS, "InferenceService/ns/*"],
    ),
    "given namespace": ({INFERENCE: None, "operator": {"kserve": "kserve"}}, [CONFIG]),
    "settled": ({INFERENCE: live("Standard")}, []),
}  # fmt: skip


@pytest.mark.parametrize(("answers", "reads"), MODE_READS_CASES.values(), ids=MODE_READS_CASES)
def test_mode_reads(make, answers, reads):
    assert [read.key for read in mode_reads(make.app(asked_for(make), **answers))] == reads


IGNORED_FIELDS_CASES = {
    "plain": ({}, []),
    "off": ({"scale": {"enabled": False}, "metrics": {}}, []),
    "scale": ({"scale": {"enabled": True}}, ["spec.scale.enabled"]),
    "legacy ingress": ({"expose": {"ingress": {"enabled": True}}}, ["spec.expose.ingress.enabled"]),
    "ingress": (
        {"expose": {"router": {"ingress": {"ingressClass": "x"}}}},
        ["spec.expose.router.ingress"],
    ),
    "gateway": ({"expose": {"router": GATEWAY}}, ["spec.expose.router.gateway"]),
    "two": (
        {"metrics": {"enabled": True}, "scale": {"enabled": True}},
        ["spec.scale.enabled", "spec.metrics.enabled"],
    ),
    "user": ({"userID": 5}, ["spec.userID"]),
}


@pytest.mark.parametrize(
    ("spec", "fields"), IGNORED_FIELDS_CASES.values(), ids=IGNORED_FIELDS_CASES
)
@pytest.mark.parametrize("mode", ["Knative", "Serverless", "Standard", ""])
def test_ignored_fields(make, spec, fields, mode):
    """The reference accepts them without its optional webhook, which rejects some."""
    cr = make.cr(KSERVE | spec)
    del cr["spec"]["replicas"]
    expected = fields if mode in ("Knative", "Serverless") else []
    assert ignored_fields(make.app(cr, live(mode))) == expected


def test_is_standard():
    modes = ("Standard", "RawDeployment", "Knative", "Serverless", "ModelMesh")
    assert [mode for mode in modes if is_standard(mode)] == ["Standard", "RawDeployment"]
