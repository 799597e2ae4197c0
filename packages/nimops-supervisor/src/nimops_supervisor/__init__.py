# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Starts ansible-operator, guards its runs, and restarts it."""

__version__ = "0.1.0"
