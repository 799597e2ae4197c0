# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The custom resources that a user wants to delete, named or in files."""

from __future__ import annotations

import typing as t

from ..._base.errors import NimError
from ..._base.types import Json
from ..._cluster.client import Client
from ..._engine.api_resources import KINDS, ObjectKey, api_path, is_served, object_identity
from ..._kinds import kind_names
from ..loader import Text, parse
from ..references import parse_reference


def find_keys(
    references: t.Iterable[str], texts: t.Iterable[Text], namespace: str
) -> dict[ObjectKey, bool]:
    """The resources, and whether each is named rather than in a text. NimError if there are none.

    ``namespace``: the default of resources without one. Other objects in the texts, such as
    Secrets, are skipped.
    """
    found: dict[ObjectKey, bool] = {}
    for text in texts:
        for item in filter(is_served, parse(text)):
            place = item["metadata"].get("namespace") or namespace
            found[object_identity(item["kind"], place, item["metadata"]["name"])] = False
    for name in references:
        kind, of_kind = parse_reference(name, None)
        found[object_identity(kind, namespace, of_kind)] = True
    if not found:
        raise NimError(f"resources: missing; name some, or files with {', '.join(kind_names())}")
    return found


def read_targets(
    client: Client, keys: t.Mapping[ObjectKey, bool], *, ignores_missing: bool
) -> tuple[list[Json], list[str]]:
    """The live resources in the order of deletion, and the missing ones.

    NimError if a named one is missing, unless ``ignores_missing``. NIMCaches are last, as pods of
    other resources may use their claims.
    """
    found: list[Json] = []
    missing: list[str] = []
    wrong: list[str] = []
    for key, is_named in keys.items():
        live = client.get(api_path(*key))
        if live is not None:
            found.append({**live, "apiVersion": KINDS[key.kind].version, "kind": key.kind})
            continue
        where = f" in namespace {key.namespace}" if key.namespace else ""
        text = f"{key.kind.lower()}/{key.name} does not exist{where}"
        (wrong if is_named and not ignores_missing else missing).append(text)
    if wrong:
        raise NimError("; ".join(wrong))
    return sorted(found, key=lambda item: item["kind"] == "NIMCache"), missing
