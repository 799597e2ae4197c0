# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Collects support data in one file; documented in plugins/modules/nim_gather.py."""

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._commands.gather.command import (
    GatherCommand,
)
from ansible_collections.nimops.nim.plugins.plugin_utils._command import CommandAction


class ActionModule(CommandAction):
    """Reads the cluster and writes one file, readable only by its owner."""

    command = GatherCommand
