# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""On PYTHONPATH, this replaces both programs of the package by one that needs no Ansible.

It is warm at once, and its run executes the Python code in the first argument, like the fake stock program.
PREFORK_FAKE_WATCH names a file to watch, whose text at the warm-up is in ``program.text``; PREFORK_FAKE_WARM is code that
the warm-up executes.
"""

from __future__ import annotations

import os
import sys
import types
from pathlib import Path


class FakeProgram:
    reports_end = False
    finisher = None

    def __init__(self) -> None:
        self.text = ""

    def warm(self, directory: Path) -> list[Path]:
        exec(os.environ.get("PREFORK_FAKE_WARM", ""), {"program": self, "directory": directory})
        watched = os.environ.get("PREFORK_FAKE_WATCH")
        if not watched:
            return []
        self.text = Path(watched).read_text()
        return [Path(watched)]

    def run(self, wanted: object) -> int:
        names = {"__name__": "__main__", "program": self, "wanted": wanted}
        exec(compile(sys.argv[1], "<run>", "exec"), names)
        return 0

    def close(self) -> None:
        pass

    def on_child_exit(self, pid: int) -> None:
        pass


class FakePlaybook(FakeProgram):
    name = "ansible-playbook"


class FakeRunner(FakeProgram):
    name = "ansible-runner"


def _stand_in(name: str, attribute: str, program: type) -> None:
    module = types.ModuleType(name)
    setattr(module, attribute, program)
    sys.modules[name] = module


_stand_in("ansible_prefork.play", "PlaybookProgram", FakePlaybook)
_stand_in("ansible_prefork.runner", "RunnerProgram", FakeRunner)
