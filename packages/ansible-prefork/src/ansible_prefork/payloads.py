# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Build module payloads once for all runs.

ansible-core puts a module and its imports into an archive once per run, in the run's temporary directory. The archives
of modules of the preloaded collections, whose files the parent watches, are kept for later runs. They only contain
code: each task adds its arguments later.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from pathlib import Path
from typing import Any

from ansible_prefork import learned

_names: tuple[str, ...] = ()


def install(directory: Path) -> None:
    """Keep payloads below ``directory``, that of the parent; those of an earlier parent are removed."""
    global _names
    from ansible.executor import module_common

    for earlier in directory.glob("payloads-*"):
        shutil.rmtree(earlier, ignore_errors=True)
    # A unique name: a run of an earlier parent, with older code, must not put its payload here.
    shared = directory / f"payloads-{time.monotonic_ns()}"
    shared.mkdir(mode=0o700)
    _names = tuple(f"ansible_collections.{name}." for name in learned.names())
    build = module_common._find_module_utils

    def build_shared(*arguments: Any, **named: Any) -> Any:
        own = Path(module_common.C.DEFAULT_LOCAL_TMP, "ansiballz_cache")
        if not _uses_stock_utils():
            return build(*arguments, **named)
        _fetch(shared, own)
        try:
            return build(*arguments, **named)
        finally:
            _publish(own, shared)

    module_common._find_module_utils = build_shared


def _uses_stock_utils() -> bool:
    """Whether no playbook or role has its own module_utils, which would go into the archive."""
    from ansible.plugins.loader import module_utils_loader

    return not module_utils_loader._extra_dirs


def _fetch(shared: Path, own: Path) -> None:
    """Link the kept payloads into the run's cache. Only the first worker that needs a module does so."""
    try:
        own.mkdir(parents=True)
    except FileExistsError:
        return
    with contextlib.suppress(FileNotFoundError):
        for entry in os.scandir(shared):
            # Another worker may build a module meanwhile.
            with contextlib.suppress(FileExistsError):
                os.symlink(entry.path, own / entry.name)


def _publish(own: Path, shared: Path) -> None:
    for entry in os.scandir(own):
        is_fresh = entry.is_file(follow_symlinks=False) and not entry.name.endswith((".lock", "-part"))
        if not is_fresh or not entry.name.startswith(_names):
            continue
        try:
            # A temporary name first: the link appears atomically.
            fresh = shared / f".{os.getpid()}-{entry.name}"
            shutil.copyfile(entry.path, fresh)
            os.replace(fresh, shared / entry.name)
        except OSError:
            continue
