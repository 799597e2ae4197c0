# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Python packages, and a Python interpreter outside the operating system's packages."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from email.message import Message
from email.parser import HeaderParser
from pathlib import PurePosixPath

from .component import Component
from .image import Image

_METADATA = ("*.dist-info/METADATA", "*.egg-info/PKG-INFO", "*-packages/*.egg-info")
_LICENSE_FILE = re.compile(r"/(LICEN[CS]E|COPYING)[^/]*$", re.IGNORECASE)
_INTERPRETER = re.compile(r"usr/local/bin/python(3\.\d+)$")
_LIBRARY = re.compile(r"usr/local/lib/libpython3[^/]*$")
_NO_LICENSE = ("", "UNKNOWN")
_LONGEST_NAME = 100


def find_packages(image: Image) -> Iterator[Component]:
    """Yield distributions, wherever they are installed."""
    texts = [path for path in image.files() if _LICENSE_FILE.search(path)]
    for path in image.glob(*_METADATA):
        fields = HeaderParser().parsestr(image.text(path))
        if not fields["Name"]:
            continue
        folder = PurePosixPath(path).parent
        yield Component(
            "pypi",
            _normalize(fields["Name"]),
            fields["Version"],
            licenses=read_license(fields),
            texts=tuple(image.text(name) for name in texts if name.startswith(f"{folder}/")),
            owns=tuple(_read_record(image, folder)),
        )


def find_interpreter(image: Image) -> Iterator[Component]:
    """Yield a Python that was copied to /usr/local, as in the stand-in base image."""
    for path in image.files():
        if match := _INTERPRETER.match(path):
            version = match[1]
            home = f"usr/local/lib/python{version}/"
            libraries = [name for name in image.files() if _LIBRARY.match(name)]
            own = [
                name for name in image.files() if name.startswith(home) and "-packages/" not in name
            ]
            yield Component(
                "generic",
                "python",
                _read_patch(version, (image.read(name) or b"" for name in (path, *libraries))),
                # The license file has many sections, each with a license of a different name.
                licenses=("PSF-2.0",) if f"{home}LICENSE.txt" in own else (),
                owns=(path, *libraries, *own),
            )


def _read_patch(version: str, programs: Iterable[bytes]) -> str:
    """Return the full version; only the program contains its last number."""
    wanted = re.compile(rb"(?<![\d.])%s\.\d+(?![\d.])" % re.escape(version).encode())
    found = (match[0].decode() for content in programs if (match := wanted.search(content)))
    return next(found, version)


def read_license(fields: Message) -> tuple[str, ...]:
    """Return the license from the metadata: expression, name or classifiers, in this order."""
    for key in ("License-Expression", "License"):
        value = str(fields[key] or "").strip()
        if value not in _NO_LICENSE and "\n" not in value and len(value) <= _LONGEST_NAME:
            return (value,)
    names = (value.split(" :: ") for value in fields.get_all("Classifier", []))
    # The first levels are License and OSI Approved.
    return tuple(sorted({name[-1] for name in names if name[0] == "License" and len(name) > 2}))


def _read_record(image: Image, folder: PurePosixPath) -> Iterator[str]:
    for row in csv.reader(image.text(f"{folder}/RECORD").splitlines()):
        if row:
            yield image.resolve(str(folder.parent / row[0]))


def _normalize(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
