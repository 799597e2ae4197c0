# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.digests import (
    digest_key,
    find_digest,
)

LIVE: dict[str, t.Any] = {
    "metadata": {"name": "s", "resourceVersion": "7"},
    "data": {"a": "QQ==", "b": "Qg=="},
}


BINARY = LIVE | {"binaryData": {"c": "Qw=="}}


def answer(live: t.Any = LIVE, keys: t.Any = ("a",), salt: str = "u", known: str = "") -> t.Any:
    return find_digest(live, keys, salt, known)


def digest(**fields: t.Any) -> str:
    return str(answer(**fields)["digest"])


def with_data(**data: t.Any) -> t.Any:
    return LIVE | {"data": data}


def test_find_digest() -> None:
    found = answer(keys=("a", "c", "d"))
    assert (found["version"], found["missing"], len(found["digest"])) == ("7", ["c", "d"], 24)
    assert answer(keys=("c", "c"))["missing"] == ["c"]


@pytest.mark.parametrize(
    ("change", "is_same"),
    [
        pytest.param({}, True, id="nothing"),
        pytest.param(
            {"live": LIVE | {"metadata": {"resourceVersion": "8", "labels": {"l": "v"}}}},
            True,
            id="metadata",
        ),
        pytest.param({"live": with_data(a="QQ==", b="new")}, True, id="another key"),
        pytest.param({"live": with_data(a="new", b="Qg==")}, False, id="value"),
        pytest.param({"live": with_data(b="Qg==")}, False, id="key gone"),
        pytest.param({"salt": "v"}, False, id="salt: another resource"),
        pytest.param({"keys": ()}, False, id="all keys count"),
        pytest.param({"live": BINARY, "keys": ()}, False, id="binary values of a ConfigMap"),
    ],
)
def test_find_digest_changes_with_values(change: t.Any, *, is_same: bool) -> None:
    plain = digest(keys=change["keys"]) if "live" in change and "keys" in change else digest()
    assert (digest(**change) == plain) is is_same


@pytest.mark.parametrize(
    ("live", "known"),
    [
        pytest.param(LIVE, "7", id="known version"),
        pytest.param({"metadata": {"name": "s"}, "data": {"a": "QQ=="}}, "", id="a file"),
    ],
)
def test_find_digest_known_version(live: t.Any, known: str) -> None:
    assert answer(live, known=known)["digest"] == ""
    assert answer(live, known=known)["missing"] == []


def test_digest_key_depends_on_keys() -> None:
    found = {digest_key("Secret", "ns", "s", keys) for keys in ("ab", "ba", "aab")}
    assert found == {'Secret/ns/s#["a", "b"]'}
