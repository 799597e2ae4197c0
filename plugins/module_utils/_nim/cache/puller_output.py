# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The progress of a download in the output of its puller.

Pullers show bars of single files, of all files, or of their number, each a line or a part of one
that a carriage return ends. The output is text of other programs: it is cut into bounded parts, and
all other lines are skipped.
"""

from __future__ import annotations

import re
import typing as t
from collections import deque
from dataclasses import dataclass

from ..._base.types import Json

USED = "nimops: used"
"""The begin of a line that reports the use of the volume, in KiB."""

_MAX_PART, _MAX_FILES = 300, 4096
_NUMBER = r"(\d{1,9}(?:\.\d{1,3})?) ?"
_PAIR = re.compile(rf"(?<![\d.]){_NUMBER}([kKMGTP]?i?B?) ?/ ?{_NUMBER}([kKMGTP]i?B?|B)(?![\w/])")
_COUNT = re.compile(r"^Fetching (\d{1,6}) files:.{0,200}?\| (\d{1,6})/(\d{1,6}) ")
_WHOLE = (
    "Processing Files",
    "Downloading (incomplete total",
    "Reconstructing (incomplete total",
)
"""The begins of bars of all files."""
_POWERS = {letter: power for power, letter in enumerate("kMGTP", 1)}


@dataclass(frozen=True)
class Progress:
    """``downloaded`` and ``total`` in bytes, ``percent`` of the whole; None if unknown."""

    downloaded: int | None = None
    total: int | None = None
    percent: int | None = None

    def to_status(self) -> Json:
        """The known values, as fields of `status.download`."""
        fields = {"bytes": self.downloaded, "totalBytes": self.total, "percent": self.percent}
        return {key: value for key, value in fields.items() if value is not None}


def read_progress(text: str, need: int | None = None) -> Progress | None:
    """The last progress that the text shows; None if it shows none.

    ``need``: the size of the whole download, if it is known. A bar of all files is the best source;
    the number of files gives a percentage without bytes, and bars of files only bytes.
    """
    whole: tuple[int, int] | None = None
    share: int | None = None
    files: dict[str, tuple[int, int]] = {}
    for part in _parts(text):
        if part.startswith(USED):
            used = part[len(USED) :].split()
            if used and used[0].isdecimal() and len(used[0]) <= 15:
                whole = int(used[0]) << 10, need or 0
        elif count := _COUNT.search(part):
            share = share_of(int(count[2]), int(count[3]))
        elif pair := _last_pair(part):
            name = re.split(r"[:\[]", part, maxsplit=1)[0].strip()
            if name.startswith(_WHOLE):
                whole = pair
            elif len(files) < _MAX_FILES or name in files:
                files[name] = pair
    return _combine(whole, share, list(files.values()), need)


def _combine(
    whole: tuple[int, int] | None,
    share: int | None,
    files: t.Sequence[tuple[int, int]],
    need: int | None,
) -> Progress | None:
    if whole:
        done, total = whole[0], max(whole[1], need or 0)
        return Progress(done, total or None, share_of(done, total))
    if share is not None:
        return Progress(None, need, share)
    if not files:
        return None
    done = sum(item[0] for item in files)
    return Progress(done, need, share_of(done, need or 0))


def share_of(done: int, total: int) -> int | None:
    """A percentage below 100: only the Job knows whether the download is complete."""
    return min(99, done * 100 // total) if total > 0 else None


def _parts(text: str) -> t.Iterator[str]:
    for line in text.replace("\r", "\n").split("\n"):
        if part := line.strip()[:_MAX_PART]:
            yield part


def _last_pair(part: str) -> tuple[int, int] | None:
    found = next(iter(deque(_PAIR.finditer(part), maxlen=1)), None)
    if found is None:
        return None
    done, total = _bytes(found[1], found[2] or found[4]), _bytes(found[3], found[4])
    return (done, total) if total >= done else None


def _bytes(number: str, unit: str) -> int:
    base = 1024 if "i" in unit else 1000
    letter = unit[:1].replace("K", "k")
    return int(float(number) * base ** _POWERS.get(letter, 0))
