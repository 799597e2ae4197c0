# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Objects with marks that are rendered as Helm expressions."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from .errors import ReleaseError
from .manifests import Manifest, to_yaml

_MARK = re.compile(r"HOOK\d{4}")
_BLOCK = re.compile(r"^(\s*)(?:- )?(HOOK\d{4})(?:: null)?$")


class Hooks:
    """Creates marks, and replaces them in the rendered text."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def mark(self, text: str) -> str:
        """Return a mark to use as a scalar, a key without a value, or an item of a list.

        As a key or an item, the text may have several lines, which are indented like the mark.
        @N@ is the width of that indentation, plus two for a scalar.
        """
        self._texts.append(text)
        return f"HOOK{len(self._texts) - 1:04}"

    def render(self, item: Manifest) -> str:
        """Return the text of an object, with the marks replaced by expressions."""
        text = to_yaml(item)
        if "{{" in text:
            raise ReleaseError(
                f"{item['kind']} {item['metadata']['name']}: Helm would read its {{{{"
            )
        return "".join(f"{self._replace(line)}\n" for line in text.splitlines())

    def _replace(self, line: str) -> str:
        if block := _BLOCK.match(line):
            text = self._text(block[2]).replace("@N@", str(len(block[1])))
            return "\n".join(f"{block[1]}{part}" for part in text.splitlines())
        indentation = len(line) - len(line.lstrip(" -")) + 2
        return _MARK.sub(lambda mark: self._text(mark[0]).replace("@N@", str(indentation)), line)

    def _text(self, mark: str) -> str:
        return self._texts[int(mark.removeprefix("HOOK"))]


def guard(condition: str, text: str) -> str:
    """Return a text that is only rendered if the condition holds."""
    return f"{{{{- if {condition} }}}}\n{text}{{{{- end }}}}\n"


def map_scalars(item: Any, change: Callable[[str, Any], Any], key: str = "") -> Any:
    """Return a copy with every scalar replaced by `change(key, value)`."""
    if isinstance(item, dict):
        return {name: map_scalars(value, change, name) for name, value in item.items()}
    if isinstance(item, list):
        return [map_scalars(value, change, key) for value in item]
    return change(key, item)
