# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Custom resources of all kinds, from clusters that lack some of them."""

from __future__ import annotations

import importlib
from unittest.mock import Mock

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import ApiError
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._commands.resource.info_command import (
    ResourceInfoCommand,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import (
    KINDS,
    api_path,
)
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_names

DEFAULTS = {name: option.get("default") for name, option in ResourceInfoCommand.spec.items()}


@pytest.fixture
def console(cluster, tmp_path):
    client = Client(cluster.kubeconfig(tmp_path))
    return Mock(is_dry=False, wants_diff=False, connect=lambda _arguments: client)


@pytest.fixture
def run(console):
    return lambda **options: ResourceInfoCommand(console).act(DEFAULTS | options)


@pytest.fixture
def names(run):
    def find(**options):
        return [(row["kind"], row["namespace"], row["name"]) for row in run(**options)["resources"]]

    return find


def put(cluster, kind, name="x", namespace="nim", status=None, **labels):
    place = {"namespace": namespace} if KINDS[kind].is_namespaced else {}
    metadata = {"name": name, **place, "labels": labels, "managedFields": [{}]}
    path = api_path(kind, namespace, name)
    cluster.put(path, {"metadata": metadata, "spec": {}, "status": status or {}})


def test_info_of_all_kinds(cluster, run):
    for kind in kind_names():
        put(cluster, kind)
    found = run()
    assert [row["kind"] for row in found["resources"]] == sorted(
        kind_names(), key=lambda kind: (KINDS[kind].is_namespaced, kind)
    )
    assert (found["missing_kinds"], found["changed"]) == ([], False)
    row = found["resources"][-1]
    assert (row["resource"]["kind"], row["state"], row["models"]) == (row["kind"], "", [])
    assert "managedFields" not in row["resource"]["metadata"]


def test_info_selects(cluster, names):
    put(cluster, "NIMService", team="a")
    put(cluster, "NIMService", "y", team="a")
    put(cluster, "NIMService", namespace="other", team="b")
    put(cluster, "NIMCache", team="a")
    put(cluster, "ClusterPolicy")
    assert names(kind="NIMService", name="x") == [
        ("NIMService", "nim", "x"),
        ("NIMService", "other", "x"),
    ]
    assert names(namespace="other") == [("NIMService", "other", "x")]
    assert names(label_selectors=["team=a"], field_selectors=["metadata.name!=y"]) == [
        ("NIMCache", "nim", "x"),
        ("NIMService", "nim", "x"),
    ]
    assert names(kind="NIMBuild", namespace="nim") == []


def test_info_without_definitions(cluster, run, console):
    cluster.missing_kinds = set(kind_names())
    missing_plurals = {KINDS[kind].plural for kind in kind_names()}
    cluster.kinds = {
        kind: item for kind, item in cluster.kinds.items() if item[1] not in missing_plurals
    }
    assert run() == {"changed": False, "resources": [], "missing_kinds": kind_names()}
    console.print_message.assert_not_called()
    assert run(kind="NIMService")["missing_kinds"] == ["NIMService"]
    console.print_message.assert_called_with("the cluster does not know the kind NIMService")


def test_info_of_tenant(cluster, run, refused):
    """A tenant may not list cluster-scoped kinds."""
    denied = refused(403, "clusterpolicies is forbidden")
    for kind in ("ClusterPolicy", "NVIDIADriver"):
        cluster.refuse["GET", api_path(kind)] = [denied, denied]
    assert run()["missing_kinds"] == []
    with pytest.raises(ApiError, match="forbidden"):
        run(kind="ClusterPolicy")
    cluster.refuse["GET", api_path("NIMCache")] = [refused(403, "nimcaches is forbidden")]
    with pytest.raises(ApiError, match="nimcaches is forbidden"):
        run(kind="NIMCache")


def test_info_documented_kinds():
    name = "ansible_collections.nimops.nim.plugins.modules.nim_resource_info"
    documentation = yaml.safe_load(importlib.import_module(name).DOCUMENTATION)
    assert documentation["options"]["kind"]["choices"] == kind_names()
