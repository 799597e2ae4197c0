# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Checks whether custom resources can run in a cluster.

Documented in plugins/modules/nim_preflight_info.py.
"""

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._commands.preflight.command import (
    PreflightCommand,
)
from ansible_collections.nimops.nim.plugins.plugin_utils._command import CommandAction


class ActionModule(CommandAction):
    """Compares resources with the cluster; writes nothing."""

    command = PreflightCommand
