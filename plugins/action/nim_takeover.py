# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Takes a cluster over from the reference operator, or returns it.

Documented in plugins/modules/nim_takeover.py.
"""

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._commands.takeover.command import (
    TakeoverCommand,
)
from ansible_collections.nimops.nim.plugins.plugin_utils._command import CommandAction


class ActionModule(CommandAction):
    """Hands over the cluster; in check mode it only reports."""

    command = TakeoverCommand
