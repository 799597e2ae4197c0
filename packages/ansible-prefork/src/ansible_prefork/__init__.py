# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Run ansible-runner and ansible-playbook as forks of a warm process that has everything imported."""

__version__ = "0.1.0"
