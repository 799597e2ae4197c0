# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The images that a cluster pulls, for mirrors; documented in plugins/modules/nim_images_info.py."""

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._commands.images.command import (
    ImagesCommand,
)
from ansible_collections.nimops.nim.plugins.plugin_utils._command import CommandAction


class ActionModule(CommandAction):
    """Lists images; contacts no cluster and no registry."""

    command = ImagesCommand
