# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Turns pieces of logs into lines that are safe to show, also of several logs at once."""

from __future__ import annotations

import codecs
import queue
import threading
import typing as t

from ..._base.printable import printable_lines

_MAX_LINE = 1 << 14
_Item = t.TypeVar("_Item")


def split_lines(pieces: t.Iterable[bytes]) -> t.Iterator[list[str]]:
    """The whole lines of each piece; a line that is too long continues in the next."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    rest = ""
    for piece in pieces:
        *whole, rest = (rest + decoder.decode(piece)).split("\n")
        while len(rest) > _MAX_LINE:
            whole.append(rest[:_MAX_LINE])
            rest = rest[_MAX_LINE:]
        if whole:
            yield _clean(whole)
    if rest:
        yield _clean([rest])


def _clean(lines: t.Iterable[str]) -> list[str]:
    """The lines as a terminal may show them; a bar of progress becomes lines."""
    return [part for line in lines for part in printable_lines(line.rstrip("\r")).split("\n")]


def merge(sources: t.Sequence[t.Iterable[_Item]]) -> t.Iterator[_Item]:
    """The items of several sources as they arrive. The first error of a source is raised."""
    if len(sources) == 1:
        yield from sources[0]
        return
    items: queue.Queue[tuple[list[_Item], Exception | None]] = queue.Queue(len(sources) * 4)

    def read(source: t.Iterable[_Item]) -> None:
        try:
            for item in source:
                items.put(([item], None))
            items.put(([], None))
        except Exception as error:  # passed to the reader
            items.put(([], error))

    for source in sources:
        threading.Thread(target=read, args=(source,), daemon=True).start()
    left = len(sources)
    while left:
        found, error = items.get()
        if error:
            raise error
        left -= not found
        yield from found
