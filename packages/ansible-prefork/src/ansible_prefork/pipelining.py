# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Pipeline the modules that the warm interpreter runs, unless a setting says whether to pipeline.

By default, ansible-core writes a module to a file and executes it, because some configurations of sudo fail with
pipelining. The modules here use no sudo: they have the connection ``local`` and do not become another user.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ansible_prefork import modules


def install(socket: Path) -> None:
    """Pipeline the modules of the warm interpreter that listens at ``socket``."""
    from ansible.plugins.action import ActionBase

    stock, execute = ActionBase._is_pipelining_enabled, ActionBase._execute_module

    def execute_module(self: Any, *arguments: Any, **named: Any) -> Any:
        # Until its interpreter is known, a module is not pipelined, and has a temporary directory.
        self._used_interpreter = None
        return execute(self, *arguments, **named)

    def is_pipelining_enabled(self: Any, module_style: str, wrap_async: bool = False) -> bool:
        if stock(self, module_style, wrap_async):
            return True
        return module_style == "new" and not wrap_async and _is_served(self) and socket.exists()

    ActionBase._execute_module = execute_module
    ActionBase._is_pipelining_enabled = is_pipelining_enabled


def _is_served(action: Any) -> bool:
    """Whether the warm interpreter can run the module of this action."""
    from ansible import constants

    connection, shebang = action._connection, action._used_interpreter or ""
    try:
        origin = connection.get_option_and_origin("pipelining")[1]
    except (AttributeError, KeyError):
        return False
    return (
        origin == "default"
        and connection.transport == "local"
        and not connection.become
        and not constants.DEFAULT_KEEP_REMOTE_FILES
        and not modules.is_off()
        and modules.is_own_interpreter(os.fsdecode(shebang).removeprefix("#!").strip())
    )
