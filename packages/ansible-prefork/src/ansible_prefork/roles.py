# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Runs of a role: what ansible-runner makes for such a run and removes at its end.

It writes a playbook into the project, or makes a project for it. If the process ends in the middle of the play,
``inprocess.finish`` removes it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from typing import Any

_made: list[str] = []


def install() -> None:
    """Note down what this process makes for the run of a role."""
    from ansible_runner import __main__ as module

    stock = module.role_manager

    @contextlib.contextmanager
    def role_manager(given: Any) -> Iterator[Any]:
        project = given.get("project_dir") or os.path.join(given["private_data_dir"], "project")
        has_project = os.path.exists(project)
        with stock(given) as changed:
            if given.get("role"):
                _made[:] = [changed.get("playbook") if has_project else project]
            yield changed

    module.role_manager = role_manager


def made() -> str:
    """The path of what was made for this run; empty for a run without a role."""
    return _made[0] if _made else ""


def remove(path: str) -> None:
    """Remove it, as ansible-runner does."""
    if os.path.isdir(path):
        shutil.rmtree(path, ignore_errors=True)
    elif path:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
