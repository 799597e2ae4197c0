# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What went wrong, in words for the one who ran the bench."""

from __future__ import annotations


class BenchError(Exception):
    """Something could not be measured; the text says what, why, and what to do."""
