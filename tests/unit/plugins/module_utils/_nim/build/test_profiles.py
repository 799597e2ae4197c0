# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import json

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._nim.build.app import NIMBuildApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.build.profiles import (
    MAX_BUILT,
    check_capacity,
    list_in_cache,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.profiles.model_manifest import Profile

ETCD_LIMIT = 1536 << 10


def built(number=0, **config):
    return {"name": f"built-{number}", "config": {"input_profile": "a", **config}}


def cached(number, size=0):
    return {"name": f"cached-{number}", "config": {"tag": "x" * size}}


def with_version(cache):
    return cache | {"metadata": cache["metadata"] | {"resourceVersion": "5"}}


CAPACITY = {
    "the first": ([], built(), ""),
    "the last": ([built(n) for n in range(MAX_BUILT - 1)], built(99), ""),
    "many that were cached": ([cached(n) for n in range(200)], built(), ""),
    "too many": ([built(n) for n in range(MAX_BUILT)], built(99), "the maximum is 32"),
    "too large": ([], built(tag="x" * 20_000), "16384 bytes for a built profile"),
    "in bytes": ([], built(tag="ü" * 5_000), "16384 bytes for a built profile"),
    "full": ([cached(n, 10_000) for n in range(80)], built(), "786432 bytes for profiles"),
}


@pytest.mark.parametrize(("listed", "entry", "problem"), CAPACITY.values(), ids=CAPACITY)
def test_check_capacity(cache, listed, entry, problem):
    full = cache(*listed)
    if not problem:
        check_capacity(full, entry)
        return
    with pytest.raises(NimError, match=problem) as raised:
        check_capacity(full, entry)
    assert raised.value.reason == "NIMCacheFull"
    assert str(raised.value).startswith("NIMCache llama ")


def test_list_in_cache_until_full(cache, build):
    """Profiles of maximum size, until the cache is full."""
    on = with_version(cache(*(cached(n, 10_000) for n in range(20))))
    count = 0
    while count < 1000:
        profile = Profile(f"id-{count}", {"tag": "x" * 16_000})
        try:
            patch = list_in_cache(NIMBuildApp(build()), on, profile)
        except NimError:
            break
        assert patch is not None
        on["status"].update(patch.status)
        count += 1
    assert 0 < count <= MAX_BUILT
    assert len(json.dumps(on)) < ETCD_LIMIT


def test_list_in_cache_already_listed(cache, build):
    on = with_version(cache(*(built(n) for n in range(MAX_BUILT))))
    assert list_in_cache(NIMBuildApp(build()), on, Profile("built-3")) is None
