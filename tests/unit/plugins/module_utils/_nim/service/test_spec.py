# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from dataclasses import astuple, replace
from operator import attrgetter

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._builders.image import parse_image
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.spec import (
    PickerSpec,
    parse_spec,
)


def router(**fields):
    return {"expose": {"router": {"hostDomainName": "example.com", **fields}}}


PREDICATE = {
    "no scale": ("is_autoscaled", {"scale": {"hpa": {"minReplicas": 1}}}, False),
    "scale": ("is_autoscaled", {"scale": {"enabled": True}}, True),
    "no metrics": ("is_monitored", {"metrics": {"serviceMonitor": {}}}, False),
    "metrics": ("is_monitored", {"metrics": {"enabled": True}}, True),
    "own claim": ("storage.creates_claim", {"storage": {"pvc": {"name": "x"}}}, False),
    "claim": ("storage.creates_claim", {"storage": {"pvc": {"create": True}}}, True),
    "a cache comes before the claim": (
        "storage.creates_claim",
        {"storage": {"pvc": {"create": True}, "nimCache": {"name": "c"}}},
        False,
    ),
    "one stage": ("is_multi_node", {"multiNode": {"parallelism": {"tensor": 8}}}, False),
    "pipeline 1": ("is_multi_node", {"multiNode": {"parallelism": {"pipeline": 1}}}, False),
    "pipeline 2": ("is_multi_node", {"multiNode": {"parallelism": {"pipeline": 2}}}, True),
}


@pytest.mark.parametrize(("predicate", "spec", "wanted"), PREDICATE.values(), ids=PREDICATE)
def test_spec_predicate(make, predicate, spec, wanted):
    assert attrgetter(predicate)(parse_spec(make.cr(spec))) is wanted


CACHED = {"nimCache": {"name": "c"}}
WITHOUT_EFFECT = {
    "one store": ({"storage": CACHED | {"pvc": {}, "hostPath": ""}}, []),
    "cache before all": (
        {"storage": CACHED | {"pvc": {"create": True}, "emptyDir": {}, "hostPath": "/m"}},
        ["spec.storage.pvc", "spec.storage.emptyDir", "spec.storage.hostPath"],
    ),
    "claim before the others": (
        {"storage": {"pvc": {"name": "p"}, "emptyDir": {}}},
        ["spec.storage.emptyDir"],
    ),
    "claim without name": ({"storage": CACHED | {"pvc": {"size": "1Gi"}}}, ["spec.storage.pvc"]),
    "profile without cache": (
        {"storage": {"nimCache": {"profile": "a"}, "emptyDir": {}}},
        ["spec.storage.nimCache.profile"],
    ),
    "claims of containers": (
        {"storage": CACHED, "resources": {"claims": [{"name": "gpu"}]}},
        ["spec.resources.claims"],
    ),
    "nodes": ({"storage": CACHED, "multiNode": {"parallelism": {"pipeline": 2}}}, []),
    "nodes and a picker on KServe": (
        {
            "storage": CACHED,
            "inferencePlatform": "kserve",
            "multiNode": {"parallelism": {"pipeline": 2}},
            **router(eppConfig={"containerSpec": {"name": "e"}}),
        },
        ["spec.multiNode", "spec.expose.router.eppConfig"],
    ),
}


@pytest.mark.parametrize(("spec", "paths"), WITHOUT_EFFECT.values(), ids=WITHOUT_EFFECT)
def test_parse_spec_without_effect(make, spec, paths):
    """The CRDs of the reference accept these; only its optional webhook rejects them."""
    assert parse_spec(make.cr(spec)).without_effect == paths


@pytest.mark.parametrize("expose", [None, {}, {"service": None, "router": None}])
def test_parse_spec_expose(make, expose):
    found = parse_spec(make.cr({"expose": expose}))
    assert (found.expose.ports, found.expose.kinds, found.picker.is_wanted) == (
        {"api": 8000},
        (),
        False,
    )


PICKER = {
    "containerSpec": {
        "image": {"repository": "r"},
        "command": ["c"],
        "args": ["a"],
        "workingDir": "/w",
        "env": [{"name": "A"}],
    },
    "livenessProbe": {"periodSeconds": 1},
    "readinessProbe": {"periodSeconds": 2},
    "startupProbe": {"periodSeconds": 3},
    "ports": [{"containerPort": 1}],
    "configMapRef": {"name": "mine", "key": "k"},
}
NO_PICKER = PickerSpec(False, parse_image({}), [], [], "", [], {}, {}, {}, (), None, "", "", False)


