# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Applies custom resources and waits until they are Ready.

Documented in plugins/modules/nim_apply.py.
"""

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._commands.apply.command import (
    ApplyCommand,
)
from ansible_collections.nimops.nim.plugins.plugin_utils._command import CommandAction


class ActionModule(CommandAction):
    """Writes to the cluster; in check mode it only returns the plan."""

    command = ApplyCommand
