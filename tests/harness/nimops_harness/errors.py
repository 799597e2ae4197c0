# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What went wrong, in words for the one who ran it."""

from __future__ import annotations


class HarnessError(Exception):
    """Something could not be started, seen or measured; the text says what, why, and what to do."""
