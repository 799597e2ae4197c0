# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Downloads in parts."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._http.registry_auth import RegistryError
from ansible_collections.nimops.nim.plugins.module_utils._http.registry_client import (
    TransientError,
    digest_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._http.verified_file import (
    fetch_file,
    has_content,
)

CONTENT = bytes(range(200))
DIGEST = digest_of(CONTENT)


class Source:
    """Content that breaks after some bytes, once for each of ``breaks``."""

    def __init__(self, *breaks, content=CONTENT, from_start=False):
        self.breaks, self.content, self.from_start = [*breaks], content, from_start
        self.offsets = []

    @contextmanager
    def read(self, offset):
        self.offsets.append(offset)
        start = 0 if self.from_start else offset
        yield start, self.pieces(start)

    def pieces(self, start):
        end = start + self.breaks.pop(0) if self.breaks else len(self.content)
        for place in range(start, min(end, len(self.content)), 10):
            yield self.content[place : min(place + 10, end)]
        if end < len(self.content):
            raise TransientError("connection closed")


@pytest.fixture
def fetch(tmp_path):
    """Fetch a file from a source; the bytes that are counted."""

    def run(source, digest=DIGEST, size=200):
        counts = []
        target, draft = tmp_path / "target", tmp_path / "draft"
        fetch_file(target, draft, digest, size, source.read, counts.append)
        assert not draft.exists()
        assert target.read_bytes() == CONTENT[:size]
        return sum(counts)

    return run


@pytest.mark.parametrize(
    ("breaks", "offsets"), [((), [0]), ((50,), [0, 50]), ((50, 0, 7), [0, 50, 50, 57])]
)
def test_fetch_file(fetch, breaks, offsets):
    source = Source(*breaks)
    assert fetch(source) == 200
    assert source.offsets == offsets


def test_fetch_file_empty(fetch):
    source = Source()
    assert fetch(source, digest_of(b""), 0) == 0
    assert source.offsets == []


def test_fetch_file_without_ranges(fetch):
    source = Source(50, from_start=True)
    assert fetch(source) == 200
    assert source.offsets == [0, 50]


def test_fetch_file_gives_up_without_progress(fetch, tmp_path):
    source = Source(50, *[0] * 5)
    with pytest.raises(TransientError):
        fetch(source)
    assert (tmp_path / "draft").read_bytes() == CONTENT[:50]
    assert len(source.offsets) == 6


def test_fetch_file_continues_draft(fetch, tmp_path):
    (tmp_path / "draft").write_bytes(CONTENT[:120])
    source = Source()
    assert fetch(source) == 200
    assert source.offsets == [120]


@pytest.mark.parametrize("draft", [b"x" * 120, b"x" * 300])
def test_fetch_file_replaces_wrong_draft(fetch, tmp_path, draft):
    (tmp_path / "draft").write_bytes(draft)
    source = Source()
    assert fetch(source) == 200
    assert source.offsets[-1] == 0


def test_fetch_file_of_another_digest(fetch, tmp_path):
    source = Source(content=b"x" * 200)
    with pytest.raises(RegistryError, match=f"{DIGEST} does not match"):
        fetch(source)
    assert source.offsets == [0]
    assert not (tmp_path / "target").exists()
    assert not (tmp_path / "draft").exists()


def test_fetch_file_larger_than_its_size(fetch, tmp_path):
    with pytest.raises(RegistryError, match="larger than 100 bytes, the size in its manifest"):
        fetch(Source(), digest_of(CONTENT[:100]), 100)
    assert (tmp_path / "draft").stat().st_size <= 100


def test_fetch_file_follows_no_link(fetch, tmp_path):
    (tmp_path / "other").write_bytes(b"")
    (tmp_path / "draft").symlink_to(tmp_path / "other")
    with pytest.raises(OSError, match="symbolic links"):
        fetch(Source())


def test_has_content(tmp_path):
    file, link = tmp_path / "file", tmp_path / "link"
    assert has_content(file, DIGEST, 200) is False
    file.write_bytes(CONTENT)
    link.symlink_to(file)
    assert has_content(file, DIGEST, 200) is True
    assert has_content(file, DIGEST, 199) is False
    assert has_content(file, digest_of(b"x"), 200) is False
    assert has_content(link, DIGEST, 200) is False
