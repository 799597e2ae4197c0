# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Regular expressions that mean the same on each supported Python."""

from __future__ import annotations

import importlib
import re
import re._parser as parser
import typing as t
from pathlib import Path

import pytest

MODULES = Path(__file__).resolve().parents[4] / "plugins/module_utils"
PACKAGE = "ansible_collections.nimops.nim.plugins.module_utils"
NAMES = sorted(
    ".".join(file.relative_to(MODULES).with_suffix("").parts)
    for file in MODULES.rglob("*.py")
    if "re.compile" in file.read_text()
)
BACKTRACKING = ("BRANCH", "MAX_REPEAT", "MIN_REPEAT")


def find_choices(items: t.Any, *, is_possessive: bool = False) -> t.Iterator[str]:
    """The parts with a choice inside possessive repeats, which Python 3.11.0 to 3.11.4 match wrongly.

    An atomic group around a greedy repeat means the same on all versions.
    """
    for operation, value in items:
        name = str(operation)
        if is_possessive and name in BACKTRACKING:
            yield name
        inside = is_possessive or name == "POSSESSIVE_REPEAT"
        for part in list_parts(name, value):
            yield from find_choices(
                part, is_possessive=inside and name not in ("ASSERT", "ASSERT_NOT", "ATOMIC_GROUP")
            )


def list_parts(name: str, value: t.Any) -> list[t.Any]:
    """The patterns inside an operation."""
    if name.endswith("_REPEAT"):
        return [value[2]]
    if name == "SUBPATTERN":
        return [value[3]]
    if name == "BRANCH":
        return list(value[1])
    if name in ("ASSERT", "ASSERT_NOT"):
        return [value[1]]
    return [value] if name == "ATOMIC_GROUP" else []


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("(?:a|bc)++", True),
        ("(?:(?:a?b)*+)", True),
        ("(?>(?:a|bc)+)", False),
        ("[ab]++(?:cd)*+", False),
        ("(?:(?>(?:a|bc)*)d)++", False),
    ],
)
def test_find_choices(pattern, found):
    assert bool(list(find_choices(parser.parse(pattern)))) == found


@pytest.mark.parametrize("name", NAMES)
def test_patterns_portable(name):
    module = importlib.import_module(f"{PACKAGE}.{name}")
    wrong = {
        key
        for key, item in vars(module).items()
        if isinstance(item, re.Pattern)
        and isinstance(item.pattern, str)
        and list(find_choices(parser.parse(item.pattern, item.flags)))
    }
    assert wrong == set()
