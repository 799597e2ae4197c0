# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Files that are downloaded in parts, and get their name when their content has its digest."""

from __future__ import annotations

import hashlib
import os
import typing as t
from contextlib import AbstractContextManager
from pathlib import Path

from .registry_auth import RegistryError
from .registry_client import TransientError, check_digest

_PIECE = 1 << 20
_TRIES = 5

Read = t.Callable[[int], AbstractContextManager[tuple[int, t.Iterator[bytes]]]]
"""Reads from an offset; the place at which the pieces begin is 0 or that offset."""
Notify = t.Callable[[int], None]
"""Gets the number of bytes of each piece; a negative one for pieces that are dropped."""


def has_content(file: Path, digest: str, size: int) -> bool:
    """Whether a file has this content."""
    try:
        if file.is_symlink() or file.stat().st_size != size:
            return False
        return f"sha256:{_hash(file).hexdigest()}" == check_digest(digest)
    except FileNotFoundError:
        return False


def fetch_file(
    target: Path, draft: Path, digest: str, size: int, read: Read, notify: Notify
) -> None:
    """Download a file. ``draft`` keeps what is there when a download ends before its end.

    RegistryError if the content has another digest or another size.
    """
    check_digest(digest)
    for is_again in (False, True):
        was_there = _fetch(draft, size, read, notify)
        if f"sha256:{_hash(draft).hexdigest()}" == digest:
            os.replace(draft, target)
            return
        draft.unlink()
        notify(-size)
        if not was_there or is_again:
            break
    raise RegistryError(f"content of blob {digest} does not match its digest")


def _fetch(draft: Path, size: int, read: Read, notify: Notify) -> bool:
    """Complete a draft; whether a part of it was there before."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(draft, flags, 0o664), "r+b") as stream:
        there = stream.seek(0, os.SEEK_END)
        if there > size:
            there = stream.seek(0)
            stream.truncate()
        notify(there)
        done, failures = there, 0
        while done < size:
            before = done
            try:
                with read(done) as (start, pieces):
                    if start != done:
                        notify(start - done)
                        done = stream.seek(start)
                        stream.truncate()
                    for piece in pieces:
                        if done + len(piece) > size:
                            raise RegistryError(
                                f"a blob is larger than {size} bytes, the size in its manifest"
                            )
                        stream.write(piece)
                        done += len(piece)
                        notify(len(piece))
                if done < size:
                    raise TransientError(f"a blob is truncated: got {done} of {size} bytes")
            except TransientError:
                failures = 0 if done > before else failures + 1
                if failures >= _TRIES:
                    raise
        stream.flush()
        os.fsync(stream.fileno())
    return there > 0


def _hash(file: Path) -> t.Any:
    found = hashlib.sha256()
    with file.open("rb") as stream:
        while piece := stream.read(_PIECE):
            found.update(piece)
    return found
