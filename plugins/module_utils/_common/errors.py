# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The one error family that pure code raises; each error maps to a condition reason."""

from __future__ import annotations

FORBIDDEN, NAME_RESERVED = "Forbidden", "NameReserved"
FINAL = {FORBIDDEN, NAME_RESERVED}
"""Reasons of what no further try will mend: only another spec, or another operator, will."""


class NimError(Exception):
    """A custom resource cannot be served as it is.

    The text says what is wrong, where (a field path such as ``spec.storage.pvc.size``) and what
    to do. ``reason`` becomes the reason of the condition that the user sees: a CamelCase word.
    """

    def __init__(self, message: str, *, reason: str = "Failed") -> None:
        super().__init__(message)
        self.reason = reason
