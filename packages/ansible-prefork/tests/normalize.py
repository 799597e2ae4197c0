# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Make two runs comparable: remove random data, times, process ids and the directory of the side."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?![0-9a-f])")
PATTERNS = (
    # The interpreter has several names; the first line of a program has one of them.
    (re.compile(re.escape(str(Path(sys.executable).parent)) + r"/python[\d.]*"), "<python>"),
    (re.compile(r"(^|(?<=[\"'/]))\.[a-z0-9_]{8}\b"), ".<tmp>"),
    (re.compile(r"ansible-tmp-[\d.]+-\d+-\d+"), "<ansible-tmp>"),
    (re.compile(r"ansible-local-\w+"), "<ansible-local>"),
    (re.compile(r"\bj?\d{9,}\.\d+\b"), "<job>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d([.,]\d+)?(Z|[+-]\d\d:?\d\d)?"), "<time>"),
    (re.compile(r"\b\w+day \d\d \w+ \d{4}  \d\d:\d\d:\d\d [+-]\d{4}"), "<time>"),
    (re.compile(r"\b\d+:\d\d:\d\d([.:]\d+)?"), "<duration>"),
    (re.compile(r"\b\d+\.\d\d?( seconds|s\b)"), "<seconds>"),
    (re.compile(r"\b0x[0-9a-f]{6,}\b"), "<address>"),
    (re.compile(r"\btmp[a-z0-9_]{8}\b"), "<tmp>"),
    (re.compile(r"\bpymp-[a-z0-9_]{8}\b"), "<tmp>"),
    (re.compile(r"(_payload_|ansible-moduletmp-<job>-)[a-z0-9_]{8}"), r"\1<tmp>"),
    (re.compile(r"\b(p|pid)[= ]\d+"), "<pid>"),
    (re.compile(r"\d+ days, \d+ hours, \d+ minutes, \d+ seconds"), "<duration>"),
    (re.compile(r"(<duration>) \*+"), r"\1"),
    (re.compile(r"\bpipe:\[\d+\]"), "<pipe>"),
    (re.compile(r"/proc/\d+/"), "/proc/<pid>/"),
    # The playbook that ansible-runner makes for a role.
    (re.compile(r"\bproject/[0-9a-f]{32}\b"), "project/<role>"),
    # Before ansible-core 2.19, a time-out shows the interrupted frame, which differs.
    (re.compile(r"Interrupted at <frame at .*? called from <frame at .*?, code \w+>"), "<frame>"),
    # Printed once, by the run that starts the parent.
    (re.compile(r"^prefork: no parent for \S+ runs yet: starting one\r?\n", re.MULTILINE), ""),
    (re.compile(r"^prefork: Ansible does not run in this .*: running stock\r?\n", re.MULTILINE), ""),
)
VARYING = frozenset(
    ("pid", "created", "modified", "start", "end", "duration", "delta", "atime", "ctime", "mtime", "inode")
)
# ansible-runner writes output between two events to stdout in whole or in part, depending on how its reads cut it.
MESSAGES = frozenset(("verbose", "warning", "deprecated", "error", "debug", "system_warning"))
COUNTERS = frozenset(("counter", "start_line", "end_line"))
# Variables that differ between the sides.
OWN = frozenset(("PREFORK", "PREFORK_TEST", "PREFORK_ONE_PROCESS", "PREFORK_EVENT_FILES"))


class Normalizer:
    """Normalizes one run: the same uuid has the same name wherever it appears."""

    def __init__(self, root: Path) -> None:
        # Ansible breaks long lines anywhere.
        self.root = re.compile(r"(?:\r?\n)?".join(map(re.escape, str(root))))
        self.uuids: dict[str, str] = {}

    def text(self, text: str) -> str:
        text = self.root.sub("<root>", text)
        text = UUID.sub(self._name_uuid, text)
        text = re.sub(r"<root>/t/\d+", "<root>/t", text)
        for pattern, replacement in PATTERNS:
            text = pattern.sub(replacement, text)
        return text

    def _name_uuid(self, match: re.Match[str]) -> str:
        return self.uuids.setdefault(match[0], f"<uuid {len(self.uuids)}>")

    def value(self, value: Any) -> Any:
        """Normalize a value that was read from JSON."""
        if isinstance(value, dict):
            return {
                self.text(name): "<varying>" if _is_varying(name, item) else self.value(item)
                for name, item in value.items()
                if name not in OWN
            }
        if isinstance(value, list):
            return [self.value(item) for item in value]
        return self.content(value) if isinstance(value, str) else value

    def content(self, text: str) -> str:
        """Normalize the content of a file, which may be JSON."""
        if text.startswith("{"):
            try:
                return json.dumps(self.value(json.loads(text)), indent=1, sort_keys=True)
            except ValueError:
                pass
        return self.text(text)


def _is_varying(name: str, value: Any) -> bool:
    return name in VARYING and bool(value) and not isinstance(value, (dict, list))


def without_messages(stdout: str, events: list[Any]) -> str:
    """The output of ansible-runner without the lines of messages, which the comparison of events has covered."""
    lines = {line.strip() for event in events if event["event"] in MESSAGES for line in event["stdout"].splitlines()}
    kept = (line.strip() for line in stdout.splitlines())
    return "\n".join(line for line in kept if line and line not in lines)


def describe(value: Any) -> list[str]:
    """Format a value as lines, for a diff."""
    text = value if isinstance(value, str) else json.dumps(value, indent=1, default=str, sort_keys=True)
    return [line.encode("unicode_escape").decode() if "\r" in line else line for line in text.split("\n")]


def without_order(value: Any) -> list[str]:
    """The lines or events of a run, sorted, without counters and uuids, as hosts end a task in any order."""
    if isinstance(value, str):
        return sorted(value.splitlines())
    texts = (re.sub(r"<uuid \d+>", "<uuid>", json.dumps(_uncount(item))) for item in value)
    # The head of a task stands before whichever host comes first.
    return sorted(re.sub(r"(\\r\\n)*TASK \[[^]]*\] \*+(\\r\\n)*", "", text) for text in texts)


def _uncount(item: Any) -> Any:
    if isinstance(item, dict):
        return {name: _uncount(item[name]) for name in sorted(item) if name not in COUNTERS}
    return item
