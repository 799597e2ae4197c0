# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Deletes custom resources, and shows before what goes with them."""

from __future__ import annotations

from ..._base.errors import ApiError, NimError
from ..._base.types import Json
from ..._engine.api_resources import identity
from ..apply.without_operator import finalize_here
from ..command import CONNECTION_SPEC, RESOURCES_SPEC, ResourcesCommand
from .inventory import Inventory, take_inventory
from .removal import Removal
from .targets import find_keys, read_targets


class DeleteCommand(ResourcesCommand):
    """Deletes named resources, or those in files; in check mode it only shows what goes.

    Without ``yes`` it deletes no data. A named resource must exist, unless ``ignore_not_found``;
    one in a file may be gone.
    """

    spec = (
        CONNECTION_SPEC
        | RESOURCES_SPEC
        | {
            "resources": {"type": "list", "elements": "str"},
            "ignore_not_found": {"type": "bool", "default": False},
            "yes": {"type": "bool", "default": False},
            "wait": {"type": "bool", "default": True},
            "wait_timeout": {"type": "int", "default": 300},
        }
    )

    def act(self, arguments: Json) -> Json:
        """Show, delete and wait."""
        client = self.connect(arguments)
        namespace = arguments.get("namespace") or client.namespace
        texts = self.find_texts(arguments)
        keys = find_keys(arguments.get("resources") or [], texts, namespace)
        resources, missing = read_targets(
            client, keys, ignores_missing=bool(arguments.get("ignore_not_found"))
        )
        for text in missing:
            self.print_message(text)
        if not resources:
            return {"changed": False, "msg": "; ".join(missing), "deleted": []}
        inventory = take_inventory(client, resources)
        self.print_data("\n".join(inventory.lines()))
        result = _to_result(inventory)
        if self.is_dry:
            return result
        if inventory.lost and not arguments.get("yes"):
            lost = "; ".join(inventory.lost.values())
            option = self.console.name_option("yes", "true")
            text = f"nothing was deleted, as data would be lost: {lost}. {option} deletes it"
            return result | {"failed": True, "changed": False, "msg": text}
        release = self.console.name_command("release")
        removal = Removal(client, inventory, release, self.print_message)
        try:
            removal.delete(lambda resources: finalize_here(client, resources, self.console))
            if arguments.get("wait", True):
                removal.wait(arguments["wait_timeout"])
        except (ApiError, NimError) as error:
            return result | {"failed": True, "msg": str(error)}
        return result


def _to_result(inventory: Inventory) -> Json:
    def keys(items: list[Json]) -> list[Json]:
        return [identity(item)._asdict() for item in items]

    count = len(inventory.resources)
    return {
        "changed": True,
        "msg": f"{count} resource{'s' if count > 1 else ''} and {len(inventory.children)} objects",
        "deleted": keys(inventory.resources),
        "children": keys(inventory.children),
        "kept": [key._asdict() for key in inventory.kept],
        "lost": list(inventory.lost.values()),
        "notes": inventory.notes,
    }
