# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Pushes a bundle to a mirror; documented in plugins/modules/nim_unbundle.py."""

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._commands.bundle.unbundle_command import (
    UnbundleCommand,
)
from ansible_collections.nimops.nim.plugins.plugin_utils._command import CommandAction


class ActionModule(CommandAction):
    """Pushes to a registry; contacts no cluster."""

    command = UnbundleCommand
