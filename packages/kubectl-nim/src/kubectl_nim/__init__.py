# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The command `kubectl nim`."""

__version__ = "0.1.0"
