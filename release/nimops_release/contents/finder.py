# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Finds all components of an image."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

from . import collections, debian, golang, python, rpm
from .component import Component
from .image import Image

# Thousands of files in Python packages are not programs.
_NO_PROGRAMS = (".py", ".pyc", ".yml", ".yaml", ".json", ".md", ".rst", ".txt")
_KNOWN = {"tini": "MIT"}
"""licenses of programs in the base image without a package, by file name"""


def find_components(image: Image) -> list[Component]:
    """Return packages, collections, Go modules, and programs outside of these."""
    programs = [path for path in image.files() if _is_program(image, path)]
    found = [
        *debian.find_packages(image),
        *rpm.find_packages(image),
        *python.find_packages(image),
        *python.find_interpreter(image),
        *collections.find_collections(image),
        *golang.find_modules(image, programs),
    ]
    return [*found, *find_others(image, programs, found)]


def find_others(
    image: Image, programs: Iterable[str], found: Iterable[Component]
) -> Iterator[Component]:
    """Yield programs and libraries without an owner; their version is a content hash."""
    owned = {image.resolve(path) for item in found for path in item.owns}
    for path in programs:
        if path not in owned:
            name = path.rpartition("/")[2]
            digest = hashlib.sha256(image.read(path) or b"").hexdigest()
            license_names = (_KNOWN[name],) if name in _KNOWN else ()
            yield Component("generic", name, f"sha256:{digest[:12]}", licenses=license_names)


def _is_program(image: Image, path: str) -> bool:
    return not path.endswith(_NO_PROGRAMS) and image.read(path, len(golang.ELF)) == golang.ELF
