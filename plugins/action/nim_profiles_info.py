# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Lists the profiles of a NIM image; documented in plugins/modules/nim_profiles_info.py."""

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._commands.profiles.command import (
    ProfilesCommand,
)
from ansible_collections.nimops.nim.plugins.plugin_utils._command import CommandAction


class ActionModule(CommandAction):
    """Reads profiles; for an image it creates a pod, and deletes it afterwards."""

    command = ProfilesCommand
