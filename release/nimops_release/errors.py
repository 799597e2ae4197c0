# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The errors that the command reports without a traceback."""

from __future__ import annotations


class ReleaseError(Exception):
    """A failure. The text contains the problem, the place and a remedy."""

    exit_code = 1


class SetupError(ReleaseError):
    """A missing prerequisite on the machine, or a wrong argument."""

    exit_code = 2
