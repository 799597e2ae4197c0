# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Make all objects of the parent immortal, so that a fork that uses them does not write to their pages.

Python stores the reference count of an object in the object. A fork that uses an object of its parent therefore copies
the page of the object, and the objects that a run uses are on all pages. Since Python 3.12, an object with a certain
count is immortal (PEP 683): it is not counted, like None. All objects of the parent get this count. They would live as
long as the parent in any case; new objects of a run are counted as usual.
"""

from __future__ import annotations

import ctypes
import gc
import sysconfig
from typing import Any

# The memory of this process as 32-bit numbers. The first number of an object is its count, or the lower half of it.
_memory = (ctypes.c_uint32 * 2**60).from_address(0)


def make_all() -> int:
    """Make all objects immortal; how many were not, or 0 if this interpreter does not support it."""
    if not is_possible():
        return 0
    memory, mark, number = _memory, _memory[id(None) // 4], 0
    # This is one function, because the collector would find these lists through a generator.
    known = gc.get_objects()
    waiting: list[Any] = []
    for item in known:
        if memory[id(item) // 4] != mark:
            memory[id(item) // 4] = mark
            number += 1
    for item in known:
        waiting += gc.get_referents(item)
        while waiting:
            found = waiting.pop()
            if memory[id(found) // 4] != mark:
                memory[id(found) // 4] = mark
                number += 1
                waiting += gc.get_referents(found)
    return number


def is_possible() -> bool:
    """Whether this interpreter treats objects with the count of None as immortal."""
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return False
    mark = _memory[id(None) // 4]
    probe = object()
    count = _memory[id(probe) // 4]
    kept: list[Any] = [None] * 3
    is_none_immortal = _memory[id(None) // 4] == mark
    if is_none_immortal:
        _memory[id(probe) // 4] = mark
        kept += [probe] * 3
        is_none_immortal = _memory[id(probe) // 4] == mark
        kept.clear()
        _memory[id(probe) // 4] = count
    return is_none_immortal
