# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""A control plane with a real node: the differences to one with simulated nodes only."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import socket
import subprocess
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from .. import components, files, seed, tools
from ..api import Api
from ..errors import SandboxError, SetupError
from ..gocache import GoCache
from ..instance import Instance
from ..settings import Settings
from ..state import State
from . import cgroup, config, host, images, network
from . import components as node
from .config import Config
from .namespaces import Namespaces

_NODE = f"/api/v1/nodes/{config.NAME}"
_TAINT = "sandbox.nimops/simulated=:NoSchedule"
# Capacity that the kubelet does not report: there are no GPUs, and storage is not measured.
_RESOURCES = {"nvidia.com/gpu": "8", "ephemeral-storage": "100Gi"}


class NodeInstance(Instance):
    """Commands on the node of a sandbox, in a directory beside it and a network of its own."""

    shape = node.REAL
    addresses = (network.ADDRESS, network.API_SERVICE)
    before_api = ("containerd", *Instance.before_api)
    after_api = (*Instance.after_api, *(name for name in node.NAMES if name != "containerd"))

    def __init__(self, settings: Settings, notify: Callable[[str], None]) -> None:
        super().__init__(of_node(settings), notify)
        self._folder = self.directory / "node"
        self._namespaces = Namespaces(self._folder)
        self._group = cgroup.find(name_of(self.directory))
        self._pause = Path()

    def export_line(self) -> str:
        command = f"nsenter --net={self._namespaces.network} --"
        return f"{super().export_line()} NIMOPS_NODE_EXEC={shlex.quote(command)}"

    def up(self) -> None:
        host.require(host.missing(), os.geteuid())
        super().up()

    def remove(self) -> None:
        """Kill all processes of the node, and remove everything except logs.

        Works in any state: objects are found by name, not from a saved state.
        """
        with self._locked() if self.directory.exists() else nullcontext():
            self._clear()
            files.forget(self.directory)
        self.notify(f"removed the node in {self.directory}, except for logs")

    def status(self) -> tuple[dict[str, str], bool]:
        if self._namespaces.exist():
            self._namespaces.enter()
        return super().status()

    def load(self, archive: Path) -> None:
        """Load the images of an archive into the node."""
        enter = ["nsenter", f"--mount={self._namespaces.mounts}", "--"]
        for line in images.load(archive, enter).splitlines():
            self.notify(line)

    def _provide_programs(self, cache: GoCache) -> dict[str, Path]:
        if self.settings.kubernetes:
            raise SetupError(
                f"SANDBOX_KUBERNETES={self.settings.kubernetes}: a real node only runs the default"
                " release: unset it"
            )
        if self.settings.neighbors:
            raise SetupError("SANDBOX_WITH: a real node runs without neighbors: unset it")
        programs = tools.provide_programs(cache, self.settings.found, tools.NODE)
        self._pause = images.provide_pause(cache, programs["pause"])
        return programs

    def _prepare(self) -> None:
        """Enter the node's cgroup and namespaces, after removing leftovers of an earlier node."""
        if not (self._namespaces.exist() and self._group.pids()):
            self._clear()
            self._folder.mkdir(exist_ok=True)
            self._group.create()
            self._namespaces.create()
        self._group.join()
        self._namespaces.enter()

    def _clear(self) -> None:
        self._group.kill()
        self._namespaces.remove()
        self._group.remove()

    def _command_lines(self, current: State) -> dict[str, list[str]]:
        lines = components.command_lines(self.directory, current.ports, self.shape)
        return {**lines, **node.command_lines(self.directory)}

    def _environs(self, _current: State) -> dict[str, dict[str, str]]:
        return {}  # pods of the node have a network

    def _write_files(self, current: State, programs: dict[str, Path]) -> None:
        super()._write_files(current, programs)
        Config(self.directory, self._group.name, host.plugins()).write()

    def _start_api(self, programs: dict[str, Path]) -> State:
        current = super()._start_api(programs)
        self._wait(current, "containerd", _is_listening)
        images.load(self._pause)
        return current

    def _objects(self) -> list[Path]:
        return seed.objects_with_node()

    def _volumes(self) -> list[dict[str, Any]]:
        return []

    def _finish_nodes(self, current: State, api: Api) -> None:
        self._kubectl("taint", "nodes", f"--selector={node.SIMULATED_NODES}", "--overwrite", _TAINT)
        self._wait(current, "the node", lambda: api.get(_NODE) is not None)
        status = json.dumps({"status": {"capacity": _RESOURCES, "allocatable": _RESOURCES}})
        self._kubectl("patch", "node", config.NAME, "--subresource=status", f"--patch={status}")

    def _kubectl(self, *arguments: str) -> None:
        kubectl = [str(self.directory / "bin/kubectl"), f"--kubeconfig={self.directory}/kubeconfig"]
        command = [*kubectl, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SandboxError(f"kubectl {' '.join(arguments[:2])} failed:\n{done.stderr.strip()}")


def of_node(settings: Settings) -> Settings:
    """Return the settings of the node beside a sandbox."""
    directory = settings.directory.with_name(f"{settings.directory.name}-node")
    return replace(settings, directory=directory, port=None)


def name_of(directory: Path) -> str:
    """Return the name of the node's control group, which is unique per directory."""
    return f"nimops-{hashlib.sha256(str(directory).encode()).hexdigest()[:8]}"


def _is_listening() -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(config.SOCKET)) == 0
