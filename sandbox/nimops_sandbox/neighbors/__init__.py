# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Neighbors: controllers of other projects that an instance runs if SANDBOX_WITH names them."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .. import thirdparty
from ..gocache import GoCache
from ..ports import Ports
from ..settings import SANDBOX
from .base import Neighbor, Place, api_registrations, webhook_configurations
from .epp import EPP
from .gateway import GATEWAY
from .keda import KEDA
from .knative import KNATIVE
from .kserve import KSERVE
from .lws import LWS
from .metrics import METRICS
from .prometheus import PROMETHEUS

# In the order of NEIGHBORS, in which they start.
_TABLE: tuple[Neighbor, ...] = (LWS, EPP, PROMETHEUS, KSERVE, METRICS, GATEWAY, KEDA, KNATIVE)
BY_NAME = {neighbor.name: neighbor for neighbor in _TABLE}


def programs_of(names: Iterable[str]) -> tuple[str, ...]:
    """Return the neighbors' programs, which are named after their projects."""
    return tuple(program for name in names for program in BY_NAME[name].programs)


def are_metered(names: Iterable[str]) -> bool:
    """Return whether one of the neighbors reads the metrics of simulated pods."""
    return any(BY_NAME[name].is_metering for name in names)


def command_lines(directory: Path, ports: Ports, names: Iterable[str]) -> dict[str, list[str]]:
    """Return command and arguments of each program, by program."""
    return {
        program: [
            *_runner_of(name),
            str(directory / "bin" / program),
            *arguments(Place(name, directory, ports)),
        ]
        for name in names
        for program, arguments in BY_NAME[name].programs.items()
    }


def _runner_of(name: str) -> list[str]:
    runner = BY_NAME[name].runner
    return [sys.executable, str(SANDBOX / runner)] if runner else []


def environs_of(names: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return the variables of the programs' environments, by program."""
    return {
        program: variables
        for name in names
        for program, variables in BY_NAME[name].environs.items()
    }


def provide_definitions(cache: GoCache, names: Iterable[str]) -> list[Path]:
    """Return the files with the resource definitions that only these neighbors need."""
    return [
        path
        for it in map(BY_NAME.__getitem__, names)
        if it.definitions
        for path in thirdparty.provide_files(cache, it.tool.source, it.definitions)
    ]


def provide_manifests(cache: GoCache, names: Iterable[str]) -> dict[str, list[Path]]:
    """Return the files with the objects from each neighbor's module, by neighbor."""
    return {
        it.name: thirdparty.provide_files(cache, it.tool.source, {it.tool.versioned: it.manifests})
        for it in map(BY_NAME.__getitem__, names)
        if it.manifests
    }


def write_files(place: Place) -> None:
    """Write a neighbor's files, also those with its objects and what registers it."""
    place.folder.mkdir(parents=True, exist_ok=True)
    _link_keys(place, place.folder, "server")
    _link_keys(place, place.client, "client")
    neighbor = BY_NAME[place.name]
    for name, content in neighbor.files(place).items():
        text = content if isinstance(content, str) else json.dumps(content, indent=1) + "\n"
        (place.folder / name).parent.mkdir(exist_ok=True)
        (place.folder / name).write_text(text)
    _write_list(place.folder / "objects.yaml", neighbor.objects(place))
    registrations = webhook_configurations(neighbor, place) + api_registrations(neighbor, place)
    _write_list(place.folder / "registrations.yaml", registrations)


def objects_of(place: Place) -> list[Path]:
    """Return the file to apply before the neighbor starts, if there is one."""
    return _existing(place.folder / "objects.yaml")


def registrations_of(place: Place) -> list[Path]:
    """Return the file to apply when the neighbor serves, if there is one."""
    return _existing(place.folder / "registrations.yaml")


def serves(place: Place) -> bool:
    """Return whether all ports of a neighbor listen."""
    return all(is_listening(place.port(it)) for it in BY_NAME[place.name].purposes)


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _link_keys(place: Place, folder: Path, name: str) -> None:
    folder.mkdir(exist_ok=True)
    for link, target in (("ca", "ca.crt"), ("tls", f"{name}.crt"), ("tls", f"{name}.key")):
        path = folder / f"{link}{Path(target).suffix}"
        if not path.is_symlink():  # the controller watches them
            path.symlink_to(place.directory / "pki" / target)


def _existing(path: Path) -> list[Path]:
    return [path] if path.is_file() else []


def _write_list(path: Path, items: list[dict[str, Any]]) -> None:
    if items:
        content = {"apiVersion": "v1", "kind": "List", "items": items}
        path.write_text(json.dumps(content, indent=1) + "\n")
    else:
        path.unlink(missing_ok=True)
