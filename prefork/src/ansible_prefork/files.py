# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The YAML of the preloaded collections' roles, parsed once in the parent.

A run takes a file's data as it is, without the parsing and without the copy that ansible-core makes for the case that
the file is loaded again: then it is loaded from disk. A file that has changed is, too.
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
    """Parse the roles of these collections, and let DataLoader find what was parsed."""
    from ansible.parsing.dataloader import DataLoader

    stock = DataLoader.load_from_file
    has_trust = "trusted_as_template" in inspect.signature(stock).parameters
    _parse_roles(DataLoader(), collections, has_trust)

    def load(self: Any, file_name: str, cache: str = "all", *arguments: Any, **named: Any) -> Any:
        if cache == "all" and not arguments and named.keys() <= {"trusted_as_template", "unsafe"}:
            found = _take(self.path_dwim(file_name), bool(named.get("trusted_as_template")))
            if found is not None:
                return found
        return stock(self, file_name, cache, *arguments, **named)

    DataLoader.load_from_file = load


def _parse_roles(loader: Any, collections: Iterable[Path], has_trust: bool) -> None:
    options = [{"trusted_as_template": True}, {"trusted_as_template": False}] if has_trust else [{}]
    for directory in collections:
        for file in sorted(directory.glob("roles/*/*/*.yml")):
            if file.parent.name not in PARTS:
                continue
            for option in options:
                # What cannot be parsed, or is encrypted, is a matter of the run that needs it.
                with contextlib.suppress(Exception):
                    data = loader.load_from_file(str(file), cache="none", unsafe=True, **option)
                    _parsed[str(file), bool(option.get("trusted_as_template"))] = watch.file_state(str(file)), data


def _take(path: str, is_trusted: bool) -> Any:
    state, data = _parsed.pop((path, is_trusted), (None, None))
    return data if state and state == watch.file_state(path) else None
