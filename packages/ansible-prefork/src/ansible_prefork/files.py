# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Parse the YAML of preloaded collections' roles and playbooks once, in the parent; load other files without a copy.

A run uses a file's data directly. This saves parsing for a role's file, and for any file the copy that ansible-core
makes for a second load. A file that is loaded again, or has changed, is loaded from disk.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ansible_prefork import watch

PARTS = ("defaults", "handlers", "meta", "tasks", "vars")

# By path: the state of the file, and its data.
_parsed: dict[str, tuple[watch.FileState | None, Any]] = {}


def install(collections: Iterable[Path]) -> None:
    """Parse the roles and playbooks of these collections, and make DataLoader use the results."""
    from ansible.parsing.dataloader import DataLoader

    stock = DataLoader.load_from_file
    # Files of roles may contain templates, which must be declared since ansible-core 2.19.
    as_role = {"trusted_as_template": True} if "trusted_as_template" in inspect.signature(stock).parameters else {}
    _parse(DataLoader(), collections, as_role)

    def load(self: Any, file_name: str, cache: str = "all", *arguments: Any, **named: Any) -> Any:
        if cache != "all" or arguments or not named.keys() <= {"trusted_as_template"}:
            return stock(self, file_name, cache, *arguments, **named)
        path = self.path_dwim(file_name)
        loaded = vars(self).setdefault("_prefork_loaded", {})
        if path in loaded or path in self._FILE_CACHE:
            # Load a file again with the same settings as the first time, such as whether it may contain templates.
            return stock(self, file_name, **{**named, **loaded.get(path, {})})
        loaded[path] = named
        found = _take(path) if named == as_role else None
        return stock(self, file_name, cache="none", unsafe=True, **named) if found is None else found

    DataLoader.load_from_file = load


def parsed() -> list[Any]:
    """All parsed files."""
    return [data for _state, data in _parsed.values()]


def _parse(loader: Any, collections: Iterable[Path], options: dict[str, Any]) -> None:
    for directory in collections:
        roles = (file for file in sorted(directory.glob("roles/*/*/*.yml")) if file.parent.name in PARTS)
        for file in (*roles, *sorted(directory.glob("playbooks/*.yml"))):
            # Files that are invalid or encrypted are left to the run that needs them.
            with contextlib.suppress(Exception):
                data = loader.load_from_file(str(file), cache="none", unsafe=True, **options)
                _parsed[str(file)] = watch.file_state(str(file)), data


def _take(path: str) -> Any:
    state, data = _parsed.pop(path, (None, None))
    return data if state and state == watch.file_state(path) else None
