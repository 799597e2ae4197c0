# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What is left in an operator's /tmp after all resources are gone."""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

from nimops_harness.files import list_paths

from .children import describe

WORK = re.compile(r"ansible-operator/runner/[^/]+/[^/]+/(?P<kind>[^/]+)/(?P<name>[^/]+/[^/]+)/")
# Folders that every operator makes once.
KEPT = re.compile(r"(ansible-operator/(runner(/[^/]+){0,4}/)?|\.ansible/tmp/)")


def list_work(folder: Path) -> list[str]:
    """The same of work folders alone."""
    return [path for path in list_paths(folder) if WORK.match(path)]


def judge_paths(paths: t.Iterable[str], mounted: t.Iterable[Path] = ()) -> list[str]:
    """Work folders of runs by resource, other files by their beginning, which tells what they are.

    ``mounted``: folders of the machine's /tmp that were mounted below it, such as a checkout. Their
    mount points stay behind, empty.
    """
    mount_points = {f"{path.name}/" for path in mounted}
    folders: set[str] = set()
    others: set[str] = set()
    for path in paths:
        if found := WORK.match(path):
            folders.add(f"{found['kind']}/{found['name']}")
        elif path and path not in mount_points and not KEPT.fullmatch(path):
            others.add("/".join(path.rstrip("/").split("/")[:3]))
    return [
        *describe(f"{len(folders)} work folders", folders, most=2),
        *describe(f"{len(others)} temporary files", others),
    ]
