# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Report what is warm, the number of runs, and what was not warm and why."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ansible_prefork import client, records

WARM, WARMING, GONE = "warm", "warming up", "gone"


def find_directories(chosen: str | None) -> list[Path]:
    """The chosen directory, or all of this user: that of this environment, and those of ``exec``."""
    if chosen:
        return [Path(chosen)]
    own = Path(os.fsdecode(client.parent_directory(dict(os.environb))))
    others = sorted(Path(tempfile.gettempdir()).glob("ansible-prefork-*"))
    return [path for path in dict.fromkeys((own, *others)) if client.is_private(os.fsencode(path))]


def describe(directory: Path) -> dict[str, Any]:
    """The parents and fallbacks of one directory."""
    facts = sorted((*directory.glob("*.json"), *directory.glob("*.d/*.json")))
    parents = [_describe_parent(path, found) for path in facts if (found := records.read(path))]
    return {
        "directory": str(directory),
        "parents": parents,
        "fallbacks": sorted(_read_fallbacks(directory), key=lambda item: (item["what"], -item["count"], item["why"])),
    }


def _describe_parent(path: Path, facts: dict[str, Any]) -> dict[str, Any]:
    base = path.with_suffix("")
    state = GONE if not _is_locked(Path(f"{base}.lock")) else WARM
    if state == WARM and client.is_warming(os.fsencode(base)):
        state = WARMING
    memory = _memory_mib(facts["pid"]) if state != GONE else None
    return {**facts, "state": state, "memory_mib": memory, "refuses": client.read_refusal(os.fsencode(base)) or None}


def _is_locked(path: Path) -> bool:
    """Whether a parent holds the lock."""
    try:
        with path.open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _memory_mib(pid: int) -> float | None:
    """The proportional set size of a process, which includes its share of shared memory."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return round(int(line.split()[1]) / 1024, 1)
    return None


def _read_fallbacks(directory: Path) -> Iterator[dict[str, Any]]:
    for path in directory.glob(f"*{client.FALLBACK.decode()}"):
        with contextlib.suppress(OSError):
            data = path.read_bytes()
            what, _tab, why = data.replace(b"\0", b"").decode(errors="replace").partition("\t")
            yield {"what": what, "why": why, "count": data.count(b"\0"), "last": path.stat().st_mtime}


def is_warm(found: list[dict[str, Any]]) -> bool:
    """Whether a parent of runs is warm."""
    parents = [parent for item in found for parent in item["parents"]]
    return any(parent["state"] == WARM and parent["program"] != "module" for parent in parents)


def show(found: list[dict[str, Any]]) -> Iterator[str]:
    """Format the status as lines of text."""
    for item in found:
        if not item["parents"] and not item["fallbacks"]:
            continue
        yield item["directory"]
        for parent in item["parents"]:
            memory = f", {parent['memory_mib']} MiB" if parent["memory_mib"] else ""
            since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(parent["since"]))
            yield (
                f"  {parent['program']} {parent['key']}: {parent['state']}, process {parent['pid']}{memory},"
                f" {_number(parent['runs'], 'run')}, since {since}"
            )
            if parent["waits"]:
                yield f"    runs waited {_number(parent['waits'], 'time')} for memory"
            if parent["refuses"]:
                yield f"    refuses runs: {parent['refuses']}"
            yield f"    {', '.join(f'{name} {version}' for name, version in parent['versions'].items())}"
            if parent["collections"]:
                yield f"    collections: {', '.join(parent['collections'])}"
        for fallback in item["fallbacks"]:
            yield f"  not warm, {_number(fallback['count'], 'time')}: a {fallback['what']}: {fallback['why']}"


def _number(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"
