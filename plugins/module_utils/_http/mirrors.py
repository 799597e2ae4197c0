# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The mirrors of registries, which an administrator sets in ``NIMOPS_REGISTRY_MIRRORS``.

`nvcr.io=registry.example.com/nvidia` replaces a registry with a mirror and a prefix of repository
names; `*` replaces every other registry, and its name becomes part of the repository name, as with
`unbundle`.
"""

from __future__ import annotations

import os
import re

from .._base.image_reference import REGISTRY, REPOSITORY

VARIABLE = "NIMOPS_REGISTRY_MIRRORS"

_ANY = "*"
_MAX_PLACE = 1024
_PLACE = re.compile(rf"({REGISTRY})(?:/({REPOSITORY}))?", re.ASCII)


class MirrorError(Exception):
    """The setting is invalid."""


def find_mirror(host: str, name: str) -> tuple[str, str]:
    """The host and the repository to ask about an image; unchanged without a mirror.

    ``host``: as in references. MirrorError if the setting is invalid.
    """
    mirrors = _read_mirrors(os.environ.get(VARIABLE, ""))
    if any(host == mirror for mirror, _prefix in mirrors.values()):
        return host, name
    if host in mirrors:
        mirror, prefix = mirrors[host]
        return mirror, _join(prefix, name)
    if _ANY in mirrors:
        mirror, prefix = mirrors[_ANY]
        return mirror, _join(prefix, part_of(host), name)
    return host, name


def find_problem() -> str:
    """Why the setting is invalid, and how to correct it; empty if it is valid."""
    try:
        _read_mirrors(os.environ.get(VARIABLE, ""))
    except MirrorError as error:
        return (
            f"{error}: correct this variable of the operator. An example is"
            " nvcr.io=registry.example.com/nvidia for one registry, or"
            " *=registry.example.com/mirror for all"
        )
    return ""


def part_of(host: str) -> str:
    """The name of a registry as a part of the name of a copy."""
    return host.replace(":", "_")


def _read_mirrors(text: str) -> dict[str, tuple[str, str]]:
    """Host → the host of its mirror, and the prefix of repository names there."""
    mirrors = {}
    for item in filter(None, (item.strip() for item in text.split(","))):
        host, _sign, place = (part.strip() for part in item.partition("="))
        found = _PLACE.fullmatch(place) if len(place) <= _MAX_PLACE else None
        if not host or not found:
            raise MirrorError(f"{VARIABLE}: {item[:100]!r} is not HOST=MIRROR")
        mirrors[host.lower()] = (found[1], found[2] or "")
    return mirrors


def _join(*parts: str) -> str:
    return "/".join(filter(None, parts))
