# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What is left in an operator's /tmp after all resources are gone; pure but for the walk."""

from __future__ import annotations

import os
import re
import typing as t
from pathlib import Path

from .children import describe

WORK = re.compile(r"ansible-operator/runner/[^/]+/[^/]+/(?P<kind>[^/]+)/(?P<name>[^/]+/[^/]+)(/|$)")
# Caches that are as large as a cluster has kinds, not as many as it has resources.
KEPT = re.compile(r"ansible-home/(galaxy_cache|galaxy_token|roles|collections)")


def list_paths(folder: Path) -> list[str]:
    """All files, sockets and links, and the folders that hold nothing; relative."""
    found = []
    for parent, folders, files in os.walk(folder):
        names = [*files, *([] if files or folders else [""])]
        found += [os.path.relpath(os.path.join(parent, name), folder) for name in names]
    return sorted(path for path in found if path != ".")


def judge_paths(paths: t.Iterable[str]) -> list[str]:
    """Work folders of runs by resource, other files by their beginning, which tells what they are."""
    folders: set[str] = set()
    others: set[str] = set()
    for path in paths:
        if found := WORK.match(path):
            folders.add(f"{found['kind']}/{found['name']}")
        elif not KEPT.match(path) and not path.startswith("ansible-operator/runner"):
            others.add("/".join(path.split("/")[:3]))
    return [
        *describe(f"{len(folders)} work folders", folders, most=2),
        *describe(f"{len(others)} temporary files", others),
    ]
