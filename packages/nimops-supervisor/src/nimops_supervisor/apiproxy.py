# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Start and stop nimops-apiproxy, the proxy between the runtime and the API server."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

from nimops_supervisor import processes

PROGRAM = "nimops-apiproxy"
SWITCH = "NIMOPS_API_PROXY"
START_SECONDS = 30.0
_OFF = {"off", "0", "no", "false"}


class ApiProxy:
    """A running proxy. It stops when its standard input closes, so also if the supervisor is killed."""

    def __init__(self, watches: str, options: list[str], scratch: Path, environment: dict[str, str]) -> None:
        """Start it with further options; OSError if that fails."""
        self.kubeconfig = scratch / "kubeconfig"
        """The kubeconfig that appears when the proxy is ready."""
        words = [PROGRAM, f"--watches-file={watches}", f"--kubeconfig-out={self.kubeconfig}", *options]
        reading, self._pipe = os.pipe()
        try:
            self.pid = processes.start(words, environment, stdin=reading)
        except OSError:
            self.stop()
            raise
        finally:
            os.close(reading)

    def stop(self) -> None:
        """Make it stop; does nothing if it is stopped."""
        with contextlib.suppress(OSError):
            os.close(self._pipe)


def is_wanted(environment: dict[str, str]) -> bool:
    """Whether the proxy is installed and not turned off."""
    is_on = environment.get(SWITCH, "").lower() not in _OFF
    return is_on and shutil.which(PROGRAM, path=environment.get("PATH")) is not None
