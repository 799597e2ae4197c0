# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Creates, changes or deletes a NIMBuild; documented in plugins/modules/nim_build.py."""

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._commands.resource.command import (
    BuildCommand,
)
from ansible_collections.nimops.nim.plugins.plugin_utils._command import CommandAction


class ActionModule(CommandAction):
    """Writes to the cluster; in check mode it only returns what would change."""

    command = BuildCommand
