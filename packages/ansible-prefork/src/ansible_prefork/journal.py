# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Notes of a run for the case that its process ends in the middle of its play.

ansible-runner must complete a run, however the play ends. If both are one process, the parent starts another fork,
which reads the notes and completes the run. The notes are in anonymous memory, which the parent keeps open and does not
read.
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
    """The data needed to complete a run of ansible-runner."""

    artifact_dir: str
    ident: str
    settings: dict[str, Any]
    # The path to remove: see ``roles``.
    created: str = ""


class Journal:
    """The journal of one run: created by the parent, written by the run, read by the process that completes it."""

    def __init__(self, descriptor: int = -1) -> None:
        self.descriptor = descriptor
        self._memory: mmap.mmap | None = None

    @classmethod
    def make(cls) -> Journal:
        descriptor = os.memfd_create("prefork-run", os.MFD_CLOEXEC)
        os.ftruncate(descriptor, SIZE)
        return cls(descriptor)

    def open(self) -> None:
        """Map the memory. Called in the run, before it closes other descriptors."""
        self._memory = mmap.mmap(self.descriptor, SIZE)

    def begin(self, notes: Notes) -> bool:
        """Record that the play begins in this process; False if that is impossible, so it must not begin."""
        data = pickle.dumps(dataclasses.astuple(notes))
        if self._memory is None or len(data) > SIZE - HEAD:
            return False
        self._memory[HEAD : HEAD + len(data)] = data
        self._memory[:HEAD] = len(data).to_bytes(HEAD, "little")
        return True

    def end(self) -> None:
        """Record that the play ended, and that this process completes the run itself."""
        if self._memory is not None:
            self._memory[:HEAD] = bytes(HEAD)

    def is_open(self) -> bool:
        """Whether the play was running when its process ended."""
        return self.descriptor >= 0 and os.pread(self.descriptor, HEAD, 0) != bytes(HEAD)

    def read(self) -> Notes:
        size = int.from_bytes(os.pread(self.descriptor, HEAD, 0), "little")
        return Notes(*pickle.loads(os.pread(self.descriptor, size, HEAD)))

    def close(self) -> None:
        """Close the memory. Called in the parent."""
        os.close(self.descriptor)
        self.descriptor = -1
