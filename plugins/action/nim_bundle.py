# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Packs images and models into a folder; documented in plugins/modules/nim_bundle.py."""

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._commands.bundle.command import (
    BundleCommand,
)
from ansible_collections.nimops.nim.plugins.plugin_utils._command import CommandAction


class ActionModule(CommandAction):
    """Pulls from registries; contacts no cluster."""

    command = BundleCommand
