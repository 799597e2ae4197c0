# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The id of a version of a NIMCache, which no release may change."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache.app import NIMCacheApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache.source import content_of
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache.wanted import (
    is_renewal_wanted,
    served_content,
    wanted_version,
)


def test_wanted_id_is_stable(cache):
    """A release that gave another id would download every model again."""
    app = NIMCacheApp(cache())
    assert wanted_version(app).version_id == "7356def2ae"


@pytest.mark.parametrize(
    ("change", "differs"),
    [
        ({"engine": "tensorrt", "tensorParallelism": "1"}, False),
        ({"engine": "tensorrt", "tensorParallelism": "1", "precision": "", "profiles": []}, False),
        ({"engine": "tensorrt", "tensorParallelism": "1", "gpus": []}, False),
        ({"engine": "tensorrt", "tensorParallelism": "2"}, True),
        ({"engine": "tensorrt", "tensorParallelism": "1", "lora": False}, True),
        ({"profiles": ["aaaa"]}, True),
    ],
)
def test_wanted_id_by_choice(cache, change, differs):
    """An absent field equals an empty one: the reference writes specs in such ways."""
    ngc = cache()["spec"]["source"]["ngc"]
    changed = cache(source={"ngc": {**ngc, "model": change, "authSecret": "other"}})
    ids = {wanted_version(NIMCacheApp(cr)).version_id for cr in (cache(), changed)}
    assert (len(ids) == 2) is differs


def test_wanted_version_of_an_artifact(cache):
    """A model in a registry is not the one of the spec's source."""
    plain = cache()
    packed = cache()
    packed["metadata"]["annotations"] = {"nimops.nim/source": "oci://registry.example/m:1"}
    wanted = wanted_version(NIMCacheApp(packed))
    assert wanted.version_id != wanted_version(NIMCacheApp(plain)).version_id
    assert wanted.source["artifact"] == "oci://registry.example/m:1"
    packed["status"] = {"state": "Ready", "served": wanted.to_status()}
    app = NIMCacheApp(packed)
    assert served_content(app) == content_of(app)
    assert not is_renewal_wanted(app)
