# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Lists the models that custom resources download; documented in plugins/modules/nim_model_files_info.py."""

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._commands.model_files.command import (
    ModelFilesCommand,
)
from ansible_collections.nimops.nim.plugins.plugin_utils._command import CommandAction


class ActionModule(CommandAction):
    """Lists models; writes nothing."""

    command = ModelFilesCommand
