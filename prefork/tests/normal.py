# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Makes two runs comparable: takes out what is random, a time, a process id, or the directory of the side."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
PATTERNS = (
    (re.compile(r"ansible-tmp-[\d.]+-\d+-\d+"), "<ansible-tmp>"),
    (re.compile(r"ansible-local-\w+"), "<ansible-local>"),
    (re.compile(r"\bj?\d{9,}\.\d+\b"), "<job>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d([.,]\d+)?(Z|[+-]\d\d:?\d\d)?"), "<time>"),
    (re.compile(r"\b\w+day \d\d \w+ \d{4}  \d\d:\d\d:\d\d [+-]\d{4}"), "<time>"),
    (re.compile(r"\b\d+:\d\d:\d\d([.:]\d+)?"), "<duration>"),
    (re.compile(r"\b\d+\.\d\ds\b"), "<seconds>"),
    (re.compile(r"\b0x[0-9a-f]{6,}\b"), "<address>"),
    (re.compile(r"\btmp[a-z0-9_]{8}\b"), "<tmp>"),
    (re.compile(r"\bpid[= ]\d+"), "<pid>"),
    (re.compile(r"(<duration>) \*+"), r"\1"),
)
VARYING = frozenset(("pid", "created", "modified", "start", "end", "duration", "delta"))
# How a side is told that it is one.
OWN = frozenset(("PREFORK", "PREFORK_TEST"))


class Normaliser:
    """Of one run: the same uuid has the same name wherever it appears."""

    def __init__(self, root: Path) -> None:
        self.root = str(root)
        self.uuids: dict[str, str] = {}

    def text(self, text: str) -> str:
        text = text.replace(self.root, "<root>")
        text = UUID.sub(self._name_uuid, text)
        for pattern, replacement in PATTERNS:
            text = pattern.sub(replacement, text)
        return text

    def _name_uuid(self, match: re.Match[str]) -> str:
        return self.uuids.setdefault(match[0], f"<uuid {len(self.uuids)}>")

    def value(self, value: Any) -> Any:
        """The same for what was read from JSON."""
        if isinstance(value, dict):
            return {
                self.text(name): "<varying>" if _is_varying(name, item) else self.value(item)
                for name, item in value.items()
                if name not in OWN
            }
        if isinstance(value, list):
            return [self.value(item) for item in value]
        return self.text(value) if isinstance(value, str) else value

    def content(self, text: str) -> str:
        """The same for the content of a file, which may be JSON."""
        if text.startswith("{"):
            try:
                return json.dumps(self.value(json.loads(text)), indent=1)
            except ValueError:
                pass
        return self.text(text)


def _is_varying(name: str, value: Any) -> bool:
    return name in VARYING and bool(value) and not isinstance(value, (dict, list))


def describe(value: Any) -> list[str]:
    """As lines, for a comparison that shows what differs."""
    text = value if isinstance(value, str) else json.dumps(value, indent=1, default=str)
    return text.splitlines()


def order_hosts(items: list[Any], host: Callable[[Any], str], task: Callable[[Any], str]) -> list:
    """Events of several hosts come as the hosts finish: within a task, order them by host."""
    ordered: list[Any] = []
    for item in items:
        at = len(ordered)
        while at and task(ordered[at - 1]) == task(item) and host(ordered[at - 1]) > host(item):
            at -= 1
        ordered.insert(at, item)
    return ordered
