# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._builders.app import App
from ansible_collections.nimops.nim.plugins.module_utils._builders.pvc import build_pvc, pvc_name


def cr(**pvc):
    return {
        "apiVersion": "apps.nvidia.com/v1alpha1",
        "kind": "NIMCache",
        "metadata": {"name": "c", "namespace": "nim", "uid": "1"},
        "spec": {"storage": {"pvc": pvc}},
    }


def app(**pvc):
    return App(cr(**pvc))


def test_names():
    assert pvc_name(cr(name="mine")) == "mine"
    assert pvc_name(cr()) == "c-pvc"
    assert pvc_name({"metadata": {"name": "c"}, "spec": {}}) == "c-pvc"


def test_a_claim():
    pvc = {
        "size": "50Gi",
        "storageClass": "fast",
        "volumeAccessMode": "ReadWriteMany",
        "annotations": {"a": "1"},
    }
    made = build_pvc(app(**pvc), {"app": "x"})
    assert made["spec"] == {
        "accessModes": ["ReadWriteMany"],
        "resources": {"requests": {"storage": "50Gi"}},
        "storageClassName": "fast",
    }
    assert made["metadata"]["labels"] == {"app": "x"}
    assert made["metadata"]["annotations"] == {"a": "1"}
    assert made["metadata"]["ownerReferences"][0]["uid"] == "1"


def test_what_is_not_given_is_left_out():
    made = build_pvc(app(size="1Gi"), {})
    assert "storageClassName" not in made["spec"]
    assert set(made["metadata"]) == {"name", "namespace", "ownerReferences"}


@pytest.mark.parametrize("size", [None, "", "a lot", "1 Gi"])
def test_sizes_that_are_no_quantity(size):
    with pytest.raises(
        NimError,
        match=r"failed to parse size for pvc creation c-pvc, err .*spec\.storage\.pvc\.size",
    ):
        build_pvc(app(size=size), {})
