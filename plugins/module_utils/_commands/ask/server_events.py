# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Parses server-sent events, as the HTML standard defines them."""

from __future__ import annotations

import codecs
import typing as t

MAX_EVENT = 1 << 18
"""Maximum size of an event in characters."""


class EventReader:
    """Turns pieces of a stream into the data of events. ValueError for what is none."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._rest = ""
        self._lines: list[str] = []
        self._size = 0

    def feed(self, piece: bytes) -> t.Iterator[str]:
        """The data of each event that ends in this piece; an incomplete one waits for the next."""
        text = self._rest + self._decoder.decode(piece)
        is_open = text.endswith("\r")  # the line feed of this line end may follow
        lines = (text[:-1] if is_open else text).replace("\r\n", "\n").replace("\r", "\n")
        *whole, rest = lines.split("\n")
        self._rest = rest + ("\r" if is_open else "")
        self._count(rest)
        for line in whole:
            if line:
                self._take(line)
            elif self._lines:
                yield "\n".join(self._lines)
                self._lines, self._size = [], 0

    def _take(self, line: str) -> None:
        name, colon, value = line.partition(":")
        if name == "data":
            self._count(value)
            self._size += len(value) + 1
            self._lines.append(value.removeprefix(" "))
        elif name not in ("", "event", "id", "retry") or not (colon or name):
            raise ValueError("it has a line that is not a field of an event")

    def _count(self, more: str) -> None:
        if self._size + len(more) > MAX_EVENT:
            raise ValueError(f"it has an event of more than {MAX_EVENT} characters")
