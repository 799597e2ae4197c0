# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The NIMService of an entry."""

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._common.desired import Manifest
from ansible_collections.nimops.nim.plugins.module_utils._common.env import env, merge_env
from ansible_collections.nimops.nim.plugins.module_utils._common.meta import owner_reference
from ansible_collections.nimops.nim.plugins.module_utils._common.resources import manifest
from ansible_collections.nimops.nim.plugins.module_utils._nimpipeline.entries import (
    SERVICE,
    Entry,
    Resource,
)


def build_nim_service(cr: Resource, entry: Entry) -> Manifest:
    """The spec as it is given, without values that nobody gave, and what tells of dependencies."""
    spec = dict(entry.fields.get("spec") or {})
    for dependency in entry.fields.get("dependencies") or []:
        name, value = dependency.get("envName"), dependency.get("envValue")
        if name and value:
            spec["env"] = merge_env(spec.get("env") or [], env(**{name: value}))
    return manifest(
        SERVICE,
        entry.name,
        cr["metadata"]["namespace"],
        metadata={"ownerReferences": [owner_reference(cr)]},
        spec=spec,
    )
