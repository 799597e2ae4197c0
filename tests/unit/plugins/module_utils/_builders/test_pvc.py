# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._builders.app import App
from ansible_collections.nimops.nim.plugins.module_utils._builders.pvc import (
    build_claim,
    parse_claim,
    warn_of_differences,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._engine.status_builder import StatusBuilder

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
    made = build({}, size="1Gi", volumeAccessMode="ReadWriteOnce")
    assert "storageClassName" not in made["spec"]
    assert set(made["metadata"]) == {"name", "namespace", "ownerReferences"}


@pytest.mark.parametrize("size", [None, "", "a lot", "1 Gi"])
def test_build_claim_invalid_size(size):
    with pytest.raises(
        NimError,
        match=r"failed to parse size for pvc creation c-pvc, err .*spec\.storage\.pvc\.size",
    ):
        build({}, size=size)


@pytest.mark.parametrize(
    ("mode", "start"),
    [
        (None, "without an access mode"),
        ("", "without an access mode"),
        ("RWO", "with access mode RWO"),
    ],
)
def test_build_claim_invalid_mode(mode, start):
    with pytest.raises(NimError) as caught:
        build({}, size="1Gi", volumeAccessMode=mode)
    assert str(caught.value) == (
        f'PersistentVolumeClaim "c-pvc" cannot be created {start}: set'
        " spec.storage.pvc.volumeAccessMode to one of ReadWriteOnce, ReadOnlyMany, ReadWriteMany,"
        " ReadWriteOncePod"
    )


LIVE = {
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "50Gi"}},
        "storageClassName": "slow",
    }
}
SAME = {"create": True, "size": "50Gi", "volumeAccessMode": "ReadWriteOnce", "storageClass": "slow"}


@pytest.mark.parametrize(
    ("given", "live", "parts"),
    [
        (SAME, LIVE, ""),
        (SAME | {"size": "100Gi"}, LIVE, "size 50Gi instead of 100Gi"),
        (SAME | {"size": "51200Mi"}, LIVE, ""),
        (SAME | {"size": "10Gi"}, LIVE, ""),
        (SAME | {"size": "large"}, LIVE, ""),
        (
            SAME | {"volumeAccessMode": "ReadWriteMany", "storageClass": "fast"},
            LIVE,
            "volumeAccessMode ReadWriteOnce instead of ReadWriteMany, storageClass slow instead of fast",
        ),
        (SAME, {"spec": {**LIVE["spec"], "storageClassName": None}}, "storageClass unset instead of slow"),
        ({"create": True}, LIVE, ""),
        (SAME | {"create": False, "size": "100Gi"}, LIVE, ""),
        (SAME, None, ""),
    ],
    ids=[
        *("equal", "size", "notation", "expanded", "invalid-size", "both", "class"),
        *("nothing-given", "not-created", "absent"),
    ],
)  # fmt: skip
def test_warn_of_differences(given, live, parts):
    builder = StatusBuilder({})
    app = App(CR, Observed({"PersistentVolumeClaim/nim/c-pvc": live}))
    warn_of_differences(builder, app, parse_claim(CR, given))
    assert [event.reason for event in builder.events] == (["ClaimDiffers"] if parts else [])
    if parts:
        assert (
            f"differs from the spec and is not changed: {parts}. Set these values in spec.storage.pvc"
            in builder.events[0].message
        )
        again = StatusBuilder(dict(builder.status))
        warn_of_differences(again, app, parse_claim(CR, given))
        assert (again.events, again.conditions) == ([], builder.conditions)
        warn_of_differences(again, app, parse_claim(CR, {}))
        assert again.conditions == []
