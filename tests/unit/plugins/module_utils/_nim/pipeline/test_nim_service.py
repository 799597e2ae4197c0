# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import copy

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nim.pipeline.app import NIMPipelineApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.pipeline.entries import served_entries
from ansible_collections.nimops.nim.plugins.module_utils._nim.pipeline.nim_service import (
    build_nim_service,
)


def build(cr):
    (entry,) = served_entries(NIMPipelineApp(cr)).values()
    before = copy.deepcopy(cr)
    built = build_nim_service(NIMPipelineApp(cr), entry)
    assert cr == before, "the inputs were changed"
    return built


def test_build_nim_service(make):
    spec = {
        "image": {"repository": "r", "tag": "1"},
        "storage": {"nimCache": {"name": "c"}},
        "expose": {"router": {"gateway": {"httpRoutesEnabled": False}}},
        "resources": {"limits": {"nvidia.com/gpu": "1"}, "requests": {"cpu": "500m"}},
        "nodeSelector": {},
    }
    assert build(make.pipeline(make.entry("llm", spec=spec))) == {
        "apiVersion": "apps.nvidia.com/v1alpha1",
        "kind": "NIMService",
        "metadata": {
            "name": "llm",
            "namespace": "ns",
            "ownerReferences": [
                {
                    "apiVersion": "apps.nvidia.com/v1alpha1",
                    "blockOwnerDeletion": True,
                    "controller": True,
                    "kind": "NIMPipeline",
                    "name": "rag",
                    "uid": "u1",
                }
            ],
        },
        "spec": spec,
    }


def test_build_nim_service_normalizes(make):
    """The stored form is that of the reference."""
    spec = {
        "storage": {"nimCache": {"name": "c", "profile": ""}, "readOnly": True},
        "resources": {"limits": {"nvidia.com/gpu": 1, "cpu": 0.5}, "claims": []},
    }
    assert build(make.pipeline(make.entry("llm", spec=spec)))["spec"] == {
        "storage": {"nimCache": {"name": "c"}, "readOnly": True},
        "resources": {"limits": {"nvidia.com/gpu": "1", "cpu": "0.5"}, "claims": []},
    }


def depends(name, value):
    given = {"envName": name, "envValue": value}
    return {"name": "x", "port": 1} | {key: item for key, item in given.items() if item is not None}


@pytest.mark.parametrize(
    ("given", "dependencies", "expected"),
    [
        pytest.param(None, [depends(None, None)], None, id="only for people"),
        pytest.param(None, [depends("A", ""), depends("", "a")], None, id="half of it"),
        pytest.param(None, [depends("A", "a")], ["A=a"], id="no env of its own"),
        pytest.param(["X=x"], [depends("A", "a")], ["A=a", "X=x"], id="first"),
        pytest.param(["A=x", "B=x"], [depends("A", "a")], ["A=a", "B=x"], id="wins"),
        pytest.param(
            ["X=x"],
            [depends("A", "a"), depends("B", "b")],
            ["B=b", "A=a", "X=x"],
            id="the last one stands first",
        ),
        pytest.param(None, [depends("A", "1"), depends("A", "2")], ["A=2"], id="the last one wins"),
    ],
)
def test_build_nim_service_dependencies(make, given, dependencies, expected):
    spec = {} if given is None else {"env": [as_env(item) for item in given]}
    built = build(make.pipeline(make.entry("llm", spec=spec, dependencies=dependencies)))
    assert built["spec"] == ({} if expected is None else {"env": [as_env(i) for i in expected]})


def as_env(text):
    name, _equals, value = text.partition("=")
    return {"name": name, "value": value}


def test_build_nim_service_without_spec(make):
    assert build(make.pipeline({"name": "llm", "enabled": True}))["spec"] == {}
