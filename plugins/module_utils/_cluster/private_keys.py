# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Generates private keys for Secrets with the placeholder `GENERATED_KEY`."""

from __future__ import annotations

import base64
import typing as t

from .._base.errors import NimError
from .._base.types import Json
from .._engine.generated_keys import GENERATED_KEY

try:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    CRYPTOGRAPHY_IMPORT_ERROR: str | None = None
except ImportError as error:
    CRYPTOGRAPHY_IMPORT_ERROR = str(error)

_BITS = 2048


def generate_keys(manifests: t.Sequence[Json]) -> list[Json]:
    """The objects with each `GENERATED_KEY` in a Secret replaced by a new key in base64.

    Raises NimError if a key is needed and the package cryptography is missing.
    """
    return [_fill(item) for item in manifests]


def _fill(item: Json) -> Json:
    data = item.get("data") or {}
    if item.get("kind") != "Secret" or GENERATED_KEY not in data.values():
        return item
    filled = {key: _new_key() if value == GENERATED_KEY else value for key, value in data.items()}
    return item | {"data": filled}


def _new_key() -> str:
    if CRYPTOGRAPHY_IMPORT_ERROR:
        raise NimError(
            "the Python package cryptography, which ansible-core depends on, is missing:"
            f" {CRYPTOGRAPHY_IMPORT_ERROR}"
        )
    pem = rsa.generate_private_key(public_exponent=65537, key_size=_BITS).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
    return base64.b64encode(pem).decode()
