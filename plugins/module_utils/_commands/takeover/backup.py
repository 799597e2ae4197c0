# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The backup before a takeover: custom resources, and objects that it changes or removes."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ..._base.types import Json
from ..._base.yaml_text import dump_yaml

CRD = "CustomResourceDefinition"
WEBHOOKS = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")

_OF_THE_SERVER = ("managedFields", "resourceVersion", "uid", "creationTimestamp", "generation")


@dataclass(frozen=True)
class Backup:
    """Objects as the API server returned them."""

    definitions: list[Json] = field(default_factory=list)
    webhooks: list[Json] = field(default_factory=list)
    resources: list[Json] = field(default_factory=list)


def write_backup(backup: Backup) -> str:
    """The backup as YAML documents, without fields that only the API server can set."""
    items = [*backup.definitions, *backup.webhooks, *backup.resources]
    return "".join(f"---\n{dump_yaml(restorable(item))}" for item in items)


def sort_backup(documents: t.Iterable[Json]) -> Backup:
    """The backup from its YAML documents."""
    items = list(documents)
    return Backup(
        [item for item in items if item["kind"] == CRD],
        [item for item in items if item["kind"] in WEBHOOKS],
        [item for item in items if item["kind"] not in (CRD, *WEBHOOKS)],
    )


def restorable(item: Json) -> Json:
    """An object that can be created again."""
    metadata = {key: value for key, value in item["metadata"].items() if key not in _OF_THE_SERVER}
    return {**item, "metadata": metadata}
