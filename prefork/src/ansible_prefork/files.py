# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The YAML of the preloaded collections' roles and playbooks, parsed once in the parent; other files, without a copy.

A run takes a file's data as it is: for a role's file without the parsing, and for any file without the copy that
ansible-core makes for the case that the file is loaded again: then it is loaded from disk. A file that has changed is,
too.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ansible_prefork import watch

PARTS = ("defaults", "handlers", "meta", "tasks", "vars")

# By path and whether its templates are trusted: the state of the file, and its data.
_parsed: dict[tuple[str, bool], tuple[watch.State | None, Any]] = {}


def install(collections: Iterable[Path]) -> None:
    """Parse the roles and playbooks of these collections, and let DataLoader find what was parsed."""
    from ansible.parsing.dataloader import DataLoader

    stock = DataLoader.load_from_file
    has_trust = "trusted_as_template" in inspect.signature(stock).parameters
    _parse(DataLoader(), collections, has_trust)

    def load(self: Any, file_name: str, cache: str = "all", *arguments: Any, **named: Any) -> Any:
        if cache != "all" or arguments or not named.keys() <= {"trusted_as_template"}:
            return stock(self, file_name, cache, *arguments, **named)
        path = self.path_dwim(file_name)
        loaded = vars(self).setdefault("_prefork_loaded", {})
        if path in loaded or path in self._FILE_CACHE:
            # What is loaded again is what was loaded first, also in whether it may hold templates.
            return stock(self, file_name, **{**named, **loaded.get(path, {})})
        loaded[path] = named
        found = _take(path, bool(named.get("trusted_as_template")))
        return stock(self, file_name, cache="none", unsafe=True, **named) if found is None else found

    DataLoader.load_from_file = load


def parsed() -> list[Any]:
    """All that was parsed."""
    return [data for _state, data in _parsed.values()]


def _parse(loader: Any, collections: Iterable[Path], has_trust: bool) -> None:
    options = [{"trusted_as_template": True}, {"trusted_as_template": False}] if has_trust else [{}]
    for directory in collections:
        roles = (file for file in sorted(directory.glob("roles/*/*/*.yml")) if file.parent.name in PARTS)
        for file in (*roles, *sorted(directory.glob("playbooks/*.yml"))):
            for option in options:
                # What cannot be parsed, or is encrypted, is a matter of the run that needs it.
                with contextlib.suppress(Exception):
                    data = loader.load_from_file(str(file), cache="none", unsafe=True, **option)
                    _parsed[str(file), bool(option.get("trusted_as_template"))] = watch.file_state(str(file)), data


def _take(path: str, is_trusted: bool) -> Any:
    state, data = _parsed.pop((path, is_trusted), (None, None))
    return data if state and state == watch.file_state(path) else None
