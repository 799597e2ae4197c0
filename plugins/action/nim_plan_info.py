# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Plans the changes of applying custom resources.

Documented in plugins/modules/nim_plan_info.py.
"""

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._commands.plan.command import (
    PlanCommand,
)
from ansible_collections.nimops.nim.plugins.plugin_utils._command import CommandAction


class ActionModule(CommandAction):
    """Compares with the cluster; writes nothing."""

    command = PlanCommand
