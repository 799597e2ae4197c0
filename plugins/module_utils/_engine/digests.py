# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Notices that a Secret or a ConfigMap has changed, without knowing what it contains.

The digest is stored where many may read it, so it is slow to compute: it must not help to guess a
password. Therefore it is computed only if the object's version is not the one that is known.
"""

from __future__ import annotations

import hashlib
import json
import typing as t

from .._base.types import Fields
from .observed import Read

_COST, _BLOCK, _LENGTH = 2**14, 8, 12
"""Parameters of scrypt: 16 MiB and some 40 ms for each."""

ASSUMED = {"version": "", "missing": [], "digest": ""}
"""The answer for an object that is assumed to exist."""


def read_digest(
    kind: str, namespace: str, name: str, keys: t.Iterable[str], salt: str, known: str
) -> Read:
    """A read of whether an object has ``keys``, and whether their values have changed.

    Without keys, all of its values count. ``known``: the version whose digest is known already.
    """
    keys = tuple(dict.fromkeys(keys))
    key = digest_key(kind, namespace, name, keys)
    return Read(key, "digest", kind, namespace, name, keys=keys, salt=salt, known=known)


def digest_key(kind: str, namespace: str, name: str, keys: t.Iterable[str]) -> str:
    """The key of such a read among the observed answers."""
    return f"{kind}/{namespace}/{name}#{json.dumps(sorted(set(keys)))}"


def answer_digest(live: Fields | None, read: Read) -> dict[str, t.Any] | None:
    """{"version": str, "missing": keys that it lacks, "digest": hex, empty if it is known already}.

    None if there is no such object.
    """
    if live is None:
        return None
    version = str(live["metadata"].get("resourceVersion") or "")
    data = {**(live.get("data") or {}), **(live.get("binaryData") or {})}
    missing = [key for key in read.keys if key not in data]
    digest = ""
    if version and version != read.known:
        used = {key: value for key, value in data.items() if not read.keys or key in read.keys}
        digest = _digest(json.dumps(used, sort_keys=True), read.salt)
    return {"version": version, "missing": missing, "digest": digest}


def _digest(text: str, salt: str) -> str:
    return hashlib.scrypt(
        text.encode(), salt=salt.encode(), n=_COST, r=_BLOCK, p=1, dklen=_LENGTH
    ).hex()
