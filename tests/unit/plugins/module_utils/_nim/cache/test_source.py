# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Sorts of caches, by source and type."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache import source as flavour
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache.app import NIMCacheApp

Json = dict[str, t.Any]


@pytest.mark.parametrize(
    ("source", "optimized", "universal", "hf_style"),
    [
        pytest.param({"ngc": {"modelPuller": "x"}}, True, False, False, id="ngc"),
        pytest.param({"ngc": {"modelEndpoint": "ngc://x"}}, False, True, False, id="endpoint"),
        pytest.param({"hf": {"modelName": "x"}}, False, True, True, id="hf"),
        pytest.param({"dataStore": {"modelName": "x"}}, False, False, True, id="dataStore"),
    ],
)
def test_sorts(
    cache: t.Callable[..., Json], source: Json, optimized: bool, universal: bool, hf_style: bool
) -> None:
    cr = cache(source=source)
    assert flavour.is_optimized(NIMCacheApp(cr)) is optimized
    assert flavour.is_universal(NIMCacheApp(cr)) is universal
    assert flavour.is_hf_style(NIMCacheApp(cr)) is hf_style
    assert flavour.is_native(NIMCacheApp(cr), "native") is optimized
    assert not flavour.is_native(NIMCacheApp(cr), "model-free")


def test_no_source(cache: t.Callable[..., Json]) -> None:
    with pytest.raises(NimError, match=r"spec\.source: exactly one of"):
        flavour.source_kind(NIMCacheApp(cache(source={"ngc": {}})))
