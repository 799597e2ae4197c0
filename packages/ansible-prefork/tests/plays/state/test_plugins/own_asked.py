# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

asked = []


def is_asked(value: object) -> bool:
    asked.append(value)
    return len(asked) == 1


class TestModule:
    def tests(self):
        return {"own_asked": is_asked}
