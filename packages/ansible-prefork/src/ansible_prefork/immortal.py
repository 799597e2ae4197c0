# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Objects of the parent without reference counts, so that a fork that uses them does not write to their pages.

Python counts the references to an object in the object. A fork that uses an object of its parent therefore copies the
page that it is in, and the objects that a run uses are on all pages. Since Python 3.12 an object whose count has one
certain value is immortal: it is not counted, as None is not. Here all objects that the parent has get that value. They
would have lived for as long as the parent anyway; what a run makes itself is counted as usual.
"""

from __future__ import annotations

import ctypes
import gc
import sysconfig
from typing import Any

# The memory of this process as numbers of 32 bits. The first one of an object is its count, or the lower half of it.
_memory = (ctypes.c_uint32 * 2**60).from_address(0)


def make_all() -> int:
    """Make all objects immortal, and return how many were not; 0 where this interpreter cannot do so."""
    if not is_possible():
        return 0
    memory, mark, number = _memory, _memory[id(None) // 4], 0
    # In one function, as the collector knows a generator, and would find these lists by it.
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
    """Whether None is immortal in this interpreter, and so is an object with the same count."""
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
