# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Runs of ansible-runner and ansible-playbook as forks of a process that has everything imported and warm."""

__version__ = "0.1.0"
