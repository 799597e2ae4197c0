# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Archives are readable, list omissions, and never exceed the limit."""

from __future__ import annotations

import io
import json
import random
import tarfile

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.gather.archive import Archive

KIB = 1 << 10
LIMIT = 256 * KIB


def noise(size):
    """Incompressible lines, the same each time."""
    draw = random.Random(size)
    return b"".join(b"%064x\n" % draw.getrandbits(256) for _line in range(size // 65 + 1))[:size]


class Opened:
    """The contents of a filled archive."""

    def __init__(self, fill, limit=LIMIT):
        stream = io.BytesIO()
        self.archive = Archive(stream, limit, "top", 1_700_000_000)
        fill(self.archive)
        self.archive.close({"about": "x"})
        self.bytes = stream.getvalue()
        with tarfile.open(fileobj=io.BytesIO(self.bytes)) as tar:
            self.members = tar.getmembers()
            self.files = {item.name: tar.extractfile(item).read() for item in self.members}
        self.index = json.loads(self.files["top/index.json"])


def test_archive_round_trip():
    long = "d/" * 80 + "name with ü"

    def fill(archive):
        assert archive.add("a.yaml", b"a: 1\n")
        assert archive.add(long, b"")
        assert archive.add_end("b.log", b"x" * 513)

    opened = Opened(fill)
    assert list(opened.files) == ["top/a.yaml", f"top/{long}", "top/b.log", "top/index.json"]
    assert opened.files["top/b.log"] == b"x" * 513
    assert {item.mode for item in opened.members} == {0o600}
    assert {item.mtime for item in opened.members} == {1_700_000_000}
    assert opened.index == {
        "about": "x",
        "files": [
            {"path": "a.yaml", "bytes": 5},
            {"path": long, "bytes": 0},
            {"path": "b.log", "bytes": 513},
        ],
        "cut": [],
        "unread": [],
    }
    assert opened.archive.size == len(opened.bytes)


def test_archive_reproducible():
    def fill(archive):
        archive.add("a", noise(5000))

    assert Opened(fill).bytes == Opened(fill).bytes


@pytest.mark.parametrize("size", [1, 100 * KIB, 180 * KIB, 400 * KIB])
@pytest.mark.parametrize("method", ["add", "add_end"])
def test_archive_size_limit(method, size):
    def fill(archive):
        for number in range(8):
            getattr(archive, method)(f"{number}.log", noise(size + number))

    opened = Opened(fill)
    assert len(opened.bytes) <= LIMIT
    there = {item["path"] for item in opened.index["files"]}
    cut = {item["what"] for item in opened.index["cut"]}
    assert there | cut == {f"{number}.log" for number in range(8)}
    if method == "add":
        assert not there & cut


def test_add_end_whole_lines():
    log = noise(1024 * KIB)
    opened = Opened(lambda archive: archive.add_end("a.log", log))
    kept = opened.files["top/a.log"]
    assert log.endswith(kept)
    assert len(kept) > 100 * KIB
    assert log[-len(kept) - 1 : -len(kept)] == b"\n"
    (cut,) = opened.index["cut"]
    assert cut == {
        "what": "a.log",
        "why": f"only the last {len(kept)} of {len(log)} bytes fit",
    }


def test_add_compressible():
    opened = Opened(lambda archive: archive.add("a", b"x" * (4 << 20)))
    assert opened.index["cut"] == []


def test_add_small_after_large():
    def fill(archive):
        assert not archive.add("large", noise(1024 * KIB))
        assert archive.add("small", b"x")

    assert Opened(fill).index["files"] == [{"path": "small", "bytes": 1}]


def test_is_full():
    seen = []

    def fill(archive):
        seen.append(archive.is_full)
        for number in range(8):
            archive.add_end(f"{number}", noise(400 * KIB + number))
        seen.append(archive.is_full)

    Opened(fill)
    assert seen == [False, True]


def test_notes_bounded():
    def fill(archive):
        for number in range(5000):
            archive.note_unread("what" * 50 + str(number), "why" * 100)
            archive.note_cut("x", f"y{number}")
            archive.add(f"{number}", noise(200))

    opened = Opened(fill)
    assert len(opened.bytes) <= LIMIT
    assert len(opened.index["unread"]) == 200
    assert opened.index["unread_besides"] == 4800
    assert opened.index["cut_besides"] >= 4800


def test_add_binary():
    name = "\udcff.yaml"
    opened = Opened(lambda archive: archive.note_unread(name, "x"))
    assert opened.index["unread"][0]["what"] == "?.yaml"


def test_notes_unique():
    def fill(archive):
        archive.note_unread("x", "y")
        archive.note_unread("x", "y")
        archive.note_unread("x", "z")

    assert [item["why"] for item in Opened(fill).index["unread"]] == ["y", "z"]
