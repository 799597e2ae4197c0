# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""One control plane in one directory: start, repair, inspect, stop."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

from . import (
    components,
    files,
    neighbors,
    ports,
    processes,
    seed,
    snapshots,
    state,
    thirdparty,
    tools,
)
from .api import Api
from .errors import SandboxError, SetupError
from .gocache import GoCache
from .locks import locked
from .neighbors.base import Place
from .settings import Settings
from .state import State

_API = ("etcd", "kube-apiserver")
_WAIT_SECONDS = 90.0
# An API server that runs but has not answered for this long is restarted.
_HANG_SECONDS = 15.0
# A killed process may hold its port for a moment after it has disappeared.
_PORT_SECONDS = 5.0


class Instance:
    """Commands on the instance that the settings name. `notify` gets progress, line by line.

    shape: of the control plane. addresses: of the API server, besides loopback. before_api,
    after_api: the components, in start order; the latter need the API server.
    """

    shape = components.SIMULATED
    addresses: tuple[str, ...] = ()
    before_api: tuple[str, ...] = _API
    after_api: tuple[str, ...] = tuple(name for name in components.NAMES if name not in _API)

    def __init__(self, settings: Settings, notify: Callable[[str], None]) -> None:
        self.settings = settings
        self.directory = settings.directory
        self.notify = notify
        self._state_file = self.directory / "state.json"

    def exists(self) -> bool:
        """Return whether the instance was started, even if its processes have died since."""
        return self._state_file.exists()

    def export_line(self) -> str:
        return files.export_line(self.directory)

    def up(self) -> None:
        """Build what is missing, start what is not running, wait until the cluster is usable."""
        cache = GoCache(self.settings.cache, self.notify)
        wanted = self._wanted_neighbors()
        programs = self._provide_programs(cache) | self._provide_neighbors(cache, wanted)
        definitions = thirdparty.provide_definitions(cache)
        definitions += neighbors.provide_definitions(cache, wanted)
        manifests = neighbors.provide_manifests(cache, wanted)
        files.make_folders(self.directory)
        with self._locked():
            self._prepare()
            current = self._start_with_objects(programs, definitions)
            api = self._api(current)
            self._start(current, self.after_api)
            self._finish_nodes(current, api)
            self._start_neighbors(current, api, manifests)
            self._wait(current, "the nodes", lambda: not seed.unready_nodes(api))
            self._wait(current, "the controllers", lambda: seed.has_default_account(api))
        self.notify(f"ready: https://127.0.0.1:{current.ports.api}, in {self.directory}")

    def down(self, keep_data: bool = False) -> None:
        """Stop the instance's processes and remove its data, if there are any."""
        if not self.exists():
            self.notify(f"no instance in {self.directory}")
            return
        with self._locked():
            current = state.load(self._state_file)
            alive = current.alive() if current else {}
            _stop(alive)
            left = current.alive() if current else {}
            if left:
                raise SandboxError(f"could not be stopped: {', '.join(left)}")
            if not keep_data:
                files.forget(self.directory)
        self.notify(f"stopped {', '.join(alive) or 'nothing'} in {self.directory}")

    def status(self) -> tuple[dict[str, str], bool]:
        """Return what to show by name, and whether the whole instance is up."""
        current = state.load(self._state_file)
        if current is None:
            return {"directory": str(self.directory), "instance": "none"}, False
        alive = current.alive()
        ready = "kube-apiserver" in alive and self._api(current).is_ready()
        shown = {
            "directory": str(self.directory),
            "kubeconfig": str(self.directory / "kubeconfig"),
            "server": f"https://127.0.0.1:{current.ports.api}, {'ready' if ready else 'not ready'}",
        }
        neighboring = neighbors.programs_of(current.neighbors)
        names = (*self.before_api, *self.after_api, *neighboring)
        for name in names:
            shown[name] = f"pid {alive[name].pid}" if name in alive else "not running"
        return shown, ready and len(alive) == len(names)

    def _prepare(self) -> None:
        """Prepare the start; called before any process is started."""

    def _provide_programs(self, cache: GoCache) -> dict[str, Path]:
        needed = tools.of_release(tools.TOOLS, self.settings.kubernetes)
        return tools.provide_programs(cache, self.settings.found, needed)

    def _wanted_neighbors(self) -> tuple[str, ...]:
        """Return those that the settings add to those that the instance runs."""
        current = state.load(self._state_file)
        present = current.neighbors if current else ()
        return tuple(it for it in ports.NEIGHBORS if it in {*self.settings.neighbors, *present})

    def _provide_neighbors(self, cache: GoCache, names: Iterable[str]) -> dict[str, Path]:
        needed = [tools.NEIGHBOR_TOOLS[name] for name in names]
        return tools.provide_programs(cache, self.settings.found, needed)

    def _command_lines(self, current: State) -> dict[str, list[str]]:
        lines = components.command_lines(self.directory, current.ports, self.shape)
        return lines | neighbors.command_lines(self.directory, current.ports, current.neighbors)

    def _environs(self, current: State) -> dict[str, dict[str, str]]:
        """Return the environments that differ, by component.

        Simulated pods have no network: the API server reaches them through model_server.py.
        """
        proxy = f"http://127.0.0.1:{current.ports.models}"
        return {"kube-apiserver": _quiet_environ() | {"HTTP_PROXY": proxy}} | {
            program: _quiet_environ() | variables
            for program, variables in neighbors.environs_of(current.neighbors).items()
        }

    def _locked(self) -> AbstractContextManager[None]:
        waiting = f"waiting for another command on {self.directory}"
        return locked(self.directory / ".lock", lambda: self.notify(waiting))

    def _start_api(self, programs: dict[str, Path]) -> State:
        """Start or check the API server; one instance at a time, so that ports do not collide."""
        ports_lock = self.settings.cache / ".ports.lock"
        with locked(ports_lock, lambda: self.notify("waiting for another instance to start")):
            current = self._load_or_create()
            self._write_files(current, programs)
            api = self._api(current)
            self._stop_hung(current, api)
            self._start(current, self.before_api)
            self._wait(current, "the API server", api.is_ready)
        return current

    def _start_with_objects(self, programs: dict[str, Path], definitions: list[Path]) -> State:
        """Start the API server with its initial objects, a new one from a snapshot of them."""
        data = self.directory / "etcd"
        if data.exists():
            current = self._start_api(programs)
            self._give_objects(current, definitions)
            return current
        snapshot = snapshots.Snapshot(self.settings.cache, self._key(programs, definitions))
        with snapshot.locked(lambda: self.notify("waiting for another instance to start")):
            is_restored = snapshot.restore(data)
            current = self._start_api(programs)
            is_complete = self._give_objects(current, definitions)
            if is_complete and not is_restored:
                _stop({name: current.processes[name] for name in _API})
                snapshot.take(data)
                current = self._start_api(programs)
        return current

    def _key(self, programs: dict[str, Path], definitions: list[Path]) -> str:
        given = (seed.third_party_crds(definitions), seed.own_crds(), self._objects())
        others = [self.shape.service_range, json.dumps(self._volumes()), *map(seed.digest, given)]
        return snapshots.make_key((programs[name] for name in _API), others)

    def _load_or_create(self) -> State:
        current, wanted = state.load(self._state_file), self.settings.port
        if current and wanted in (None, current.ports.api):
            current.processes = current.alive()  # dead processes are restarted, not waited for
            current.neighbors = self._wanted_neighbors()
            return current
        if current and current.alive():
            raise SetupError(
                f"the instance in {self.directory} has port {current.ports.api}, not {wanted}: "
                "stop it with `down` first, or set SANDBOX_DIR to another directory"
            )
        if current is None:
            files.remove_logs(self.directory)
        names = self._wanted_neighbors()
        current = State(ports.choose(wanted, neighbors=names), neighbors=names)
        state.save(current, self._state_file)
        return current

    def _write_files(self, current: State, programs: dict[str, Path]) -> None:
        files.link_programs(self.directory, programs)
        files.write_identity(self.directory, current.ports.api, self.addresses)
        said = files.write_pod_logs(self.directory, self.settings.manifest)
        if said:
            self.notify(f"pods' logs contain {said}")
        kubelet = tools.kubernetes_version(self.settings.kubernetes)
        is_metered = neighbors.are_metered(current.neighbors)
        if files.write_kwok_config(self.directory, kubelet, is_metered):
            processes.stop(it for name, it in current.alive().items() if name == "kwok")

    def _api(self, current: State) -> Api:
        ca = self.directory / "pki/ca.crt"
        return Api(current.ports.api, ca, files.read_token(self.directory))

    def _stop_hung(self, current: State, api: Api) -> None:
        alive = current.alive()
        if not alive.keys() >= set(_API):
            return
        deadline = time.monotonic() + _HANG_SECONDS
        while not api.is_ready():
            if time.monotonic() > deadline:
                self.notify("the API server runs but does not answer: restarting it")
                processes.stop(it for name, it in alive.items() if name in _API)
                return
            time.sleep(0.5)

    def _start(self, current: State, names: Iterable[str]) -> None:
        """Start the components that are not running."""
        alive = current.alive()
        missing = [name for name in names if name not in alive]
        if not missing:
            return
        self.notify(f"starting {', '.join(missing)}")
        lines, environs = self._command_lines(current), self._environs(current)
        quiet = _quiet_environ()
        for name in missing:
            needed = components.ports_of(name, current.ports)
            ports.require_free(needed, patience=_PORT_SECONDS)
            processes.spawn(
                lines[name],
                self.directory / "pod-logs",
                self._log(name),
                environs.get(name, quiet),
                partial(self._record, current, name),
            )

    def _record(self, current: State, name: str, process: processes.Process) -> None:
        current.processes[name] = process
        state.save(current, self._state_file)

    def _give_objects(self, current: State, definitions: list[Path]) -> bool:
        """Apply definitions and objects; return whether the API server accepts all."""
        api = self._api(current)
        self._give(api, "definitions", seed.third_party_crds(definitions))
        is_accepted = True
        try:
            self._give(api, "definitions-of-nimops", seed.own_crds())
        except SandboxError as error:  # a running cluster helps to find the cause
            self.notify(f"WARNING: definitions of this project were rejected: {str(error)[:2000]}")
            is_accepted = False
        self._wait(current, "resource definitions", lambda: not seed.unestablished_crds(api))
        seed.create_volumes(api, self._volumes())
        paths = self._objects()
        if self.settings.kubernetes:
            paths = self._served(api, paths)
        self._give(api, "objects", paths)
        return is_accepted

    def _objects(self) -> list[Path]:
        return seed.objects()

    def _volumes(self) -> list[dict[str, Any]]:
        return seed.make_volumes()

    def _finish_nodes(self, current: State, api: Api) -> None:
        """Change the nodes; called when the components run."""

    def _start_neighbors(
        self, current: State, api: Api, manifests: Mapping[str, list[Path]]
    ) -> None:
        """Start one after the other, and register each when it serves."""
        for name in current.neighbors:
            place = Place(name, self.directory, current.ports)
            neighbors.write_files(place)
            own = neighbors.objects_of(place)
            self._give(api, f"objects-of-{name}", [*own, *manifests.get(name, [])])
            programs = neighbors.programs_of([name])
            if not current.alive().keys() & set(programs):
                ports.require_free(current.ports.of_neighbor(name), patience=_PORT_SECONDS)
            self._start(current, programs)
            self._wait(current, name, partial(neighbors.serves, place))
            self._give(api, f"registrations-of-{name}", neighbors.registrations_of(place))

    def _served(self, api: Api, paths: list[Path]) -> list[Path]:
        """Return the files whose API versions this release of Kubernetes serves."""
        served = [path for path in paths if all(map(api.get, seed.api_paths(path)))]
        for path in paths:
            if path not in served:
                self.notify(f"skipping {path.name}: this Kubernetes does not serve its API version")
        return served

    def _give(self, api: Api, what: str, paths: list[Path]) -> None:
        """Apply the files, unless the same files have already been applied."""
        wanted = seed.digest(paths)
        if paths and seed.read_applied_digest(api, what) != wanted:
            self.notify(f"applying {what}: {len(paths)} files")
            seed.apply(self.directory / "bin/kubectl", self.directory / "kubeconfig", paths)
            seed.write_applied_digest(api, what, wanted)

    def _wait(self, current: State, what: str, done: Callable[[], bool]) -> None:
        """Wait until done; raise SandboxError with its last output if a component ends."""
        deadline = time.monotonic() + _WAIT_SECONDS
        while not done():
            ended = sorted(current.processes.keys() - current.alive().keys())
            if ended:
                raise SandboxError(f"{ended[0]} ended:\n{_read_tail(self._log(ended[0]))}")
            if time.monotonic() > deadline:
                raise SandboxError(
                    f"{what}: not ready after {_WAIT_SECONDS:.0f} s, see {self.directory / 'logs'}"
                )
            time.sleep(0.1)

    def _log(self, name: str) -> Path:
        return self.directory / "logs" / f"{name}.log"


def _stop(alive: Mapping[str, processes.Process]) -> None:
    """Stop components, etcd last: an API server without it hangs until it is killed."""
    processes.stop(process for name, process in alive.items() if name != "etcd")
    processes.stop(process for name, process in alive.items() if name == "etcd")


def _quiet_environ() -> dict[str, str]:
    """Return our environment without proxies: the components only talk to each other."""
    return {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}


def _read_tail(log: Path, lines: int = 15) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
