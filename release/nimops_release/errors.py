# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The errors that the command reports without a traceback."""

from __future__ import annotations


class ReleaseError(Exception):
    """Something failed. The text says what, where, and what to do."""

    exit_code = 1


class SetupError(ReleaseError):
    """Something that this needs is missing on the machine, or an argument is wrong."""

    exit_code = 2
