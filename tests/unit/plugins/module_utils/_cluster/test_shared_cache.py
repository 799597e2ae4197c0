# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import os
import time

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._cluster.shared_cache import (
    FOLDER_VARIABLE,
    SECONDS,
    shared_answer,
    shared_fact,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import tanzu_reads
from ansible_collections.nimops.nim.plugins.module_utils._engine.reads import ReadChild

NODE = {"metadata": {"name": "n", "labels": {"node.vmware.com/tkg": "1"}}}
READ, OTHER = tanzu_reads()


class Asked:
    """Answers reads, and counts them."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.reads = []

    def __call__(self, read):
        self.reads.append(read)
        return self.answers[min(len(self.reads), len(self.answers)) - 1]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    return tmp_path


def test_shared_answer_is_cached(folder):
    asked = Asked([NODE], [])
    assert [shared_answer(READ, asked), shared_answer(READ, asked)] == [[NODE], [NODE]]
    assert asked.reads == [READ]
    assert shared_answer(OTHER, asked) == []
    (file, _other) = sorted(folder.iterdir(), key=lambda item: item.stat().st_size, reverse=True)
    assert file.stat().st_mode & 0o777 == 0o600


def test_shared_answer_expires(folder):
    asked = Asked([NODE], [])
    shared_answer(READ, asked)
    (file,) = folder.iterdir()
    then = file.stat().st_mtime - SECONDS - 1
    os.utime(file, (then, then))
    assert [shared_answer(READ, asked), shared_answer(READ, asked)] == [[], []]
    assert len(asked.reads) == 2


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000])
def test_shared_answer_broken_file(folder, text):
    shared_answer(READ, Asked([]))
    (file,) = folder.iterdir()
    file.write_text(text)
    assert shared_answer(READ, Asked([NODE])) == [NODE]


def test_shared_answer_without_folder(folder, monkeypatch):
    folder.rmdir()
    assert shared_answer(READ, Asked([NODE])) == [NODE]
    monkeypatch.delenv(FOLDER_VARIABLE)
    assert shared_answer(READ, Asked([])) == []


def test_shared_answer_of_other_reads(folder):
    asked = Asked(None, {"kind": "Service"})
    read = ReadChild("Service", "nim", "llm")
    assert [shared_answer(read, asked), shared_answer(read, asked)] == [None, {"kind": "Service"}]
    assert list(folder.iterdir()) == []


def test_shared_fact_settles(folder):
    """Else the first child of a kind, Ready while its watch began, was awaited for 30 s."""
    asked = iter([False, True])
    assert [shared_fact("a", lambda: next(asked)) for _ in range(3)] == [False, False, False]
    (file,) = folder.iterdir()
    os.utime(file, (time.time() - 5, time.time() - 5))
    assert shared_fact("a", lambda: next(asked)) is True
    assert shared_fact("b", lambda: False) is False


def test_shared_fact_without_folder(monkeypatch):
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    asked = iter([True, False])
    assert [shared_fact("a", lambda: next(asked)) for _ in range(2)] == [True, False]
