# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import glob
from pathlib import Path

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._base.reserved_keys import (
    OPEN_FIELDS,
    is_in_open_field,
)
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._cluster.load_resource import load_resource

PATH = "/apis/apps.nvidia.com/v1alpha1/namespaces/nim/nimservices/llm"
REFERENCE = {"kind": "NIMService", "metadata": {"name": "llm", "namespace": "nim"}}
BASES = Path(__file__).parents[5] / "config/crd/bases"


def stored(**spec):
    return {"apiVersion": "apps.nvidia.com/v1alpha1", **REFERENCE, "spec": spec}


def with_picker(**parameters):
    config = {"plugins": [{"type": "x", "parameters": parameters}]}
    return {"expose": {"router": {"eppConfig": {"config": config}}}}


@pytest.fixture
def client(cluster, tmp_path):
    return Client(cluster.kubeconfig(tmp_path))


def test_load_resource_from_reference(client, cluster):
    cluster.put(PATH, stored(image={"tag": "{{ 1 + 1 }}"}))
    assert load_resource(client, REFERENCE)["spec"] == {"image": {"tag": "{{ 1 + 1 }}"}}
    assert [item.path for item in cluster.calls("GET")] == [PATH]


def test_load_resource_deleted(client):
    assert load_resource(client, REFERENCE) is None


def test_load_resource_whole(client, cluster):
    assert load_resource(client, stored(replicas=1)) == stored(replicas=1)
    assert cluster.server.requests == []


def test_load_resource_removes_reserved_keys(client, cluster):
    labels = {"app": "x", "__ansible_unsafe": "y"}
    cluster.put(PATH, stored(nodeSelector=labels, labels={"__ansible_vault": "y"}))
    assert load_resource(client, REFERENCE)["spec"] == {"nodeSelector": {"app": "x"}, "labels": {}}


def test_load_resource_refuses_reserved_keys(client):
    with pytest.raises(NimError, match=r"^spec\.labels\.__ansible_unsafe: keys that begin with"):
        load_resource(client, stored(labels={"__ansible_unsafe": "y"}))


def test_load_resource_reserved_key_in_open_field(client, cluster):
    cluster.put(PATH, stored(**with_picker(__ansible_unsafe="y", n=1)))
    with pytest.raises(NimError, match=r"plugins\[0\]\.parameters\.__ansible_unsafe: "):
        load_resource(client, REFERENCE)
    lenient = load_resource(client, REFERENCE, strict=False)
    assert lenient["spec"] == with_picker(n=1)


def test_load_resource_reserved_key_in_volume(client, cluster):
    volume = {"name": "x", "csi": {"driver": "d", "volumeAttributes": {"__ansible_unsafe": "y"}}}
    policy = {"kind": "ClusterPolicy", "metadata": {"name": "p"}}
    cluster.put(
        "/apis/nvidia.com/v1/clusterpolicies/p",
        {**policy, "apiVersion": "nvidia.com/v1", "spec": {"dcgm": {"extraVolumes": [volume]}}},
    )
    place = r"^spec\.dcgm\.extraVolumes\[0\]\.csi\.volumeAttributes\.__ansible_unsafe: "
    with pytest.raises(NimError, match=place):
        load_resource(client, policy)


def test_load_resource_reserved_key_during_deletion(client, cluster):
    deleted = cluster.put(PATH, stored(**with_picker(__ansible_unsafe="y")))
    deleted["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert load_resource(client, REFERENCE)["spec"] == with_picker()


@pytest.mark.parametrize("metadata", [None, {}, {"name": "llm"}, {"name": "llm", "namespace": 1}])
def test_load_resource_incomplete_reference(client, metadata):
    with pytest.raises(NimError, match=r"^resource\.metadata\.(name|namespace): missing; set "):
        load_resource(client, {"kind": "NIMService", "metadata": metadata})


def open_fields(schema, path=""):
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        yield path
    for key, below in (schema.get("properties") or {}).items():
        yield from open_fields(below, f"{path}.{key}")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from open_fields(schema[key], path)


@pytest.mark.skipif(not BASES.is_dir(), reason="needs the repository's config/crd/bases")
def test_open_fields_are_those_of_crds():
    found = set()
    for file in glob.glob(f"{BASES}/*.yaml"):
        version = yaml.safe_load(Path(file).read_text())["spec"]["versions"][0]
        found |= set(open_fields(version["schema"]["openAPIV3Schema"]))
    assert all(map(is_in_open_field, found))
    assert all(any(field in path for path in found) for field in OPEN_FIELDS)
