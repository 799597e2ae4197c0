# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import copy

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._base.reserved_keys import (
    find_reserved_keys,
    refuse_reserved_keys,
    remove_reserved_keys,
)

CASES = [
    ("no map", "__ansible_unsafe", "__ansible_unsafe", []),
    ("a value is not a key", {"a": "__ansible_unsafe"}, {"a": "__ansible_unsafe"}, []),
    (
        "not at the beginning",
        {"x__ansible": 1, "_ansible": 1},
        {"x__ansible": 1, "_ansible": 1},
        [],
    ),
    ("unsafe", {"a": {"__ansible_unsafe": "x"}}, {"a": {}}, [".a.__ansible_unsafe"]),
    ("vault", {"__ansible_vault": "x", "b": 1}, {"b": 1}, [".__ansible_vault"]),
    ("of a later version", {"__ansible_type": "x"}, {}, [".__ansible_type"]),
    (
        "in lists, and what is below goes with it",
        {"l": [{"__ansiblex": {"__ansible_unsafe": 1}, "k": 2}, [{"__ansible_": 3}]]},
        {"l": [{"k": 2}, [{}]]},
        [".l[0].__ansiblex", ".l[1][0].__ansible_"],
    ),
    (
        "keys that are not text",
        {1: {"__ansible_a": 1}, None: 2},
        {1: {}, None: 2},
        [".1.__ansible_a"],
    ),
]


@pytest.mark.parametrize(("_name", "document", "kept", "paths"), CASES, ids=[c[0] for c in CASES])
def test_remove_reserved_keys_finds_all(_name, document, kept, paths):
    given = copy.deepcopy(document)
    assert find_reserved_keys(given) == paths
    assert given == document
    assert remove_reserved_keys(given) == paths
    assert given == kept


def test_remove_reserved_keys_any_depth():
    document = bottom = {}
    for _level in range(5_000):
        bottom["a"] = bottom = {}
    bottom["__ansible_unsafe"] = "x"
    assert len(remove_reserved_keys(document)) == 1
    assert bottom == {}


def test_refuse_reserved_keys_names_fields():
    refuse_reserved_keys({"spec": {"labels": {"app": "x"}}})
    keys = {f"__ansible_{number}": "x" for number in range(7)}
    with pytest.raises(NimError) as caught:
        refuse_reserved_keys({"spec": {"labels": keys}})
    assert str(caught.value) == (
        "spec.labels.__ansible_0, spec.labels.__ansible_1, spec.labels.__ansible_2,"
        " spec.labels.__ansible_3, spec.labels.__ansible_4 and 2 more: keys that begin with"
        " __ansible are reserved for Ansible: remove them"
    )
