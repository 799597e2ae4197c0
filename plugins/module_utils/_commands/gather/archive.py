# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A size-limited tar.gz with an index of its contents and omissions."""

from __future__ import annotations

import json
import tarfile
import typing as t
import zlib
from pathlib import PurePosixPath

from ..._base.types import Json

INDEX = "index.json"

_BLOCK = 512
_GZIP = 16 + zlib.MAX_WBITS
_SPARE = 64 << 10
"""Bytes reserved for the index without its lists, the end of the archive, and folders."""

_MAX_NOTES = 200
_LEAST_CUT = 4 << 10
_SHRINK_FACTORS = (8, 4, 2, 1)
"""Compression ratios to try for logs; 1 always fits."""


class Archive:
    """Accepts files until it is full.

    ``limit`` is its size in bytes, at least 256 KiB; ``time`` the modification time of all files,
    in seconds since the epoch.
    """

    def __init__(self, stream: t.BinaryIO, limit: int, folder: str, time: int) -> None:
        self._stream = stream
        self._limit = limit
        self._folder = folder
        self._time = time
        self._compressor = zlib.compressobj(6, zlib.DEFLATED, _GZIP)
        self._listed = 0
        self.size = 0
        self.files: list[Json] = []
        self.cut: list[Json] = []
        self.unread: list[Json] = []
        self._more = {"cut": 0, "unread": 0}

    @property
    def is_full(self) -> bool:
        """Whether too little space is left for a useful file."""
        return self._room("") < _LEAST_CUT

    def add(self, path: str, content: bytes) -> bool:
        """Add a file; returns whether it fit. If not, the index lists it as cut."""
        if self._put(path, content):
            return True
        self.note_cut(path, "the size limit was reached")
        return False

    def add_end(self, path: str, content: bytes) -> bool:
        """Like `add`, but if the file is too large, add as many of its last lines as fit."""
        if self._put(path, content):
            return True
        room = self._room(path) - 4 * _BLOCK
        for times in _SHRINK_FACTORS if room >= _LEAST_CUT else ():
            kept = content[-room * times :].partition(b"\n")[2]
            if self._put(path, kept):
                self.note_cut(path, f"only the last {len(kept)} of {len(content)} bytes fit")
                return True
        self.note_cut(path, "the size limit was reached")
        return False

    def note_cut(self, what: str, why: str) -> None:
        """Record an omission due to the size or time limit."""
        self._note("cut", what, why)

    def note_unread(self, what: str, why: str) -> None:
        """Record an omission due to a read error."""
        self._note("unread", what, why)

    def close(self, about: Json) -> None:
        """Write the index and the end of the archive."""
        index = {**about, "files": self.files, "cut": self.cut, "unread": self.unread}
        for kind, count in self._more.items():
            if count:
                index[f"{kind}_besides"] = count
        text = json.dumps(index, indent=1, ensure_ascii=False).encode(errors="replace")
        self._write(self._compressor.compress(self._entry(INDEX, text) + bytes(2 * _BLOCK)))
        self._write(self._compressor.flush())

    def _note(self, kind: str, what: str, why: str) -> None:
        notes: list[Json] = getattr(self, kind)
        note = {"what": what, "why": why}
        if note in notes:
            return
        if len(notes) >= _MAX_NOTES:
            self._more[kind] += 1
            return
        notes.append(note)
        self._listed += len(f"{what}{why}".encode(errors="replace")) + 64

    def _put(self, path: str, content: bytes) -> bool:
        """Add a file if its compressed form fits; returns whether it did."""
        trial = self._compressor.copy()
        data = trial.compress(self._entry(path, content)) + trial.flush(zlib.Z_SYNC_FLUSH)
        if len(data) > self._room(path):
            return False
        self._compressor = trial
        self._write(data)
        self.files.append({"path": path, "bytes": len(content)})
        self._listed += len(path.encode()) + 64
        return True

    def _room(self, path: str) -> int:
        """The bytes left for a file, with space reserved for the index and all its entries."""
        index = self._listed + len(path.encode()) + 256 + _SPARE
        return self._limit - self.size - index

    def _entry(self, path: str, content: bytes) -> bytes:
        info = tarfile.TarInfo(str(PurePosixPath(self._folder, path)))
        info.size, info.mode, info.mtime = len(content), 0o600, self._time
        head = info.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")
        return head + content + bytes(-len(content) % _BLOCK)

    def _write(self, data: bytes) -> None:
        self._stream.write(data)
        self.size += len(data)
