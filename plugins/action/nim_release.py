# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Removes our finalizers after the operator is gone; documented in plugins/modules/nim_release.py."""

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._commands.release.command import (
    ReleaseCommand,
)
from ansible_collections.nimops.nim.plugins.plugin_utils._command import CommandAction


class ActionModule(CommandAction):
    """Removes finalizers; in check mode it only lists them."""

    command = ReleaseCommand
