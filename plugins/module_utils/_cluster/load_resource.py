# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The custom resource of a pass, from a reference to it or from its manifest."""

from __future__ import annotations

import typing as t

from .._base.errors import NimError
from .._base.reserved_keys import (
    explain_reserved_keys,
    is_in_open_field,
    refuse_reserved_keys,
    remove_reserved_keys,
)
from .._base.types import Json
from .._engine.api_resources import KINDS, api_path
from .client import Client


def load_resource(client: Client, given: Json, *, strict: bool = True) -> Json | None:
    """The whole custom resource; None if it was deleted. Raises ApiError, NimError.

    Without a ``spec``, ``given`` is a reference (``kind``, ``metadata`` with name and namespace).
    The operator's playbooks pass references, so no text of a resource is in Ansible's variables.

    Keys that Ansible reserves are refused in ``given``. From an object of the API server they are
    removed, so that existing objects keep working. Where the API server cannot refuse them
    (`OPEN_FIELDS`), we do if ``strict``, unless the resource is being deleted.
    """
    if "spec" in given:
        refuse_reserved_keys(given)
        return given
    metadata = _reference(given)
    path = api_path(given["kind"], metadata.get("namespace"), metadata["name"])
    found = client.get_whole(path)
    if found is None:
        return None
    refused = [path for path in remove_reserved_keys(found) if is_in_open_field(path)]
    if refused and strict and not found["metadata"].get("deletionTimestamp"):
        raise NimError(explain_reserved_keys(refused))
    return {**found, "kind": given["kind"]}


def _reference(given: Json) -> dict[str, str]:
    metadata = given.get("metadata")
    for key in ("name", "namespace") if KINDS[given["kind"]].is_namespaced else ("name",):
        if not isinstance(metadata, dict) or not isinstance(metadata.get(key), str):
            raise NimError(f"resource.metadata.{key}: missing; set it, or pass the whole resource")
    return t.cast("dict[str, str]", metadata)
