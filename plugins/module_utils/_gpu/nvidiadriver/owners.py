# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Assigns each node with a GPU to an NVIDIADriver.

A node label stores the assignment, so the driver changes only when the label does. An NVIDIADriver
that conflicts with another neither takes nor loses nodes.
"""

from __future__ import annotations

import typing as t
from functools import cached_property

from ..._base.errors import NimError
from ..._base.types import Manifest
from ..._builders.name_rules import MAX_LABEL, check_name
from ..._engine.desired import ABSENT, Field, FieldPolicy, Patch
from ..._engine.oversized import is_stub, stub_error
from ..nodes import GPU_PRESENT, OWNER, has_features, labels_of, owner_of
from ..upgrade.labels import ENABLED
from .spec import parse_selection

CONFLICTING = "ConflictingNodeSelector"

Node = Manifest


class Owners:
    """The NVIDIADrivers and the assignment of nodes to them."""

    def __init__(self, drivers: t.Iterable[Manifest], nodes: t.Iterable[Node]) -> None:
        self._drivers = {
            str(item["metadata"]["name"]): item
            for item in drivers
            if not item["metadata"].get("deletionTimestamp")
        }
        self._selections = {
            name: parse_selection(item.get("spec") or {}) for name, item in self._drivers.items()
        }
        self._nodes = sorted(nodes, key=lambda node: str(node["metadata"]["name"]))

    @cached_property
    def errors(self) -> dict[str, NimError]:
        """Conflicts of an NVIDIADriver with itself or with others, by name."""
        found = {
            name: error
            for name, selection in self._selections.items()
            if (error := _error_of(self._drivers[name]) or selection.error)
        }
        defaults = self._defaults
        if len(defaults) > 1:
            error = NimError(
                f"only one NVIDIADriver may be the default: [{' '.join(defaults)}]:"
                " set default to false in all but one"
            )
            found |= dict.fromkeys(defaults, error)
        for node in self._nodes:
            names = self._selecting(node)
            if len(names) > 1:
                error = NimError(
                    "multiple NVIDIADrivers match the same node"
                    f" {node['metadata']['name']}: [{' '.join(names)}]",
                    reason=CONFLICTING,
                )
                found = {**dict.fromkeys(names, error), **found}
        return found

    def missing_nodes(self, name: str) -> list[str]:
        """The names of the nodes that an NVIDIADriver should get but does not have yet."""
        return [str(node["metadata"]["name"]) for node in self._missing(name)]

    def gained(self, name: str) -> list[Node]:
        """The nodes that an NVIDIADriver should take, from another one or from none."""
        if name in self.errors:
            return []
        return [node for node in self._missing(name) if owner_of(node) not in self.errors]

    def held(self, name: str) -> NimError | None:
        """Why an NVIDIADriver cannot take a node: the present one of the node is in error."""
        for node in self._missing(name):
            owner = owner_of(node)
            if error := self.errors.get(owner):
                name = node["metadata"]["name"]
                text = f"node {name} keeps the driver of NVIDIADriver {owner}: {error}"
                return NimError(text, reason=error.reason)
        return None

    def leaving(self, name: str) -> dict[str, str]:
        """The nodes of an NVIDIADriver that another one should take, with its name."""
        after = {str(node["metadata"]["name"]): self._owner_for(node) for node in self._of(name)}
        return {node: owner for node, owner in after.items() if owner not in ("", name)}

    def patches(self, name: str, taken: t.Iterable[Node]) -> list[Patch]:
        """The patches of the nodes that an NVIDIADriver takes, and of those that it releases.

        It releases a node only to none. Another NVIDIADriver takes a node itself, once it can
        deploy a driver: until then, the present driver runs.
        """
        if name in self.errors:
            return []
        released = [node for node in self._of(name) if not self._owner_for(node)]
        owners = [*((node, name) for node in taken), *((node, "") for node in released)]
        return [Patch("Node", node, (_label(owner),)) for node, owner in owners]

    def _missing(self, name: str) -> list[Node]:
        """The nodes that should have the label of an NVIDIADriver, and do not."""
        return [node for node in self._nodes if self._owner_for(node) == name != owner_of(node)]

    def _of(self, name: str) -> list[Node]:
        """The nodes with the label of an NVIDIADriver."""
        return [node for node in self._nodes if owner_of(node) == name]

    def _owner_for(self, node: Node) -> str:
        """The NVIDIADriver of a node; empty if there is none.

        A node of an unsupported NVIDIADriver keeps its label. So does one without any label of Node
        Feature Discovery, which restarts: selectors may refer to them.
        """
        if owner_of(node) in self._drivers and _has_gpu(node) and not has_features(node):
            return owner_of(node)
        names = self._selecting(node) or (self._defaults if _has_gpu(node) else [])
        if not names:
            return ""
        return owner_of(node) if self._selections[names[0]].obstacle else names[0]

    @cached_property
    def _defaults(self) -> list[str]:
        return sorted(name for name, item in self._selections.items() if item.is_default)

    def _selecting(self, node: Node) -> list[str]:
        """The NVIDIADrivers whose selector matches a node, without the default."""
        if not _has_gpu(node):
            return []
        labels = labels_of(node).items()
        return sorted(
            name
            for name, item in self._selections.items()
            if not (item.is_default or item.error or is_stub(self._drivers[name]))
            and item.labels.items() <= labels
        )


def release_nodes(nodes: t.Iterable[Node], name: str) -> list[Patch]:
    """The patches that remove the label from all nodes of an NVIDIADriver."""
    return [Patch("Node", node, (_label(""),)) for node in nodes if owner_of(node) == name]


def mark(nodes: t.Iterable[Node], *, is_upgraded: bool) -> list[Patch]:
    """The patches of the annotation by which driver pods know whether the operator drains nodes."""
    found = []
    for node in nodes:
        known = (node["metadata"].get("annotations") or {}).get(ENABLED)
        if known != ("true" if is_upgraded else None):
            path = ("metadata", "annotations", ENABLED)
            value = "true" if is_upgraded else ABSENT
            found.append(Patch("Node", node, (Field(path, value, FieldPolicy.LEAVE),)))
    return found


def _error_of(driver: Manifest) -> NimError | None:
    """Why an NVIDIADriver cannot have nodes, regardless of its spec; None if it can."""
    if excess := stub_error(driver):
        return excess
    try:
        check_name({**driver, "kind": "NVIDIADriver"}, MAX_LABEL)
    except NimError as error:
        return error
    return None


def _has_gpu(node: Node) -> bool:
    return labels_of(node).get(GPU_PRESENT) == "true"


def _label(owner: str) -> Field:
    return Field(("metadata", "labels", OWNER), owner or ABSENT, FieldPolicy.LEAVE)
