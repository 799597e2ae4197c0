# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Reads custom resources; documented in plugins/modules/nim_resource_info.py."""

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._commands.resource.info_command import (
    ResourceInfoCommand,
)
from ansible_collections.nimops.nim.plugins.plugin_utils._command import CommandAction


class ActionModule(CommandAction):
    """Reads; writes nothing."""

    command = ResourceInfoCommand
