# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Detects changes of a Secret or a ConfigMap by a digest, without storing its content.

Many users can read the digest, so it is slow to compute: it must not help to guess a password.
Therefore it is computed only if the version of the object is not the known one.
"""

from __future__ import annotations

import hashlib
import json
import typing as t

from .._base.types import Fields, Json

_COST, _BLOCK, _LENGTH = 2**14, 8, 12
"""Parameters of scrypt: 16 MiB and about 40 ms per digest."""

ASSUMED = {"version": "", "missing": [], "digest": ""}
"""The answer for an object that is assumed to exist."""


def digest_key(kind: str, namespace: str, name: str, keys: t.Iterable[str]) -> str:
    """The key of a digest in the observed answers."""
    return f"{kind}/{namespace}/{name}#{json.dumps(sorted(set(keys)))}"


def find_digest(live: Fields, keys: t.Collection[str], salt: str, known: str) -> Json:
    """{"version": str, "missing": those of ``keys`` that it lacks, "digest": hex}.

    Without keys, all values count. The digest is empty for the ``known`` version.
    """
    version = str(live["metadata"].get("resourceVersion") or "")
    data = {**(live.get("data") or {}), **(live.get("binaryData") or {})}
    missing = [key for key in dict.fromkeys(keys) if key not in data]
    digest = ""
    if version and version != known:
        used = {key: value for key, value in data.items() if not keys or key in keys}
        digest = _digest(json.dumps(used, sort_keys=True), salt)
    return {"version": version, "missing": missing, "digest": digest}


def _digest(text: str, salt: str) -> str:
    return hashlib.scrypt(
        text.encode(), salt=salt.encode(), n=_COST, r=_BLOCK, p=1, dklen=_LENGTH
    ).hex()
