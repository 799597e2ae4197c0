# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""A filter that counts, in its process, how often it was called: a worker's is called once."""

from __future__ import annotations

calls = 0


def shelf_label(name: str) -> str:
    global calls
    calls += 1
    return f"{name}.{calls}"


class FilterModule:
    def filters(self):
        return {"shelf_label": shelf_label}
