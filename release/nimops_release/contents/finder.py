# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""All that an image contains."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

from . import collections, debian, golang, python, rpm
from .component import Component
from .image import Image

# Of Python packages, thousands are no programs.
_NO_PROGRAMS = (".py", ".pyc", ".yml", ".yaml", ".json", ".md", ".rst", ".txt")
_KNOWN = {"tini": "MIT"}
"""licenses of programs that the base has by themselves, by file name"""


def find_components(image: Image) -> list[Component]:
    """Return packages, collections, Go modules, and programs that belong to none of them."""
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
    """Yield programs and libraries that nothing owns; the version is that of their content."""
    owned = {image.resolve(path) for item in found for path in item.owns}
    for path in programs:
        if path not in owned:
            name = path.rpartition("/")[2]
            digest = hashlib.sha256(image.read(path) or b"").hexdigest()
            license_names = (_KNOWN[name],) if name in _KNOWN else ()
            yield Component("generic", name, f"sha256:{digest[:12]}", licenses=license_names)


def _is_program(image: Image, path: str) -> bool:
    return not path.endswith(_NO_PROGRAMS) and image.read(path, len(golang.ELF)) == golang.ELF
