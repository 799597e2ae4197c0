# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The custom resource that a pass is about, from a reference to it or as it is given."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._common.markers import (
    OPEN_FIELD,
    explain_markers,
    refuse_markers,
    take_out_markers,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.resources import api_path
from ansible_collections.nimops.nim.plugins.module_utils._k8s.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_of

Json = dict[str, t.Any]


def find_subject(client: Client, given: Json, *, strict: bool = True) -> Json | None:
    """The whole custom resource, None if it is gone; raises ApiError, NimError.

    Without a ``spec``, ``given`` is a reference (``kind``, ``metadata`` with name and namespace).
    So the operator's playbooks give it: no text of a resource goes through Ansible's variables.

    Keys that Ansible takes for its own are refused in what is given. In what is read they are left
    out, so that objects of before we refused them keep working, but refused (if this is ``strict``,
    and the resource is not being deleted) where an API server could not do so.
    """
    kind_of(given)
    if "spec" in given:
        refuse_markers(given)
        return given
    metadata = _reference(given)
    found = client.get_whole(api_path(given["kind"], metadata["namespace"], metadata["name"]))
    if found is None:
        return None
    refused = [path for path in take_out_markers(found) if OPEN_FIELD in path]
    if refused and strict and not found["metadata"].get("deletionTimestamp"):
        raise NimError(explain_markers(refused))
    return {**found, "kind": given["kind"]}


def _reference(given: Json) -> dict[str, str]:
    metadata = given.get("metadata")
    for key in ("name", "namespace"):
        if not isinstance(metadata, dict) or not isinstance(metadata.get(key), str):
            raise NimError(f"resource.metadata.{key}: missing; give it, or the whole resource")
    return t.cast("dict[str, str]", metadata)
