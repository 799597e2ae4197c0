# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Removes an installation; definitions with custom resources stay, and so do these."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field
from datetime import UTC, datetime

from ..._base.errors import NimError
from ..._base.types import Json
from ..._cluster.client import Client
from ..._engine.api_resources import collection_path
from ..._engine.metadata import is_deleted
from ..operators import OperatorPods, read_installations
from ..plan.preview import list_resources
from ..release.release import check_stopped, find_held, release
from ..waiting import wait_while
from .definitions import has_our_status
from .install import (
    Step,
    delete,
    deletion,
    find_installed,
    find_namespace,
    wait_until_gone,
)
from .manifests import CRD, definitions, path_of
from .ownership import find_operator, other_installer


@dataclass(frozen=True)
class Removal:
    """The deletions, the custom resources with our finalizer, and what stays, with the reason."""

    steps: list[Step] = field(default_factory=list)
    held: list[Json] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)


class Uninstaller:
    """One removal. ``notify`` reports progress."""

    def __init__(self, client: Client, notify: t.Callable[[str], None]) -> None:
        self._client = client
        self._notify = notify
        ours = find_operator(read_installations(client), is_removal=True)
        self.namespace = find_namespace(client, ours)

    def plan(self) -> Removal:
        """The installed objects, in the order of deletion. NimError if another tool manages one."""
        found = find_installed(self._client, self.namespace)
        obstacles = [text for item in found if (text := other_installer(item, item["kind"]))]
        if obstacles:
            raise NimError(f"nothing was deleted: {'; '.join(obstacles)}")
        unused, kept = self._definitions()
        resources = list_resources(self._client, "")
        return Removal([deletion(item) for item in [*found, *unused]], find_held(resources), kept)

    def uninstall(self, removal: Removal, seconds: float, *, is_released: bool) -> list[str]:
        """Delete what was found, the operator first; returns what stays after all.

        ``is_released``: whether to remove the finalizers of custom resources.
        """
        items = [step.item for step in removal.steps if step.item["kind"] != CRD]
        for item in items:
            if item["kind"] == "Deployment":
                pods = OperatorPods(self._client, item)
                delete(self._client, item)
                wait_while(pods.read_names, "the operator still has pods", seconds)
        if is_released:
            self._release(seconds)
        for item in items:
            delete(self._client, item)
        unused, kept = self._definitions()
        for item in unused:
            delete(self._client, item)
        for item in unused:
            wait_until_gone(self._client, path_of(item), seconds)
        return kept

    def _definitions(self) -> tuple[list[Json], list[str]]:
        """Our definitions without resources, and the others with the reason why they stay."""
        unused, kept = [], []
        for wanted in definitions():
            live = self._client.get(path_of(wanted))
            if live is None or is_deleted(live):
                continue
            name = wanted["metadata"]["name"]
            if not has_our_status(live):
                kept.append(f"{CRD} {name} does not belong to nimops.nim")
            elif count := self._count(live):
                kept.append(f"{CRD} {name} has {count} resource{'s' if count > 1 else ''}")
            else:
                unused.append({**live, "apiVersion": wanted["apiVersion"], "kind": CRD})
        return unused, kept

    def _count(self, definition: Json) -> int:
        spec = definition["spec"]
        version = next(item["name"] for item in spec["versions"] if item["storage"])
        path = collection_path(f"{spec['group']}/{version}", spec["names"]["plural"])
        return len(self._client.list_metadata(path))

    def _release(self, seconds: float) -> None:
        """Remove our finalizers once the Lease of the stopped operator has ended."""

        def find_running() -> list[str]:
            held = find_held(list_resources(self._client, ""))
            try:
                check_stopped(self._client, "", held, datetime.now(UTC))
            except NimError as error:
                return [str(error)]
            for item in held:
                release(self._client, item)
            return []

        self._notify("removing the finalizers of custom resources")
        wait_while(find_running, "an operator may still run", seconds)
