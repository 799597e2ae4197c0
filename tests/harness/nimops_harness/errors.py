# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The error of a harness."""

from __future__ import annotations


class HarnessError(Exception):
    """Something could not be started, observed or measured; the text names the reason and the remedy."""
