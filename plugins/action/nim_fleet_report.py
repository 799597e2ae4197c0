# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Writes a report as an HTML file; documented in plugins/modules/nim_fleet_report.py."""

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._commands.report.command import (
    ReportCommand,
)
from ansible_collections.nimops.nim.plugins.plugin_utils._command import CommandAction


class ActionModule(CommandAction):
    """Reads the cluster and writes one file, readable only by its owner."""

    command = ReportCommand
