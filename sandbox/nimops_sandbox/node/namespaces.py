# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The namespaces of a node: an isolated network, and mounts that only the node sees."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ..errors import UnsupportedError
from . import mounts, network

_libc = ctypes.CDLL(None, use_errno=True)
# Hard-coded folders of programs, and the folders mounted there instead.
_FOLDERS = {
    "/etc/containerd": "etc-containerd",
    "/etc/kubernetes": "etc-kubernetes",
    "/run": "run",
    "/usr/local/nvidia": "nvidia",
    "/var/lib/cni": "cni",
    "/var/lib/kubelet": "kubelet",
    "/var/log/containers": "container-logs",
    "/var/log/pods": "pod-logs",
}
_MARK = ".made-by-nimops-sandbox"
# The arguments are pairs of folder and mount point. The runtime creates missing mount sources of
# pods, also in /dev. Mounts that a pod makes on the node propagate to other pods, not to the host.
_SETUP = """
set -e
while [ $# -gt 0 ]; do mount --bind "$1" "$2"; shift 2; done
mkdir /run/dev
mount --rbind /dev /run/dev
mount -t tmpfs -o mode=755 dev /dev
cp --archive --one-file-system /run/dev/. /dev
rm -f /dev/log
for name in pts shm; do mount --rbind "/run/dev/$name" "/dev/$name"; done
umount --recursive /run/dev
rmdir /run/dev
mount --make-rshared /
"""


@dataclass(frozen=True)
class Namespaces:
    """The namespaces exist as long as their files, even without processes in them."""

    folder: Path

    @property
    def network(self) -> Path:
        return self._files / "network"

    @property
    def mounts(self) -> Path:
        return self._files / "mounts"

    def exist(self) -> bool:
        """Return whether they are complete, and the machine has not been restarted since."""
        return self._ready.exists() and mounts.count(self.mounts) > 0

    def create(self) -> None:
        """Raise UnsupportedError if this machine, or the container around us, forbids it."""
        self._files.mkdir(parents=True)
        # The file of a mount namespace must be on a mount without propagation.
        _run("mount", "--bind", str(self._files), str(self._files))
        _run("mount", "--make-private", str(self._files))
        for path in (self.network, self.mounts):
            path.touch()
        unshare = ["unshare", f"--net={self.network}", f"--mount={self.mounts}"]
        script = _SETUP + "\n".join(f"ip {command}" for command in network.SETUP)
        _run(*unshare, "--propagation=private", "sh", "-c", script, "sh", *self._make_folders())
        self._ready.touch()

    def enter(self) -> None:
        """Move this process, and thus its future children, into both namespaces."""
        for path in (self.network, self.mounts):
            with path.open() as file:
                if _libc.setns(file.fileno(), 0):
                    number = ctypes.get_errno()
                    raise OSError(number, f"entering {path}: {os.strerror(number)}")

    def remove(self) -> None:
        """Remove the existing ones. Their processes must have ended."""
        for path in (self.network, self.mounts, self._files):
            for _ in range(mounts.count(path)):
                _run("umount", str(path))
        shutil.rmtree(self._files, ignore_errors=True)
        _remove_points()

    def _make_folders(self) -> list[str]:
        """Create folders and mount points; return pairs of them."""
        shutil.rmtree(self.folder / "run", ignore_errors=True)  # from before a restart
        pairs = []
        for point, name in _FOLDERS.items():
            folder = self.folder / name
            folder.mkdir(exist_ok=True)
            _make_point(Path(point))
            pairs += [str(folder), point]
        return pairs

    @property
    def _files(self) -> Path:
        return self.folder / "namespaces"

    @property
    def _ready(self) -> Path:
        return self._files / "ready"


def _make_point(point: Path) -> None:
    """Create and mark a mount point if the machine lacks it; nodes may share it."""
    if not point.exists():
        point.mkdir()
        (point / _MARK).touch()


def _remove_points() -> None:
    """Remove mount points that nodes created and none uses (a used one would lose its mount)."""
    used = mounts.of_all_processes()
    for point in (Path(point) for point in _FOLDERS):
        if (point / _MARK).exists() and point not in used:
            (point / _MARK).unlink()
            try:
                point.rmdir()
            except OSError:  # in use again by now
                continue


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UnsupportedError(
            "a real node needs permission to create networks and mounts, which root lacks in some "
            f"containers: {' '.join(command[:4])}: {done.stderr.strip()}"
        )
