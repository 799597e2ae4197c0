# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A live custom resource as modules and the inventory return it."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime

from ..._base.types import Json
from ..status.status_table import list_status
from .readiness import is_ready

_HIDDEN = "managedFields"
_SERVICE = "NIMService"


def describe_resource(resource: Json) -> Json:
    """The resource with its state, reason, message, endpoint and models."""
    (line,) = list_status([resource], [], datetime.now(UTC))
    return {
        "kind": line.kind,
        "namespace": line.namespace,
        "name": line.name,
        "state": line.state,
        "ready": is_ready(resource),
        "reason": line.reason,
        "message": line.message,
        "endpoint": line.endpoint if line.kind == _SERVICE else "",
        "models": [line.model] if line.model else [],
        "resource": without_managed_fields(resource),
    }


def without_managed_fields(resource: t.Mapping[str, t.Any]) -> Json:
    """The resource without its field managers, which are of no use to a playbook."""
    metadata = {key: item for key, item in resource["metadata"].items() if key != _HIDDEN}
    return {**resource, "metadata": metadata}
