# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The versions of a NIMCache's model as its users see them."""

from __future__ import annotations

import copy

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache_spec import parse_cache
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache_versions import (
    Version,
    has_turn,
    mounted_view,
    parse_version,
    served_view,
    version_name,
)

SERVED = {
    "id": "bb",
    "folder": ".nimops/bb",
    "source": {"kind": "hf", "modelName": "new", "revision": "v2", "artifact": "oci://r/m:1"},
}
FORMER = {
    "id": "aa",
    "source": {"kind": "hf", "modelName": "old"},
    "type": "model-free",
    "profiles": [{"name": "p"}],
}
CACHE = {
    "metadata": {"name": "cache"},
    "spec": {
        "source": {"hf": {"modelName": "next", "revision": "v3", "authSecret": "key"}},
        "storage": {"pvc": {"name": "claim", "subPath": "a"}},
    },
    "status": {"state": "Ready", "served": SERVED, "former": [FORMER]},
}


def never(*_views):
    return False


def test_version_round_trip():
    full = Version(
        "aa", "f", {"kind": "ngc"}, "today", 5, "native", ({"name": "p"},), is_removed=True
    )
    assert Version(**{**full.__dict__, "profiles": [{"name": "p"}]}) == parse_version(
        full.to_status()
    )
    assert Version("aa").to_status() == {"id": "aa"}


def test_served_view_shows_what_is_served():
    before = copy.deepcopy(CACHE)
    view = served_view(CACHE)
    source = parse_cache(view).source
    assert source is not None
    assert (source.model_name, source.revision, source.auth_secret) == ("new", "v2", "key")
    assert (parse_cache(view).claim.sub_path, version_name(view)) == ("a/.nimops/bb", "bb")
    assert before == CACHE


def test_served_view_without_record_is_the_cache():
    cache = {**CACHE, "status": {"state": "Ready"}}
    assert served_view(cache) is cache
    assert version_name(cache) == ""


@pytest.mark.parametrize(
    ("mounted", "asks", "name"),
    [
        (None, False, "bb"),
        ("bb", False, "bb"),
        ("", False, ""),
        ("", True, "bb"),
        ("cc", False, "bb"),
    ],
)
def test_mounted_view_version(mounted, asks, name):
    view = mounted_view(CACHE, mounted, lambda *_views: asks)
    assert version_name(view) == name


def test_mounted_view_of_a_former_version():
    view = mounted_view(CACHE, "", never)
    source = parse_cache(view).source
    assert source is not None
    assert (source.model_name, source.revision) == ("old", "")
    assert view["status"]["type"] == "model-free"
    assert view["status"]["profiles"] == [{"name": "p"}]
    assert parse_cache(view).claim.sub_path == "a"


@pytest.mark.parametrize("change", [{"removed": True}, {"source": {}}], ids=str)
def test_mounted_view_without_files(change):
    cache = {**CACHE, "status": {"served": SERVED, "former": [{**FORMER, **change}]}}
    assert version_name(mounted_view(cache, "", never)) == "bb"


def test_mounted_view_compares_the_two_versions():
    seen = []
    mounted_view(CACHE, "", lambda *views: bool(seen.extend(version_name(view) for view in views)))
    assert seen == ["bb", ""]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("cache=bb", True), ("cache=aa", False), ("other=bb", False), ("", False)],
)
def test_has_turn(text, expected):
    service = {"metadata": {"name": "s", "annotations": {"nimops.nim/cache-store": text}}}
    assert has_turn(service, CACHE) is expected
