# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The collections that runs use: a parent learns their names, and imports them when it renews itself.

A run records the names of the collections that it used and that are not warm yet, and nothing else. With
PREFORK_PRELOAD, nothing is learned.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from pathlib import Path

SETTING = "PREFORK_PRELOAD"
FILE = "collections"
MAXIMUM = 30
NAME = re.compile(r"[a-z_][a-z0-9_]*\.[a-z_][a-z0-9_]*")
PACKAGE = "ansible_collections."
# Parts of any version of ansible-core.
OWN = frozenset(("ansible.builtin", "ansible.legacy", "ansible._protomatter"))

_path: Path | None = None
_known: tuple[str, ...] = ()


def read(directory: Path) -> None:
    """Read the names that earlier runs recorded. ``directory``: that of this parent, or of its modules' parent."""
    global _path, _known
    if SETTING in os.environ:
        return
    above = directory.parent
    _path = (above if above.suffix == ".d" else directory) / FILE
    _known = _read(_path)


def names() -> list[str]:
    """The collections to keep warm: those that PREFORK_PRELOAD names, or else the learned ones."""
    if SETTING in os.environ:
        return [name for name in os.environ[SETTING].replace(",", " ").split() if name.count(".") == 1]
    return list(_known)


def has_more() -> bool:
    """Whether runs recorded further collections since the parent started."""
    return _path is not None and _read(_path) != _known


def note() -> None:
    """Record the collections that this run used. Called at its end."""
    if _path is None:
        return
    used = {name.removeprefix(PACKAGE) for name in sys.modules if name.startswith(PACKAGE) and name.count(".") == 2}
    fresh = sorted(name for name in used - OWN - {*_known} if _is_installed(name))
    if fresh and len(_read(_path)) < MAXIMUM:
        with contextlib.suppress(OSError), open(_path, "a", opener=_open_private) as file:
            file.write("".join(f"{name}\n" for name in fresh))


def _is_installed(name: str) -> bool:
    module = sys.modules.get(f"{PACKAGE}{name}")
    return module is not None and NAME.fullmatch(name) is not None and bool(getattr(module, "__path__", ()))


def _read(path: Path) -> tuple[str, ...]:
    try:
        found = dict.fromkeys(path.read_text().split())
    except OSError:
        return ()
    return tuple(sorted(name for name in found if NAME.fullmatch(name)))[:MAXIMUM]


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
