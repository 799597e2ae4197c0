# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The configuration of kube-state-metrics has its documented format, and names fields of our CRDs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._builders import verdict
from ansible_collections.nimops.nim.plugins.module_utils._nim.build import constants as of_build
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache import constants as of_cache
from ansible_collections.nimops.nim.plugins.module_utils._nim.pipeline import status as of_pipeline
from nimops_gitops import argo

Json = dict[str, Any]

ROOT = Path(__file__).resolve().parents[3]
FILE = ROOT / "config/monitoring/kube-state-metrics.yaml"
BASES = ROOT / "config/crd/bases"
CRDS = {
    crd["spec"]["names"]["kind"]: crd["spec"]
    for crd in (yaml.safe_load(path.read_text()) for path in BASES.glob("*_*.yaml"))
}
RESOURCES = {
    item["groupVersionKind"]["kind"]: item
    for item in yaml.safe_load(FILE.read_text())["spec"]["resources"]
}
METADATA = {"properties": {"name": {"type": "string"}, "namespace": {"type": "string"}}}
NAME = re.compile(r"[a-z][a-z0-9_]*")
LABELS = {"commonLabels": dict, "labelsFromPath": dict}
RESOURCE = {"groupVersionKind": dict, "metricNamePrefix": str, "metrics": list, **LABELS}
METRIC = {"name": str, "help": str, "each": dict, **LABELS}
OPTIONS = {
    "Gauge": {
        "path": list,
        "valueFrom": list,
        "labelFromKey": str,
        "nilIsZero": bool,
        "labelsFromPath": dict,
    },
    "StateSet": {
        "path": list,
        "valueFrom": list,
        "labelName": str,
        "list": list,
        "labelsFromPath": dict,
    },
    "Info": {"path": list, "labelFromKey": str, "labelsFromPath": dict},
}
STATES = {
    "NIMCache": {
        of_cache.READY, of_cache.NOT_READY, of_cache.PVC_CREATED, of_cache.STARTED, of_cache.PENDING,
        of_cache.IN_PROGRESS, of_cache.FAILED,
    },
    "NIMBuild": {of_build.READY, of_build.PENDING, of_build.IN_PROGRESS, of_build.FAILED},
    "NIMPipeline": {of_pipeline.READY, of_pipeline.NOT_READY, of_pipeline.FAILED},
}  # fmt: skip
"""The states of a kind whose CRD has none; those of other kinds are of a verdict."""


def check(value: Json, types: dict[str, type]) -> None:
    assert {key: type(item) for key, item in value.items()}.items() <= types.items(), value


def metrics() -> Iterator[tuple[str, Json]]:
    for kind, resource in RESOURCES.items():
        for metric in resource["metrics"]:
            yield kind, metric


def find(schema: Json, path: list[str]) -> Json:
    """The schema at a path; KeyError if there is no such field."""
    for key in path:
        while "items" in schema:
            schema = schema["items"]
        schema = schema["properties"][key]
    return schema


def schema_of(kind: str) -> Json:
    schema = CRDS[kind]["versions"][0]["schema"]["openAPIV3Schema"]
    return {"properties": {**schema["properties"], "metadata": METADATA}}


def options_of(metric: Json) -> Json:
    kind = metric["each"]["type"]
    found: Json = metric["each"][kind[0].lower() + kind[1:]]
    return found


def test_file_has_all_kinds() -> None:
    document = yaml.safe_load(FILE.read_text())
    assert (document["kind"], set(document), set(document["spec"])) == (
        "CustomResourceStateMetrics", {"kind", "spec"}, {"resources"},
    )  # fmt: skip
    assert len(document["spec"]["resources"]) == len(RESOURCES)
    assert set(RESOURCES) == set(CRDS)
    for kind, resource in RESOURCES.items():
        expected = {
            "group": CRDS[kind]["group"],
            "version": CRDS[kind]["versions"][0]["name"],
            "kind": kind,
        }
        assert resource["groupVersionKind"] == expected
        assert resource["commonLabels"] == {"kind": kind}
        assert ("namespace" in resource["labelsFromPath"]) == (CRDS[kind]["scope"] == "Namespaced")
        names = [metric["name"] for metric in resource["metrics"]]
        assert names == ["resource_info", "resource_state", "resource_condition"]


@pytest.mark.parametrize("kind", RESOURCES)
def test_file_format(kind: str) -> None:
    check(RESOURCES[kind], RESOURCE)
    for metric in RESOURCES[kind]["metrics"]:
        check(metric, METRIC)
        option = metric["each"]["type"]
        assert set(metric["each"]) == {"type", option[0].lower() + option[1:]}
        check(options_of(metric), OPTIONS[option])
        labels = [
            *RESOURCES[kind]["labelsFromPath"],
            *(options_of(metric).get("labelsFromPath") or {}),
        ]
        assert len(labels) == len(set(labels))
        assert all(NAME.fullmatch(name) for name in [metric["name"], *labels])


@pytest.mark.parametrize("kind", RESOURCES)
def test_file_paths(kind: str) -> None:
    """Each path leads to a field with a value; those of labels begin where the metric does."""
    schema = schema_of(kind)
    for path in RESOURCES[kind]["labelsFromPath"].values():
        assert find(schema, path)["type"] == "string"
    for metric in RESOURCES[kind]["metrics"]:
        options = options_of(metric)
        start = find(schema, options.get("path") or [])
        for path in (options.get("labelsFromPath") or {}).values():
            assert find(start, path)["type"] == "string", path
        if metric["each"]["type"] == "StateSet":
            assert start["type"] == "string"


@pytest.mark.parametrize("kind", RESOURCES)
def test_file_states(kind: str) -> None:
    """All states of the CRD, or else of the code, and all that were recorded."""
    listed = [
        options_of(metric)["list"]
        for metric in RESOURCES[kind]["metrics"]
        if metric["each"]["type"] == "StateSet"
    ]
    of_verdict = {verdict.READY, verdict.NOT_READY, verdict.FAILED}
    enum = find(schema_of(kind), ["status", "state"]).get("enum")
    assert set(listed[0]) == set(enum or STATES.get(kind, of_verdict))
    recorded = {
        item.resource.get("status", {}).get("state")
        for item in argo.read_recorded()
        if item.kind == kind
    }
    assert recorded - {None} <= set(listed[0])
    assert recorded


def test_find_unknown_field() -> None:
    with pytest.raises(KeyError):
        find(schema_of("NIMService"), ["status", "phase"])
    with pytest.raises(KeyError):
        find(schema_of("NIMService"), ["status", "conditions", "phase"])
