# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Renders the objects of custom resources without a cluster.

Documented in plugins/modules/nim_render.py.
"""

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._commands.render.command import (
    RenderCommand,
)
from ansible_collections.nimops.nim.plugins.plugin_utils._command import CommandAction


class ActionModule(CommandAction):
    """Prints objects or writes files; contacts no cluster."""

    command = RenderCommand
