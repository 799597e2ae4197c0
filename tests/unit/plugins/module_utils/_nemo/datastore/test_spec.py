# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nemo.datastore.spec import (
    ObjectStore,
    Secrets,
)
from ansible_collections.nimops.nim.plugins.module_utils._nemo.spec import SecretKey

STORE = {
    "endpoint": "minio:9000",
    "bucketName": "lfs",
    "region": "here",
    "ssl": False,
    "credentials": {"user": "admin", "secretName": "minio", "passwordKey": "pw"},
}


def test_parse_spec_minimal(nemo: t.Any) -> None:
    spec = nemo.app("NemoDatastore").spec
    names = ("giteaadmin", "lfsjwt", "datastoreinit", "datastoreconfig", "datastoreinlineconfig")
    assert spec.secrets == Secrets(*names)
    assert (spec.object_store, spec.claim) == (None, None)
    assert nemo.app("NemoDatastore", {"objectStoreConfig": {}}).spec.object_store is None


@pytest.mark.parametrize(
    ("more", "is_direct"),
    [({}, True), ({"serveDirect": True}, True), ({"serveDirect": False}, False)],
)
def test_parse_spec_object_store(nemo: t.Any, more: dict[str, bool], is_direct: bool) -> None:
    spec = nemo.app("NemoDatastore", {"objectStoreConfig": STORE | more}).spec
    password = SecretKey("minio", "pw")
    assert spec.object_store == ObjectStore(
        "minio:9000",
        "lfs",
        "here",
        uses_tls=False,
        is_direct=is_direct,
        user="admin",
        password=password,
    )
