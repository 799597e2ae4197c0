# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""RPM packages: the headers in rpm's SQLite database."""

from __future__ import annotations

import contextlib
import sqlite3
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ..errors import ReleaseError
from .component import Component
from .image import Image

_FOLDERS = ("var/lib/rpm", "usr/lib/sysimage/rpm")
# Changes that are not in the database file yet.
_DATABASE, _LOG = "rpmdb.sqlite", "rpmdb.sqlite-wal"
_NAME, _VERSION, _RELEASE, _EPOCH, _LICENSE, _ARCH = 1000, 1001, 1002, 1003, 1014, 1022
_INDEXES, _BASENAMES, _FOLDER_NAMES = 1116, 1117, 1118
_INT32, _STRINGS = 4, (6, 8, 9)
_Value = tuple[str, ...] | tuple[int, ...]


def find_packages(image: Image) -> Iterator[Component]:
    """Yield the packages installed by rpm. ReleaseError for other database formats."""
    for folder in _FOLDERS:
        if database := image.read(f"{folder}/{_DATABASE}"):
            for header in _read_headers(database, image.read(f"{folder}/{_LOG}") or b""):
                # The database also contains the vendor's keys.
                if header[_NAME] != ("gpg-pubkey",):
                    yield to_component(header, image.distribution)
            return
        if image.read(f"{folder}/Packages", 1) or image.read(f"{folder}/Packages.db", 1):
            raise ReleaseError(
                f"/{folder}: not an SQLite database of rpm, the only supported format"
            )


def _read_headers(database: bytes, log: bytes) -> Iterator[dict[int, _Value]]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, _DATABASE)
        file.write_bytes(database)
        Path(folder, _LOG).write_bytes(log)
        with contextlib.closing(sqlite3.connect(file)) as connection:
            for (blob,) in connection.execute("SELECT blob FROM Packages ORDER BY hnum"):
                yield read_header(blob)


def read_header(blob: bytes) -> dict[int, _Value]:
    """Return numbers and texts of a header by tag: 16-byte index entries, then the data."""
    count, _size = struct.unpack_from(">II", blob)
    data = memoryview(blob)[8 + 16 * count :]
    found: dict[int, _Value] = {}
    for entry in range(count):
        tag, kind, offset, many = struct.unpack_from(">IIiI", blob, 8 + 16 * entry)
        if kind == _INT32:
            found[tag] = struct.unpack_from(f">{many}i", data, offset)
        elif kind in _STRINGS:
            # The last entry ends where the data of the next one starts.
            found[tag] = tuple(
                text.decode(errors="replace")
                for text in bytes(data[offset:]).split(b"\0", many)[:many]
            )
    return found


def to_component(header: dict[int, _Value], distribution: str) -> Component:
    """Return the package of a header."""

    def first(tag: int) -> str:
        return str(header[tag][0]) if tag in header else ""

    epoch = f"{first(_EPOCH)}:" if _EPOCH in header else ""
    folders, names = header.get(_FOLDER_NAMES, ()), header.get(_BASENAMES, ())
    indexes = (int(index) for index in header.get(_INDEXES, ()))
    return Component(
        "rpm",
        first(_NAME),
        f"{epoch}{first(_VERSION)}-{first(_RELEASE)}",
        distribution,
        first(_ARCH),
        (first(_LICENSE),) if _LICENSE in header else (),
        owns=tuple(f"{folders[index]}{name}" for index, name in zip(indexes, names, strict=True)),
    )
