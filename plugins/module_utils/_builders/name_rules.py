# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Refuses names of custom resources that are invalid for their children."""

from __future__ import annotations

from .._base.errors import NAME_RESERVED, NimError
from .._base.types import Fields
from .._engine.kind import with_article
from .nim_metadata import CACHE_NAMES

MAX_NAME = 59
"""Maximum length if names of children, also used in labels, append four characters."""
MAX_LABEL = 63
"""Maximum length if the name is only used in labels."""


def check_name(cr: Fields, longest: int = MAX_NAME, *, is_label: bool = False) -> None:
    """NimError if a resource's name is invalid for its children; ``is_label``: also with dots.

    Checked before anything is created, because the API server would accept some children and refuse
    others.
    """
    name, kind = str(cr["metadata"]["name"]), cr["kind"]
    if len(name) > longest:
        raise NimError(
            f"metadata.name: has {len(name)} characters, but children of {with_article(kind)} use"
            f" it in names or labels: recreate it with a name of at most {longest}"
        )
    if is_label and "." in name:
        raise NimError(
            f"metadata.name: {name} has a dot, which names of its containers and Services must not"
            f" have: recreate the {kind} with a name without dots"
        )


def check_not_reserved(cr: Fields) -> None:
    """NimError if the resource has the name of an object that NIMCaches share."""
    name = cr["metadata"]["name"]
    if name in CACHE_NAMES:
        raise NimError(
            f"metadata.name: {name} is the name of an object that the NIMCaches of a"
            f" namespace share: recreate the {cr['kind']} with another name",
            reason=NAME_RESERVED,
        )
