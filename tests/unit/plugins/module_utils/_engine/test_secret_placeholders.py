# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import base64
import binascii
import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._engine.secret_placeholders import (
    OTHER,
    SecretPlaceholder,
    has_placeholders,
    insert_values,
    replace_values,
)

Json = dict[str, t.Any]

URL = SecretPlaceholder("pg", "password", "postgresql://me:", "@pg:5432/db")


def b64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def secret(kind: str = "Secret", **data: str) -> Json:
    return {"kind": kind, "metadata": {"name": "x"}, "data": data}


def find(password: bytes | None) -> t.Callable[[str], Json | None]:
    found = {"pg": secret(password=b64(password))} if password is not None else {}
    return found.get


@pytest.mark.parametrize(
    ("password", "shown"),
    [
        pytest.param(b"plain-1", "plain-1", id="plain"),
        pytest.param(b"@:/%\n ?#", "%40%3A%2F%25%0A%20%3F%23", id="what separates parts of a URL"),
        pytest.param("pä".encode(), "p%C3%A4", id="UTF-8"),
        pytest.param(b"\xff\x00\xfe", "%FF%00%FE", id="not text"),
        pytest.param(b"", "", id="empty"),
    ],
)
def test_insert_values_percent_encoded(password: bytes, shown: str) -> None:
    found = insert_values(secret(uri=URL.placeholder, plain="Zm9v"), find(password))["data"]
    assert base64.b64decode(found["uri"]).decode() == f"postgresql://me:{shown}@pg:5432/db"
    assert found["plain"] == "Zm9v"


@pytest.mark.parametrize(
    ("live", "message"),
    [
        pytest.param(None, 'Secret "pg" does not exist', id="no Secret"),
        pytest.param(secret(other="Zm9v"), 'Secret "pg" has no key "password"', id="no key"),
        pytest.param(
            {"metadata": {}, "data": None}, 'Secret "pg" has no key "password"', id="empty Secret"
        ),
    ],
)
def test_insert_values_missing(live: Json | None, message: str) -> None:
    with pytest.raises(NimError) as error:
        insert_values(secret(uri=URL.placeholder), lambda _name: live)
    assert (str(error.value), error.value.reason) == (message, "SecretNotFound")


def test_insert_values_invalid_base64() -> None:
    """The API server stores none, but a file may have one; an error would quote it."""
    assert base64.b64decode(URL.fill(secret(password="s3cr3t!"))) == b"postgresql://me:@pg:5432/db"


def test_placeholder_is_invalid_base64() -> None:
    for value in (URL.placeholder, OTHER):
        with pytest.raises(binascii.Error):
            base64.b64decode(value, validate=True)
    assert SecretPlaceholder.parse(URL.placeholder) == URL


@pytest.mark.parametrize("value", ["", "Zm9v", "<other>", "<generated>", None])
def test_placeholder_parse_other_value(value: t.Any) -> None:
    assert SecretPlaceholder.parse(value) is None
    assert not has_placeholders(secret(uri=value))


def test_has_placeholders_only_in_secrets() -> None:
    assert has_placeholders(secret(plain="Zm9v", uri=URL.placeholder))
    assert not has_placeholders(secret("ConfigMap", uri=URL.placeholder))
    assert not has_placeholders({"kind": "Secret"})


@pytest.mark.parametrize(
    ("live", "password", "shown"),
    [
        pytest.param(b"postgresql://me:p%40@pg:5432/db", b"p@", URL.placeholder, id="as wanted"),
        pytest.param(b"postgresql://me:p%40@pg:5432/db", b"new", OTHER, id="password changed"),
        pytest.param(b"postgresql://you:p%40@pg:5432/db", b"p@", OTHER, id="another user"),
        pytest.param(b"postgresql://me:p%40@pg:5432/db", None, OTHER, id="password gone"),
        pytest.param(b"postgresql://me:p@@pg:5432/db", b"p@", OTHER, id="as the reference wrote"),
    ],
)
def test_replace_values_of_live_secret(live: bytes, password: bytes | None, shown: str) -> None:
    found = replace_values(secret(uri=b64(live)), {"uri": URL.placeholder}, find(password))
    assert found["data"] == {"uri": shown}


def test_replace_values_hides_other_data() -> None:
    """`kubectl apply` keeps a copy of the values in an annotation."""
    live = secret(uri=URL.placeholder, more="Zm9v") | {
        "metadata": {"name": "x", "uid": "u", "annotations": {"last-applied": "s3cr3t"}}
    }
    found = replace_values(live, {"uri": URL.placeholder}, find(b"p"))
    assert found == {
        "kind": "Secret",
        "metadata": {"name": "x", "uid": "u"},
        "data": {"uri": URL.placeholder, "more": OTHER},
    }
