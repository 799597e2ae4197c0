# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Simulates a driver upgrade; documented in plugins/modules/gpu_upgrade_plan_info.py."""

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._commands.gpu.upgrade_plan_command import (
    GpuUpgradePlanCommand,
)
from ansible_collections.nimops.nim.plugins.plugin_utils._command import CommandAction


class ActionModule(CommandAction):
    """Reads and simulates; writes nothing."""

    command = GpuUpgradePlanCommand
