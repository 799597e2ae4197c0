# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Expressions of a model's author: matches, and linear time."""

from __future__ import annotations

import importlib
import sys

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nim.profiles.expressions import (
    Expressions,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.profiles.model_manifest import Profile
from ansible_collections.nimops.nim.plugins.module_utils._nim.profiles.profile_selection import (
    select_profiles,
)

H100 = "NVIDIA-H100-80GB-HBM3"


SEARCH_CASES = {
    "match": ("H100.*HBM3", (True, "")),
    "other case": ("h100", (False, "")),
    "any case": ("(?i)h100", (True, "")),
    "classes of RE2": (r"^NVIDIA-[[:alnum:]]+-\d+GB", (True, "")),
    "bad": ("H100(", (False, "product_name_regex is not valid, or too large")),
    "back": (r"(H)\1", (False, "product_name_regex is not valid, or too large")),
    "look": ("H(?=100)", (False, "product_name_regex is not valid, or too large")),
    "memory": (r"[\p{L}\p{N}]{999}", (False, "product_name_regex is not valid, or too large")),
    "long": ("H" * 257, (False, "product_name_regex has more than 256 characters")),
}


@pytest.mark.parametrize(("pattern", "expected"), SEARCH_CASES.values(), ids=SEARCH_CASES)
def test_search(pattern, expected):
    assert Expressions().search(pattern, [H100]) == expected


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|a)*$", "^(a|aa)+$", "^(.*a){20}$"])
def test_search_linear_time(pattern):
    """Backtracking would practically never end."""
    assert Expressions().search(pattern, ["a" * 200 + "!"]) == (False, "")


def test_search_compiles_once(monkeypatch):
    re2, seen = importlib.import_module("re2"), []
    compile_it = re2.compile
    monkeypatch.setattr(
        re2, "compile", lambda text, **options: seen.append(text) or compile_it(text, **options)
    )
    profiles = [Profile(f"p{n}", {"product_name_regex": "H100"}) for n in range(50)]
    assert len(select_profiles(profiles, {}, [H100], 2).selected) == 50
    assert seen == ["H100"]


def test_search_bounded():
    expressions = Expressions()
    for n in range(256):
        assert expressions.search(f"x{n}", [H100]) == (False, "")
    assert expressions.search("H100", [H100]) == (
        False, "the manifest has more than 256 of product_name_regex",
    )  # fmt: skip
    assert expressions.search("x1", ["x1"]) == (True, "")


@pytest.fixture
def without_re2(monkeypatch):
    monkeypatch.setitem(sys.modules, "re2", None)


@pytest.mark.usefixtures("without_re2")
def test_search_without_re2():
    profiles = [
        Profile("regex", {"product_name_regex": "H100"}),
        Profile("named", {"gpu": "h100", "product_name_regex": "(a+)+$"}),
        Profile("any", {}),
    ]
    found = select_profiles(profiles, {}, [H100], 2)
    assert found.selected == ["named", "any"]
    assert [item.message for item in found.dropped] == [
        f"gpus found {H100}, profile has H100:"
        " product_name_regex needs the Python package google-re2"
    ]


def test_search_loads_re2_lazily(monkeypatch):
    monkeypatch.delitem(sys.modules, "re2", raising=False)
    select_profiles([Profile("a", {"gpu": "A100"})], {}, [H100], 2)
    assert "re2" not in sys.modules
