# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The errors that pure code raises; each maps to a condition reason."""

from __future__ import annotations

FORBIDDEN, NAME_RESERVED, NAME_TAKEN = "Forbidden", "NameReserved", "NameTaken"
TOO_LARGE = "TooLarge"
FINAL = {FORBIDDEN, NAME_RESERVED, NAME_TAKEN, TOO_LARGE}
"""Reasons that retrying cannot fix, but only a change of the spec or of the operator configuration.
A resource with `NAME_TAKEN` is reconciled periodically, because no watch reports a free name."""


class NimError(Exception):
    """A custom resource cannot be served as it is.

    The message names the problem, its place (a field path such as ``spec.storage.pvc.size``) and
    the fix. ``reason`` becomes the reason of the condition that the user sees: a CamelCase word.
    """

    def __init__(self, message: str, *, reason: str = "Failed") -> None:
        super().__init__(message)
        self.reason = reason


class ApiError(Exception):
    """The API server refused a request; ``status`` is the HTTP status, 0 if there was no answer."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
