# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._engine.label_selector import (
    is_label_value,
    parse_selector,
    selector_of,
)

LABELS = {"app": "a", "tier": "x", "example.com/team": "ml", "empty": ""}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *(("", True), ("  ", True), ("app=a", True), ("app==a", True)),
        *((" app = a , tier = x ", True), ("app=b", False), ("missing=a", False)),
        *(("app!=b", True), ("app!=a", False), ("missing!=a", True), ("app in (a, b)", True)),
        *(("app in (b,c)", False), ("missing in (a)", False), ("app notin (b)", True)),
        *(("app notin (a,b),tier=x", False), ("missing notin (a)", True), ("app", True)),
        *(("missing", False), ("!missing", True), ("! app", False)),
        *(("example.com/team=ml,app in (a),!missing", True), ("empty=", True), ("app=", False)),
    ],
)
def test_selector_selects(text, expected):
    assert parse_selector(text, "f").selects(LABELS) is expected


@pytest.mark.parametrize(
    "text",
    ["a=b=c", "a in b", "a in (b", ",", "a,,b", "=a", "a=b c", "a{{b}}", "a in (b c)", "x" * 5000],
)
def test_parse_selector_invalid(text):
    with pytest.raises(NimError, match=r"^spec\.podSelector: "):
        parse_selector(text, "spec.podSelector")


def test_selector_selects_without_labels():
    assert parse_selector("!a", "f").selects(None)
    assert not parse_selector("a", "f").selects(None)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, True),
        ({"matchLabels": {"app": "a"}}, True),
        ({"matchLabels": {"app": "a", "tier": "y"}}, False),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["a", "b"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["a"]}]}, False),
        ({"matchExpressions": [{"key": "app", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}, False),
        (
            {
                "matchLabels": {"app": "a"},
                "matchExpressions": [{"key": "x", "operator": "DoesNotExist"}],
            },
            True,
        ),
    ],
)
def test_selector_of_object(given, expected):
    assert selector_of(given).selects(LABELS) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *((text, True) for text in ("", "a", "all-disabled", "A.b_c-9", "x" * 63)),
        *((text, False) for text in ("a b", "-a", "a-", ".", "ä", "x" * 64, "a\n", "a/b")),
    ],
)
def test_is_label_value(text, expected):
    assert is_label_value(text) is expected


def test_selector_of_none():
    assert selector_of(None) is None
