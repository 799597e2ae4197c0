# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""What ansible-core remembers in module globals, and how each run gets rid of what is not its own.

The warm-up plays a play in the parent, so everything that a play leaves behind for the rest of the process has to be
known. ``tests/test_memos.py`` compares the state of all modules before and after a play, and fails on what is neither
reset here nor known to depend on files only.
"""

from __future__ import annotations

import atexit
import importlib
import os
import secrets
import sys
import tempfile
from typing import Any


def forget_run() -> None:
    """Forget the play that this process has played: options, variables, vault secrets, messages said, identifiers."""
    from ansible import context
    from ansible.utils import context_objects
    from ansible.utils import vars as ansible_vars
    from ansible.utils.display import Display

    for function in (ansible_vars.load_extra_vars, ansible_vars.load_options_vars):
        vars(function).clear()
    context_objects.GlobalCLIArgs._Singleton__instance = None
    context.CLIARGS = context_objects.CLIArgs({})
    _forget_vault_secrets()
    _forget_messages(Display())
    ansible_vars.cur_id = 0
    ansible_vars.random_int = f"{secrets.randbelow(2**32):08x}"
    _forget_collection_defaults()


def _forget_vault_secrets() -> None:
    from ansible.parsing import vault

    # Since ansible-core 2.19.
    context = getattr(vault, "VaultSecretsContext", None)
    if context is not None:
        context._current = None


def _forget_messages(display: Any) -> None:
    for name in ("_deprecations", "_warns", "_errors"):
        getattr(display, name).clear()
    from ansible import constants

    display.verbosity = 0
    display.log_verbosity = constants.LOG_VERBOSITY or 0
    display._final_q = None


def _forget_collection_defaults() -> None:
    """The collection that the last playbook was in, and the directories of playbooks."""
    from ansible.utils.collection_loader import AnsibleCollectionConfig

    AnsibleCollectionConfig.default_collection = None
    finder = AnsibleCollectionConfig.collection_finder
    if finder is not None:
        finder.set_playbook_paths([])


def _forget_events() -> None:
    """The directory for events that the callback plugin of ansible-runner has read from the environment."""
    for name in ("ansible.plugins.callback.awx_display", "awx_display"):
        module = sys.modules.get(name)
        if module is not None:
            module.event_context.__init__()  # type: ignore[misc]


def refresh_process(environment_names: tuple[str, ...] = ("CACHE_PLUGIN_CONNECTION",)) -> None:
    """Redo what importing Ansible does once per process and what depends on this process: its temporary directory,
    its terminal, its colours, its standard streams, and the constants that are set per run.
    """
    from ansible import constants
    from ansible.utils import color
    from ansible.utils.display import Display

    for name in environment_names:
        setattr(constants, name, constants.config.get_config_value(name))
    _own_temporary_directory(constants)
    importlib.reload(color)
    display = Display()
    display._set_column_width()
    _forget_events()
    _prepare_streams(display)


def _prepare_streams(display: Any) -> None:
    from ansible.utils import display as module

    synchronize = getattr(module, "_synchronize_textiowrapper", None)
    if synchronize is not None:
        synchronize(sys.stdout, display._lock)
        synchronize(sys.stderr, display._lock)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="_replacing_warning_handler")  # type: ignore[union-attr]


def _own_temporary_directory(constants: Any) -> None:
    """A directory as ansible-core would have made, beside the one of the parent; removed when the process ends."""
    from ansible.config import manager

    root = os.path.dirname(constants.DEFAULT_LOCAL_TMP)
    os.makedirs(root, 0o700, exist_ok=True)
    path = tempfile.mkdtemp(prefix=f"ansible-local-{os.getpid()}", dir=root)
    atexit.register(manager.cleanup_tmp_file, path, warn=True)
    constants.DEFAULT_LOCAL_TMP = path


def give_up_temporary_directory() -> None:
    """Remove the temporary directory that importing Ansible has made for this process; each run makes its own."""
    from ansible import constants
    from ansible.config import manager

    atexit.unregister(manager.cleanup_tmp_file)
    manager.cleanup_tmp_file(constants.DEFAULT_LOCAL_TMP)
