# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Loads custom resources from YAML and JSON files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._commands.loader import (
    Text,
    custom_resources,
    parse,
    stored,
    to_apply,
)

SAMPLES = Path(__file__).resolve().parents[5] / "config/samples"
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}

BROKEN = {
    "no yaml": ("a: [", "f: is not YAML: line "),
    "a list": ("[1]", "f, document 1: is not an object with apiVersion, kind and metadata"),
    "no kind": ("{apiVersion: v1}", "f, document 1: has no kind, metadata"),
    "no name": (
        "---\n---\n{apiVersion: v1, kind: Pod, metadata: {}}",
        "f, document 2: has no metadata.name",
    ),
    "an unknown kind": (
        "{apiVersion: apps.nvidia.com/v1alpha1, kind: NimService, metadata: {name: a}}",
        "f: NimService a: kind 'NimService' is not one of",
    ),
    "another version": (
        "{apiVersion: apps.nvidia.com/v2, kind: NIMService, metadata: {name: a}}",
        "f: NIMService a: apiVersion: is apps.nvidia.com/v2; use apps.nvidia.com/v1alpha1",
    ),
    "a wrong field": (
        "{apiVersion: apps.nvidia.com/v1alpha1, kind: NIMService, metadata: {name: a},"
        " spec: {image: {repository: r, tag: 1}}}",
        "f: NIMService a: spec.image.tag: is 1, which is not of type string",
    ),
    "a key of Ansible's own": (
        "{apiVersion: apps.nvidia.com/v1alpha1, kind: NIMService, metadata: {name: a,"
        " labels: {__ansible_unsafe: x}}}",
        "f: NIMService a: metadata.labels.__ansible_unsafe: keys that begin with __ansible are",
    ),
    "too large": (
        "{apiVersion: apps.nvidia.com/v1alpha1, kind: NIMService, metadata: {name: a},"
        f" spec: {{authSecret: {'x' * (256 << 10)}}}}}",
        "f: NIMService a: spec.authSecret: the resource has 256.1 KiB as JSON, more than 256 KiB",
    ),
    "too deep": (
        "{apiVersion: apps.nvidia.com/v1alpha1, kind: NIMService, metadata: {name: a},"
        f" spec: {'{a: ' * 100}1{'}' * 100}}}",
        "f: NIMService a: spec.a.a.a.a.a.a.a: lists and maps are nested 101 levels deep, more",
    ),
    "nothing of ours": (yaml.safe_dump(SECRET), "there is no custom resource of apps.nvidia"),
}


@pytest.mark.parametrize(("content", "message"), BROKEN.values(), ids=BROKEN)
def test_custom_resources_errors(content, message):
    with pytest.raises(NimError) as caught:
        custom_resources([Text("f", content)], "nim")
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"replicas": "two"}, 'spec.replicas: is "two", which is not of type integer'),
        ({"replicas": 0}, "spec.replicas: is 0, less than 1"),
        ({"image": None}, "spec.image: is required"),
        ({"replica": 1}, "spec.replica: is unknown; the fields here are "),
        ({"expose": {"service": {"port": 70000}}}, "spec.expose.service.port: is 70000, more than"),
    ],
    ids=["type", "range", "missing", "unknown", "below"],
)
@pytest.mark.parametrize("file", sorted(SAMPLES.glob("nemo_*.yaml")), ids=lambda file: file.stem)
def test_custom_resources_nemo_fields(file, wrong, message):
    resource = yaml.safe_load(file.read_text())
    kind, name = resource["kind"], resource["metadata"]["name"]
    assert custom_resources([Text("f", file.read_text())], "nim")
    resource["spec"] |= wrong
    with pytest.raises(NimError) as caught:
        custom_resources([Text("f", yaml.safe_dump(resource))], "nim")
    assert str(caught.value).startswith(f"f: {kind} {name}: {message}")


def test_parse_formats(make_service, make_cache):
    listed = {"apiVersion": "v1", "kind": "List", "items": [make_cache(), SECRET]}
    texts = [
        Text("a", yaml.safe_dump_all([SECRET, make_service(), None])),
        Text("b", json.dumps(listed)),
    ]
    found = custom_resources(texts, "other")
    assert [item["kind"] for item in found] == ["NIMService", "NIMCache"]


def test_custom_resources_default_namespace(make_service):
    given, other = make_service("a"), make_service("b")
    del given["metadata"]["namespace"]
    found = custom_resources([Text("f", yaml.safe_dump_all([given, other]))], "there")
    assert [item["metadata"]["namespace"] for item in found] == ["there", "nim"]


def test_custom_resources_duplicate(make_service):
    text = yaml.safe_dump_all([make_service(), make_service()])
    with pytest.raises(NimError, match="f: NIMService llm: is duplicated in namespace nim"):
        custom_resources([Text("f", text)], "nim")


def test_custom_resources_many_errors(make_service):
    text = yaml.safe_dump_all(make_service(f"s{number}", what=1) for number in range(25))
    with pytest.raises(NimError) as caught:
        custom_resources([Text("f", text)], "nim")
    assert str(caught.value).count("spec.what: is unknown") == 20
    assert str(caught.value).endswith("… and 5 more")


def test_stored_adds_defaults(make_service):
    given = make_service(nodeSelector=None)
    del given["spec"]["expose"]["service"]["port"]
    (found,) = custom_resources([Text("f", yaml.safe_dump(given))], "nim")
    assert "port" not in found["spec"]["expose"]["service"]
    assert "nodeSelector" not in found["spec"]
    assert stored(found)["spec"]["expose"]["service"]["port"] == 8000


def test_to_apply(make_service):
    given = make_service()
    given["metadata"] |= {
        "uid": "u",
        "resourceVersion": "1",
        "managedFields": [],
        "finalizers": ["f"],
        "labels": {"a": "b"},
    }
    given["status"] = {"state": "Ready"}
    applied = to_apply(given)
    assert applied["metadata"] == {"name": "llm", "namespace": "nim", "labels": {"a": "b"}}
    assert "status" not in applied


def test_parse_order():
    text = yaml.safe_dump_all([{**SECRET, "metadata": {"name": name}} for name in "ba"])
    assert [item["metadata"]["name"] for item in parse(Text("f", text))] == ["b", "a"]
