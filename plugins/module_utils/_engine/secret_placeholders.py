# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Placeholders for values of Secrets that contain a value of another Secret.

Pure code, plans, diffs and rendered files contain a placeholder, which describes the value. The
reader replaces the values of a live Secret by placeholders, so that the two can be compared, and
only the writer inserts the value itself.
"""

from __future__ import annotations

import base64
import binascii
import json
import typing as t
from dataclasses import asdict, dataclass
from urllib.parse import quote

from .._base.errors import NimError
from .._base.types import Fields, Json

_OPEN, _CLOSE = "<", ">"
OTHER = "<other>"
"""Stands for a live value that no placeholder describes. It is not valid base64."""


@dataclass(frozen=True)
class SecretPlaceholder:
    """A text with the percent-encoded value of a ``key`` of a Secret in the same namespace."""

    secret: str
    key: str
    before: str
    after: str

    @property
    def placeholder(self) -> str:
        """The text in a manifest's `data`. It is not valid base64, so no API server accepts it."""
        return f"{_OPEN}{json.dumps(asdict(self))}{_CLOSE}"

    @classmethod
    def parse(cls, value: t.Any) -> SecretPlaceholder | None:
        """The placeholder in a manifest's `data`; None if the text is an actual value."""
        text = str(value)
        if not text.startswith(f"{_OPEN}{{") or not text.endswith(_CLOSE):
            return None
        return cls(**json.loads(text[len(_OPEN) : -len(_CLOSE)]))

    def fill(self, secret: Fields | None) -> str:
        """The value in base64; NimError if the Secret or its key does not exist."""
        found = ((secret or {}).get("data") or {}).get(self.key)
        if found is None:
            what = f'has no key "{self.key}"' if secret else "does not exist"
            raise NimError(f'Secret "{self.secret}" {what}', reason="SecretNotFound")
        try:
            value = quote(base64.b64decode(found), safe="")
        except binascii.Error:
            value = ""
        return base64.b64encode(f"{self.before}{value}{self.after}".encode()).decode()


def has_placeholders(manifest: Fields) -> bool:
    """Whether an object is a Secret with placeholders."""
    return manifest.get("kind") == "Secret" and any(
        SecretPlaceholder.parse(value) for value in (manifest.get("data") or {}).values()
    )


def insert_values(manifest: Json, find: t.Callable[[str], Fields | None]) -> Json:
    """The Secret to write; NimError if a value is missing. ``find``: a Secret by its name."""
    return manifest | {
        "data": {
            key: sealed.fill(find(sealed.secret))
            if (sealed := SecretPlaceholder.parse(value))
            else value
            for key, value in manifest["data"].items()
        }
    }


def replace_values(
    live: Json, wanted: t.Mapping[str, str], find: t.Callable[[str], Fields | None]
) -> Json:
    """A live Secret with each value replaced by the placeholder that describes it, or `OTHER`.

    ``wanted``: placeholders by key.
    """

    def shown(key: str, value: str) -> str:
        sealed = SecretPlaceholder.parse(wanted.get(key, ""))
        if value == wanted.get(key):
            return value
        try:
            return wanted[key] if sealed and sealed.fill(find(sealed.secret)) == value else OTHER
        except NimError:
            return OTHER

    data = {key: shown(key, value) for key, value in (live.get("data") or {}).items()}
    metadata = {key: value for key, value in live["metadata"].items() if key != "annotations"}
    return {**live, "metadata": metadata, "data": data}
