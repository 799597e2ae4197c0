# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Definitions as input; tests/unit/plugins/playbooks run the commands."""

from __future__ import annotations

from unittest.mock import Mock

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._commands.command import ResourcesCommand
from ansible_collections.nimops.nim.plugins.module_utils._commands.loader import parse

SERVICE = {"apiVersion": "a/v1", "kind": "NIMService", "metadata": {"name": "llm"}}
ODD = [
    *("yes", "null", "010", "1e3", "0x1f", "1:30", "2001-01-01", "=", "<<", "~", "", " a ", "- a"),
    *("{{ a }}", "a: b", "a #b", "'", '"', "!a", "&a", "*a", "%a", "a\n", "\n\n", "a\nb ", "\t"),
    *("\x00", "\x07", "\x85", "\u2028", "\ufeff", "😀", True, None, 1, 1.5, 10**30, [], {}),
]


@pytest.fixture
def find():
    """The texts that an action finds in its arguments and in these variables."""

    def find_texts(variables=None, **arguments):
        command = ResourcesCommand(Mock(variables=variables or {}))
        left_out = dict.fromkeys(("files", "definition", "definition_variable"))
        return command.find_texts(left_out | arguments)

    return find_texts


@pytest.mark.parametrize("value", ODD, ids=repr)
def test_definition_object_round_trip(find, value):
    given = {**SERVICE, "spec": {"a": value, "b": [value], "c": value}}
    (text,) = find(definition=given)
    assert parse(text) == [given]


def test_find_texts_from_one_option_only(find):
    assert find({"a": "x"}) == []
    assert find({"a": "x"}, definition_variable="b") == []
    assert [item.content for item in find({"a": "x"}, definition_variable="a")] == ["x"]
    assert find({"a": "x"}, definition="x") == find({"a": "x"}, definition_variable="a")
    with pytest.raises(NimError, match="definition and the variable a: set only one of them"):
        find({"a": "x"}, definition="x", definition_variable="a")
    with pytest.raises(NimError, match="files and definition: set only one of them"):
        find(files=["x"], definition="")


@pytest.mark.parametrize("value", [object(), "\ud83d"], ids=["no data", "half a character"])
def test_definition_refuses_invalid_yaml(find, value):
    with pytest.raises(NimError, match="definition: has a value that is not YAML"):
        find(definition={**SERVICE, "spec": value})
