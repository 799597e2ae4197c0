# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Lists custom resources with their state; documented in plugins/modules/nim_status_info.py."""

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._commands.status.command import (
    StatusCommand,
)
from ansible_collections.nimops.nim.plugins.plugin_utils._command import CommandAction


class ActionModule(CommandAction):
    """Lists resources; writes nothing."""

    command = StatusCommand
