# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The GPU stack of each node; documented in plugins/modules/gpu_status_info.py."""

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._commands.gpu.status_command import (
    GpuStatusCommand,
)
from ansible_collections.nimops.nim.plugins.plugin_utils._command import CommandAction


class ActionModule(CommandAction):
    """Reads the state; writes nothing."""

    command = GpuStatusCommand
