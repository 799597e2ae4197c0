# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Validation and defaults like in the API server."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._commands.schema import (
    apply_defaults,
    convert_texts,
    drop_nulls,
    find_violations,
    schema_of,
)

SCHEMA = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 5, "pattern": "^[a-z]*$"},
        "mode": {"type": "string", "enum": ["a", "b"], "default": "a"},
        "port": {"type": "integer", "minimum": 1, "maximum": 9},
        "flag": {"type": "boolean"},
        "size": {"x-kubernetes-int-or-string": True},
        "ratio": {"type": "number"},
        "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "map": {"type": "object", "additionalProperties": {"type": "string"}},
        "list": {
            "type": "array",
            "maxItems": 2,
            "items": {
                "type": "object",
                "required": ["port"],
                "properties": {"port": {"type": "integer", "default": 80}},
            },
        },
    },
}

GOOD = {
    "all": {
        "name": "abc",
        "mode": "b",
        "port": 9,
        "flag": False,
        "size": "1Gi",
        "ratio": 1,
        "open": {"any": [1]},
        "map": {"k": "v"},
        "list": [{"port": 1}],
    },
    "a number for a quantity": {"name": "a", "size": 2},
    "null is absent": {"name": "a", "port": None},
    "required, but has a default": {"name": "a", "list": [{}]},
}

BAD = {
    "not an object": ([], ": is [], which is not of type object"),
    "required": ({}, "name: is required"),
    "required and null": ({"name": None}, "name: is required"),
    "unknown": (
        {"name": "a", "nmae": 1},
        "nmae: is unknown; the fields here are flag, list, map, mode, name, open, port, ratio, size",
    ),
    "number for text": ({"name": 1}, "name: is 1, which is not of type string"),
    "truth for number": (
        {"name": "a", "port": True},
        "port: is true, which is not of type integer",
    ),
    "too many bits": (
        {"name": "a", "list": [{"port": 2**63}]},
        "list[0].port: is 9223372036854775808, which is not a 64-bit integer",
    ),
    "truth for quantity": (
        {"name": "a", "size": True},
        "size: is true, which is not a number or a string",
    ),
    "too short": ({"name": ""}, "name: has 0 characters, at least 1 are allowed"),
    "too long": ({"name": "abcdef"}, "name: has 6 characters, at most 5 are allowed"),
    "pattern": ({"name": "A"}, 'name: is "A", which does not match ^[a-z]*$'),
    "line break": ({"name": "a\n"}, 'name: is "a\\n", which does not match ^[a-z]*$'),
    "enum": ({"name": "a", "mode": "c"}, 'mode: is "c", which is not one of "a", "b"'),
    "less": ({"name": "a", "port": 0}, "port: is 0, less than 1"),
    "more": ({"name": "a", "port": 10}, "port: is 10, more than 9"),
    "in a map": ({"name": "a", "map": {"k": 1}}, "map.k: is 1, which is not of type string"),
    "in a list": (
        {"name": "a", "list": [{}, {"port": "x"}]},
        'list[1].port: is "x", which is not of type integer',
    ),
    "long list": (
        {"name": "a", "list": [{}, {}, {}]},
        "list: has 3 items, at most 2 are allowed",
    ),
}


@pytest.mark.parametrize("value", GOOD.values(), ids=GOOD)
def test_find_violations_valid(value):
    assert find_violations(SCHEMA, value) == []


@pytest.mark.parametrize(("value", "fault"), BAD.values(), ids=BAD)
def test_find_violations_invalid(value, fault):
    assert find_violations(SCHEMA, value) == [fault]


def test_find_violations_several():
    assert len(find_violations(SCHEMA, {"port": 0, "mode": "c"})) == 3


def test_apply_defaults_nested():
    assert apply_defaults(SCHEMA, {"name": "a"}) == {"name": "a", "mode": "a"}
    assert apply_defaults(SCHEMA, {"list": [{}]})["list"] == [{"port": 80}]
    assert apply_defaults(SCHEMA, {"mode": "b", "port": None}) == {"mode": "b"}


@pytest.mark.parametrize("change", [apply_defaults, drop_nulls])
def test_drop_nulls(change):
    value = {"mode": "b", "port": None, "map": {"k": None}, "open": {"a": None, "b": [{"c": None}]}}
    assert change(SCHEMA, value) == {"mode": "b", "map": {}, "open": value["open"]}
    metadata = {"type": "object"}
    assert change(metadata, {"labels": {"a": None, "b": "c"}}) == {"labels": {"b": "c"}}


def test_apply_defaults_keeps_input():
    value = {"list": [{}]}
    apply_defaults(SCHEMA, value)
    assert value == {"list": [{}]}


def test_apply_defaults_service(make_service):
    given = make_service(expose={"service": {}})
    del given["spec"]["inferencePlatform"]
    filled = apply_defaults(schema_of("NIMService"), given)
    assert filled["spec"]["expose"]["service"]["port"] == 8000
    assert filled["spec"]["inferencePlatform"] == "standalone"


def test_schema_of_unknown_kind():
    with pytest.raises(NimError, match=r"'Deployment' is not one of ClusterPolicy, NIM"):
        schema_of("Deployment")


TEXTS = {
    "a number": ({"port": "8"}, {"port": 8}),
    "below a list": ({"list": [{"port": "-1"}]}, {"list": [{"port": -1}]}),
    "a fraction": ({"ratio": "0.5"}, {"ratio": 0.5}),
    "true": ({"flag": "True"}, {"flag": True}),
    "no": ({"flag": "no"}, {"flag": False}),
    "a text where a text is wanted": ({"name": "8", "map": {"a": "yes"}}, None),
    "an unknown field": ({"other": "8", "open": {"a": "8"}}, None),
    "a number or a text": ({"size": "8"}, None),
    "a number for a text": ({"name": 1.1}, None),
    "no number": ({"port": "8 "}, None),
    "a number in other digits": ({"port": "\u0663"}, None),
    "a number that is too long": ({"port": "9" * 5000}, None),
    "a line after a word": ({"flag": "yes\n"}, None),
    "nothing": ({"port": None}, None),
    "not an object": ("8", None),
}


@pytest.mark.parametrize(("value", "converted"), TEXTS.values(), ids=TEXTS)
def test_convert_texts(value, converted):
    assert convert_texts(SCHEMA, value) == (value if converted is None else converted)
