# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import posix
import sys


def end(how: str) -> str:
    if how == "interrupt":
        raise KeyboardInterrupt
    if how == "generator":
        raise GeneratorExit
    if how.startswith("os-exit-"):
        os._exit(int(how.removeprefix("os-exit-")))
    if how.startswith("for-good"):
        posix._exit(int(how.removeprefix("for-good") or "0"))
    if how.startswith("kill-"):
        os.kill(os.getpid(), int(how.removeprefix("kill-")))
    if how == "noted":
        # This is a worker.
        with open(f"/proc/{os.getppid()}/stat") as play, open("parent", "w") as file:
            file.write(play.read().rpartition(")")[2].split()[1])
        return how
    word = how.removeprefix("exit-")
    sys.exit(None if word == "none" else int(word) if word.isdigit() else word)


class FilterModule:
    def filters(self):
        return {"own_end": end}
