# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.app import NIMServiceApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.endpoint_picker.config import (
    build_config,
    config_annotations,
    config_map_ref,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.endpoint_picker.deployment import (
    build_picker,
)

KEY = "default-plugins.yaml"
CONFIG = {
    "schedulingProfiles": [
        {"name": "default", "plugins": [{"weight": 2, "pluginRef": "queue-scorer"}]}
    ],
    "plugins": [
        {"type": "queue-scorer"},
        {"type": "prefix-cache-scorer", "parameters": {"blockSize": 5, "deep": {"on": False}}},
    ],
    "saturationDetector": {"kvCacheUtilThreshold": 0.8, "metricsStalenessThreshold": "200ms"},
    "flowControl": {"maxBytes": "1e9"},
}
TEXT = """flowControl:
  maxBytes: '1e9'
plugins:
- type: queue-scorer
- parameters:
    blockSize: 5
    deep:
      'on': false
  type: prefix-cache-scorer
saturationDetector:
  kvCacheUtilThreshold: 0.8
  metricsStalenessThreshold: 200ms
schedulingProfiles:
- name: default
  plugins:
  - pluginRef: queue-scorer
    weight: 2
"""
DATA = {"f:data": {f"f:{KEY}": {}}}
OURS = [{"manager": "nimops.nim", "operation": "Apply", "fieldsV1": DATA}]
THEIRS = [{"manager": "manager", "operation": "Update", "fieldsV1": DATA}]
MARK = "nimops.nim/picker-config"


def picker(config=CONFIG, **fields):
    given = {"containerSpec": {"image": {"repository": "r", "tag": "1"}}, **fields}
    return {"expose": {"router": {"eppConfig": given | ({"config": config} if config else {})}}}


BY_NAME = picker(None, configMapRef={"name": "mine", "key": "epp.yaml"})


def test_build_config(make):
    made = build_config(make.app(picker() | {"annotations": {"a": "b"}}))
    assert made["metadata"]["name"] == "llm-epp-config"
    assert "annotations" not in made["metadata"]
    assert made["data"] == {KEY: TEXT}
    assert yaml.safe_load(TEXT) == CONFIG


@pytest.mark.parametrize(
    ("spec", "place"),
    [
        pytest.param(picker(), ("llm-epp-config", KEY), id="ours"),
        pytest.param(BY_NAME, ("mine", "epp.yaml"), id="the user's"),
    ],
)
def test_config_map_ref(make, spec, place):
    assert config_map_ref(make.app(spec)) == place


@pytest.mark.parametrize(
    ("spec", "written_by", "data", "marked", "wanted"),
    [
        pytest.param(picker(), None, None, "", False, id="new"),
        pytest.param(picker(), OURS, {KEY: TEXT}, "", False, id="as it was"),
        pytest.param(picker(), THEIRS, {KEY: "data: null\n"}, "", False, id="taken over"),
        pytest.param(picker(), OURS, {KEY: "plugins: []\n"}, "", True, id="changed"),
        pytest.param(
            picker(),
            [OURS[0] | {"fieldsV1": {}}, *THEIRS],
            {KEY: "data: null\n"},
            "",
            False,
            id="taken over again",
        ),
        pytest.param(picker(), OURS, None, "", True, id="emptied"),
        pytest.param(picker(), OURS, {KEY: TEXT}, "ConfigMap", True, id="changed, then a crash"),
        pytest.param(picker(), None, None, "Deployment", True, id="changed, then deleted"),
        pytest.param(BY_NAME, OURS, {KEY: "plugins: []\n"}, "Deployment", False, id="the user's"),
    ],
)
def test_config_annotations_changed_config(make, spec, written_by, data, marked, wanted):
    mark = {"annotations": {MARK: "old"}}
    template = {"metadata": mark if marked == "Deployment" else {}}
    live = {"kind": "Deployment", "metadata": {"name": "llm-epp"}, "spec": {"template": template}}
    objects = [live]
    if written_by:
        metadata = {"name": "llm-epp-config", "managedFields": written_by}
        metadata |= mark if marked == "ConfigMap" else {}
        objects.append({"kind": "ConfigMap", "metadata": metadata, "data": data})
    observed = make.observe(*objects)
    found = config_annotations(NIMServiceApp(make.cr(spec), observed))
    assert list(found) == ([MARK] if wanted else [])
    assert "old" not in found.values()
    pods = build_picker(NIMServiceApp(make.cr(spec), observed))["spec"]["template"]["metadata"]
    assert pods.get("annotations", {}) == found


def test_config_annotations_unique(make):
    live = {"kind": "ConfigMap", "metadata": {"name": "llm-epp-config", "annotations": {MARK: ""}}}
    observed = make.observe(live)
    other = make.cr(picker(CONFIG | {"plugins": []}))
    marks = [
        config_annotations(NIMServiceApp(cr, observed)) for cr in (make.cr(picker()), other, other)
    ]
    assert marks[0] != marks[1] == marks[2]
    assert build_config(NIMServiceApp(other, observed))["metadata"]["annotations"] == marks[1]


def test_build_config_missing(make):
    """The API server refuses this spec, but render has no API server."""
    with pytest.raises(NimError, match=r"spec\.expose\.router\.eppConfig: set config or"):
        build_config(make.app(picker(None)))
