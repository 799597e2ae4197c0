# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Reset the state that a play leaves in module globals of ansible-core.

The warm-up runs a play in the parent, so all state that a play leaves in the process must be known.
``tests/test_global_state.py`` compares the state of all modules before and after a play. It fails if state is neither
reset here nor known to depend only on files.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import logging
import os
import secrets
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

_display_methods: dict[str, Any] = {}
_log_handlers: list[logging.Handler] = []


def remember_unplayed() -> None:
    """Snapshot the state that a play modifies, and detach log handlers during the warm-up."""
    from ansible.utils.display import Display

    _display_methods.update(vars(Display))
    _log_handlers.extend(logging.root.handlers)
    for handler in _log_handlers:
        logging.root.removeHandler(handler)
        # The handler opens its file again at the next write.
        handler.close()


@contextlib.contextmanager
def without_server() -> Iterator[None]:
    """Do not start the server for workers since ansible-core 2.21: it is a thread, and each run starts its own."""
    try:
        from ansible._internal._rpc_host import LocalManager
    except ImportError:
        yield
        return
    stock = LocalManager.__dict__["shared_instance"]
    LocalManager.shared_instance = classmethod(lambda _class: None)
    try:
        yield
    finally:
        LocalManager.shared_instance = stock


def _forget_callbacks() -> None:
    """Remove callback plugins, whose modules have state since their import, and their wrappers of Display's methods.

    Plugins of ansible-core itself keep no state in their modules.
    """
    from ansible.plugins import callback, loader
    from ansible.utils.display import Display

    own = tuple(f"{directory}{os.sep}" for directory in callback.__path__)
    for path, module in list(loader.callback_loader._module_cache.items()):
        if path.startswith(own):
            continue
        del loader.callback_loader._module_cache[path]
        sys.modules.pop(module.__name__, None)
    for name, value in list(vars(Display).items()):
        if name in _display_methods and value is not _display_methods[name]:
            setattr(Display, name, _display_methods[name])


def forget_run() -> None:
    """Forget the play of this process: options, variables, vault secrets, printed messages, identifiers."""
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
    _forget_collection_defaults()
    _forget_callbacks()


def _forget_vault_secrets() -> None:
    from ansible.parsing import vault

    clear = getattr(vault.VaultAES256._gen_key_initctr, "cache_clear", None)
    if clear is not None:
        clear()
    # Until ansible-core 2.18.
    decoder = getattr(sys.modules.get("ansible.parsing.ajson"), "AnsibleJSONDecoder", None)
    getattr(decoder, "_vaults", {}).clear()
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
    """Forget the collection of the last playbook, and the directories of playbooks."""
    from ansible.utils.collection_loader import AnsibleCollectionConfig

    AnsibleCollectionConfig.default_collection = None
    finder = AnsibleCollectionConfig.collection_finder
    if finder is not None:
        finder.set_playbook_paths([])


def has_log() -> bool:
    """Whether plays write a log: Ansible then adds handlers to the root logger."""
    return bool(_log_handlers)


def refresh_process() -> None:
    """Repeat the steps of importing Ansible that depend on the process.

    These are its identifiers, temporary directory, terminal, colors, standard streams, and the constants that are set
    per run. The state of the play was forgotten in the parent.
    """
    from ansible import constants
    from ansible.utils import color
    from ansible.utils import vars as ansible_vars
    from ansible.utils.display import Display

    ansible_vars.random_int = f"{secrets.randbelow(2**32):08x}"
    for name in ("CACHE_PLUGIN_CONNECTION", "DEFAULT_ROLES_PATH"):
        setattr(constants, name, constants.config.get_config_value(name))
    _own_temporary_directory(constants)
    importlib.reload(color)
    display = Display()
    display._set_column_width()
    for handler in _log_handlers:
        logging.root.addHandler(handler)
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
    """Create a temporary directory as ansible-core does, beside that of the parent; it is removed at exit."""
    from ansible.config import manager

    root = os.path.dirname(constants.DEFAULT_LOCAL_TMP)
    os.makedirs(root, 0o700, exist_ok=True)
    path = tempfile.mkdtemp(prefix=f"ansible-local-{os.getpid()}", dir=root)
    atexit.register(manager.cleanup_tmp_file, path, warn=True)
    constants.DEFAULT_LOCAL_TMP = path


def remove_temporary_directory() -> None:
    """Remove the temporary directory that importing Ansible created in the parent; each run creates its own."""
    from ansible import constants
    from ansible.config import manager

    atexit.unregister(manager.cleanup_tmp_file)
    manager.cleanup_tmp_file(constants.DEFAULT_LOCAL_TMP)