PARSE_SPEC_PICKER = {
    "none": ({}, NO_PICKER),
    "an empty configuration": (
        router(eppConfig={"config": {}}),
        replace(NO_PICKER, is_wanted=True, config={}),
    ),
    "all": (
        router(eppConfig=PICKER),
        PickerSpec(
            is_wanted=True,
            image=parse_image({"repository": "r", "tag": "latest"}),
            command=["c"],
            args=["a"],
            working_dir="/w",
            env=[{"name": "A"}],
            liveness_probe={"periodSeconds": 1},
            readiness_probe={"periodSeconds": 2},
            startup_probe={"periodSeconds": 3},
            ports=[{"containerPort": 1}],
            config=None,
            config_map="mine",
            config_key="k",
            elects_leader=False,
        ),
    ),
    "election": (
        router(eppConfig={"containerSpec": {"args": ["--ha-enable-leader-election"]}}),
        replace(
            NO_PICKER, is_wanted=True, args=["--ha-enable-leader-election"], elects_leader=True
        ),
    ),
    "KServe": (router(eppConfig=PICKER) | {"inferencePlatform": "kserve"}, NO_PICKER),
}


@pytest.mark.parametrize(("spec", "wanted"), PARSE_SPEC_PICKER.values(), ids=PARSE_SPEC_PICKER)
def test_parse_spec_picker(make, spec, wanted):
    assert parse_spec(make.cr(spec)).picker == wanted


MULTI_NODE_CASES = {
    "one node": (None, (False, 1, 1, 0, 300, False, "")),
    "unset": ({"parallelism": {}}, (True, 1, 1, 0, 300, False, "")),
    "MPI, zero of the reference": (
        {"parallelism": {"pipeline": 3, "tensor": 8}, "mpi": {"mpiStartTimeout": 0}},
        (True, 3, 8, 0, 300, False, ""),
    ),
    "MPI, tensor unset": (
        {"parallelism": {"pipeline": 3}, "mpi": {"mpiStartTimeout": 6000}},
        (True, 3, 1, 0, 6000, False, ""),
    ),
    "Ray by default": (
        {"parallelism": {"pipeline": 2}, "ray": {}},
        (True, 2, 1, 6379, 300, False, ""),
    ),
    "Ray": (
        {"parallelism": {"pipeline": 2}, "ray": {"rayPort": 7000}},
        (True, 2, 1, 7000, 300, False, ""),
    ),
    "ComputeDomain": (
        {"parallelism": {"pipeline": 2}, "computeDomain": {"create": True}},
        (True, 2, 1, 0, 300, True, ""),
    ),
    "ComputeDomain of the user": (
        {"parallelism": {"pipeline": 2}, "computeDomain": {"name": "d"}},
        (True, 2, 1, 0, 300, False, "d"),
    ),
    "ComputeDomain without effect": (
        {"parallelism": {"pipeline": 1}, "computeDomain": {"create": True}},
        (True, 1, 1, 0, 300, False, ""),
    ),
}


@pytest.mark.parametrize(("given", "wanted"), MULTI_NODE_CASES.values(), ids=MULTI_NODE_CASES)
def test_parse_spec_multi_node(make, given, wanted):
    assert astuple(parse_spec(make.cr({"multiNode": given})).multi_node) == wanted


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        pytest.param({}, [], id="none"),
        pytest.param({"groupID": 0, "userID": 1}, ["userID", "groupID"], id="in order"),
        pytest.param({"replicas": 2, "command": ["c"]}, ["replicas"], id="beside others"),
        pytest.param({"replicas": 0}, [], id="off"),
    ],
)
def test_parse_spec_for_knative(make, given, wanted):
    assert parse_spec(make.cr({"replicas": None} | given)).for_knative == wanted


def test_parse_spec_empty(make):
    spec = parse_spec(make.cr() | {"spec": {}})
    assert (spec.image.reference, spec.storage.claim.name) == ("", "llm-pvc")
    assert not spec.storage.creates_claim
    assert not spec.is_kserve
    assert not spec.is_multi_node
