# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The state of an instance between commands: its ports and processes."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from .errors import SandboxError
from .ports import Ports
from .processes import Process, is_alive


@dataclass
class State:
    """ports: of a started instance. processes: by component, including those that have died.

    neighbors: the controllers of other projects that it runs.
    """

    ports: Ports
    processes: dict[str, Process] = field(default_factory=dict)
    neighbors: tuple[str, ...] = ()

    def alive(self) -> dict[str, Process]:
        return {name: it for name, it in self.processes.items() if is_alive(it)}


def load(path: Path) -> State | None:
    """Return the saved state; None if there is none."""
    try:
        text = path.read_text()
    except FileNotFoundError:
        return None
    try:
        data = json.loads(text)
        processes = {name: Process(**entry) for name, entry in data["processes"].items()}
        return State(Ports(data["port"]), processes, tuple(data.get("neighbors", ())))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SandboxError(f"{path} cannot be read: {error}") from None


def save(state: State, path: Path) -> None:
    """Write atomically: an interrupted command leaves the old state or the new one."""
    data = {
        "port": state.ports.api,
        "processes": {name: asdict(it) for name, it in state.processes.items()},
        "neighbors": state.neighbors,
    }
    new = path.with_name(f".{path.name}.new")
    new.write_text(json.dumps(data, indent=1) + "\n")
    new.replace(path)
