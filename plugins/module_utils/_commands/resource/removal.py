# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Deletes custom resources and waits until they are gone, with and without an operator."""

from __future__ import annotations

import typing as t

from ..._base.errors import NimError
from ..._base.printable import printable
from ..._base.types import Json
from ..._cluster.client import Client
from ..._engine.api_resources import identity
from ..._engine.metadata import controller_of
from ..._kinds import kind_of
from ..apply.without_operator import finalize_here
from ..command import Console
from ..delete.inventory import Inventory
from ..delete.removal import Removal
from ..plan.preview import path_of
from ..references import services_of
from ..release.release import find_held
from ..text import name_of

_PIPELINE = "NIMPipeline"
_MAX_NAME = 100


def find_live(client: Client, resources: t.Sequence[Json]) -> list[Json]:
    """The live ones of these custom resources, the last one first.

    NimError if a resource that is not among them controls one, and would create it again.
    """
    found = [
        {**live, "apiVersion": resource["apiVersion"], "kind": resource["kind"]}
        for resource in reversed(resources)
        if (live := client.get(path_of(resource)))
    ]
    uids = {live["metadata"].get("uid") for live in found}
    for live in found:
        controller = controller_of(live)
        if controller and controller.get("uid") not in uids:
            owner = printable(f"{controller.get('kind')} {controller.get('name')}", _MAX_NAME)
            raise NimError(
                f"{name_of(identity(live))} belongs to {owner}, which would create it again: delete"
                f" {owner} instead"
            )
    return found


def remove(client: Client, live: Json, seconds: float | None, console: Console) -> None:
    """Delete a live custom resource, and wait until it is gone. Raises ApiError and NimError.

    ``seconds``: the maximum time to wait; None: do not wait. Without an operator, this first undoes
    what the garbage collector cannot, and removes the operator's finalizers.
    """
    services = services_of(client, live) if live["kind"] == _PIPELINE else []
    inventory = Inventory([live], services)  # whose finalizers can delay their deletion

    def finalize(resources: t.Sequence[Json]) -> None:
        if any(map(_needs_operator, resources)):
            finalize_here(client, resources, console)

    release = console.name_command("release")
    removal = Removal(client, inventory, release, console.print_message)
    removal.delete(finalize)
    if seconds is not None:
        removal.wait(seconds)


def _needs_operator(live: Json) -> bool:
    """Whether an operator has work to do when the resource is deleted."""
    return bool(kind_of(live).finalize or find_held([live]))
