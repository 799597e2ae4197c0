# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""What a run notes down for the case that its process ends in the middle of its play.

ansible-runner must end properly, however its play ends. If both are one process, the parent starts another fork, which
reads the notes and does what ansible-runner would still have done. The notes are in memory without a name, which the
parent keeps open and does not read.
"""

from __future__ import annotations

import dataclasses
import mmap
import os
import pickle
from typing import Any

SIZE = 64 * 1024
HEAD = 8


@dataclasses.dataclass(frozen=True)
class Notes:
    """What it takes to end a run of ansible-runner."""

    artifact_dir: str
    ident: str
    settings: dict[str, Any]
    # What to remove, see ``roles``.
    made: str = ""


class Journal:
    """Of one run: made by the parent, opened by the run, read by whoever ends the run."""

    def __init__(self, descriptor: int = -1) -> None:
        self.descriptor = descriptor
        self._memory: mmap.mmap | None = None

    @classmethod
    def make(cls) -> Journal:
        descriptor = os.memfd_create("prefork-run", os.MFD_CLOEXEC)
        os.ftruncate(descriptor, SIZE)
        return cls(descriptor)

    def open(self) -> None:
        """In the run, before it closes descriptors that are not its own."""
        self._memory = mmap.mmap(self.descriptor, SIZE)

    def begin(self, notes: Notes) -> bool:
        """The play begins in this process; False if it cannot be noted, so that it must not."""
        data = pickle.dumps(dataclasses.astuple(notes))
        if self._memory is None or len(data) > SIZE - HEAD:
            return False
        self._memory[HEAD : HEAD + len(data)] = data
        self._memory[:HEAD] = len(data).to_bytes(HEAD, "little")
        return True

    def end(self) -> None:
        """The play has ended, and this process ends the run itself."""
        if self._memory is not None:
            self._memory[:HEAD] = bytes(HEAD)

    def is_open(self) -> bool:
        """Whether the play was going on when its process ended."""
        return self.descriptor >= 0 and os.pread(self.descriptor, HEAD, 0) != bytes(HEAD)

    def read(self) -> Notes:
        size = int.from_bytes(os.pread(self.descriptor, HEAD, 0), "little")
        return Notes(*pickle.loads(os.pread(self.descriptor, size, HEAD)))

    def close(self) -> None:
        """In the parent."""
        os.close(self.descriptor)
        self.descriptor = -1
