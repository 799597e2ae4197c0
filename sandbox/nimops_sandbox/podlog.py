# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The logs of simulated pods: a text in the log format of a container runtime."""

from __future__ import annotations

from pathlib import Path

# A fixed time: the same text results in the same file.
_STAMP = "2026-01-01T00:00:00.000000000Z stdout F "


def to_log(text: str) -> str:
    """Return the text in the log format of the Container Runtime Interface."""
    return "".join(f"{_STAMP}{line}\n" for line in text.splitlines())


def write_log(text: str, path: Path) -> bool:
    """Write the log of `text` to `path` atomically, as it may be read meanwhile.

    Returns whether it changed.
    """
    log = to_log(text).encode()
    if path.is_file() and path.read_bytes() == log:
        return False
    new = path.with_name(f".{path.name}.new")
    new.write_bytes(log)
    new.replace(path)
    return True
