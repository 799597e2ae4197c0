# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Leftovers in an operator's /tmp after all resources are gone."""

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
    """Files and empty folders in work folders of runs."""
    return [path for path in list_paths(folder) if WORK.match(path)]


def judge_paths(paths: t.Iterable[str], mounted: t.Iterable[Path] = ()) -> list[str]:
    """Problems: work folders of runs by resource, other files by the beginning of their path.

    ``mounted``: folders of the machine's /tmp that were mounted below it, such as a checkout. Their
    empty mount points are not a problem.
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
