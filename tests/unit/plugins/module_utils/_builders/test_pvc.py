# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._builders.app import App
from ansible_collections.nimops.nim.plugins.module_utils._builders.pvc import (
    build_claim,
    parse_claim,
)

CR = {
    "apiVersion": "apps.nvidia.com/v1alpha1",
    "kind": "NIMCache",
    "metadata": {"name": "c", "namespace": "nim", "uid": "1"},
    "spec": {},
}


def build(labels, **pvc):
    claim = parse_claim(CR, pvc)
    return build_claim(App(CR), claim, labels)


@pytest.mark.parametrize(
    ("given", "name", "is_named", "is_created", "sub_path"),
    [
        (None, "c-pvc", False, False, ""),
        ({}, "c-pvc", False, False, ""),
        ({"create": True, "subPath": "a/b"}, "c-pvc", False, True, "a/b"),
        ({"name": "mine"}, "mine", True, False, ""),
    ],
)
def test_parse_claim_name(given, name, is_named, is_created, sub_path):
    claim = parse_claim(CR, given)
    assert (claim.name, claim.field) == (name, "spec.storage.pvc")
    assert (claim.is_named, claim.is_created, claim.sub_path) == (is_named, is_created, sub_path)


def test_parse_claim_default_sub_path():
    assert parse_claim(CR, {}, "spec.pvc", "store").sub_path == "store"
    assert parse_claim(CR, {"subPath": "mine"}, "spec.pvc", "store").sub_path == "mine"


def test_build_claim():
    pvc = {
        "size": "50Gi",
        "storageClass": "fast",
        "volumeAccessMode": "ReadWriteMany",
        "annotations": {"a": "1"},
    }
    made = build({"app": "x"}, **pvc)
    assert made["spec"] == {
        "accessModes": ["ReadWriteMany"],
        "resources": {"requests": {"storage": "50Gi"}},
        "storageClassName": "fast",
    }
    assert made["metadata"]["labels"] == {"app": "x"}
    assert made["metadata"]["annotations"] == {"a": "1"}
    assert made["metadata"]["ownerReferences"][0]["uid"] == "1"


def test_build_claim_minimal():
    made = build({}, size="1Gi")
    assert "storageClassName" not in made["spec"]
    assert set(made["metadata"]) == {"name", "namespace", "ownerReferences"}


@pytest.mark.parametrize("size", [None, "", "a lot", "1 Gi"])
def test_build_claim_invalid_size(size):
    with pytest.raises(
        NimError,
        match=r"failed to parse size for pvc creation c-pvc, err .*spec\.storage\.pvc\.size",
    ):
        build({}, size=size)
