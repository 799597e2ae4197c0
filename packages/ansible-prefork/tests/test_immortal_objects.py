# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Immortal objects of a parent are not counted, new objects are, and a fork that uses them copies no pages."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ansible_prefork import immortal_objects

HEAD = """\
import gc, os, resource, sys, weakref
from ansible_prefork import immortal_objects, process
class Item: pass
items = [Item() for _ in range(100_000)]
names = [f"name-{number}" for number in range(1000)]
"""
pytestmark = pytest.mark.skipif(sys.version_info < (3, 12), reason="there are no immortal objects before Python 3.12")


def answer(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", HEAD + code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


def test_make_all_counts():
    code = """
assert immortal_objects.make_all() > 100_000
for old in (items, items[7], names, names[7], Item, immortal_objects):
    before = sys.getrefcount(old)
    kept = [old] * 5
    assert sys.getrefcount(old) == before
new = Item()
before = sys.getrefcount(new)
kept = [new] * 5
assert sys.getrefcount(new) == before + 5
gone = weakref.ref(new)
del new, kept
assert gone() is None
new = Item(); new.itself = new; gone = weakref.ref(new); del new
gc.collect()
assert gone() is None
print(immortal_objects.make_all() < 1000)
"""
    assert answer(code) == "True"


def test_make_all_fork_pages():
    code = """
def faults():
    gc.collect(); gc.freeze()
    if pid := os.fork():
        os.waitpid(pid, 0)
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt
    for item in items:
        again = item
    os._exit(0)
mortal = faults()
immortal_objects.make_all()
print(mortal, faults() - mortal)
"""
    mortal, without = map(int, answer(code).split())
    assert without < mortal / 4


def test_make_all_leaves_no_references():
    code = """
def size():
    for _ in range(5):
        immortal_objects.make_all()
    return int(open("/proc/self/statm").read().split()[1])
size()
print(size() - size())
"""
    assert abs(int(answer(code))) < 200


def test_make_all_unsupported(monkeypatch):
    monkeypatch.setattr(immortal_objects, "is_possible", lambda: False)
    assert immortal_objects.make_all() == 0
