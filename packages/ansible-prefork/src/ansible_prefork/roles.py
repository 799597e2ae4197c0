# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Runs of a role: track the files that ansible-runner creates for such a run and removes at its end.

It writes a playbook into the project, or creates a project for it. If the process ends in the middle of the play,
``inprocess.finish`` removes them.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from typing import Any

_created: list[str] = []


def install() -> None:
    """Record the path that this process creates for the run of a role."""
    from ansible_runner import __main__ as module

    stock = module.role_manager

    @contextlib.contextmanager
    def role_manager(given: Any) -> Iterator[Any]:
        project = given.get("project_dir") or os.path.join(given["private_data_dir"], "project")
        has_project = os.path.exists(project)
        with stock(given) as changed:
            if given.get("role"):
                _created[:] = [changed.get("playbook") if has_project else project]
            yield changed

    module.role_manager = role_manager


def created() -> str:
    """The path that was created for this run; empty for a run without a role."""
    return _created[0] if _created else ""


def remove(path: str) -> None:
    """Remove a created path as ansible-runner does."""
    if os.path.isdir(path):
        shutil.rmtree(path, ignore_errors=True)
    elif path:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
