# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""NIMServices as hosts of an inventory: one dictionary of variables each."""

from __future__ import annotations

import re
import typing as t

from ..._base.types import Json
from ..._cluster.client import Client
from ..._engine.api_resources import KINDS, api_path
from .description import describe_resource

_KIND = "NIMService"
_ADDRESS = re.compile(r"(https?://)?(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9.-]{1,253})(:[0-9]{1,5})?/?")


def find_endpoints(
    client: Client,
    namespaces: t.Sequence[str],
    label_selectors: t.Sequence[str],
    *,
    include_not_ready: bool = False,
) -> list[Json] | None:
    """The variables of each NIMService, by name and namespace; None without the CRD.

    ``namespaces``: by default all.
    """
    query = {"labelSelector": ",".join(label_selectors)} if label_selectors else {}
    found: list[Json] = []
    for namespace in dict.fromkeys(namespaces) or [""]:
        items = client.list_objects(api_path(_KIND, namespace), **query)
        if items is None:
            return None
        found += items
    hosts = [_to_variables(item) for item in found]
    shown = [item for item in hosts if item["nim_ready"] or include_not_ready]
    return sorted(shown, key=lambda item: (item["nim_namespace"], item["nim_name"]))


def host_of(variables: t.Mapping[str, t.Any]) -> str:
    """The name of a host, unique because a namespace has no dot."""
    return f"{variables['nim_name']}.{variables['nim_namespace']}"


def _to_variables(item: Json) -> Json:
    row = describe_resource({"apiVersion": KINDS[_KIND].version, "kind": _KIND, **item})
    model = (item.get("status") or {}).get("model") or {}
    inside, outside = (
        _to_url(model.get(key) or "") for key in ("clusterEndpoint", "externalEndpoint")
    )
    models = row["models"]
    return {
        "nim_name": row["name"],
        "nim_namespace": row["namespace"],
        "nim_url": outside or inside,
        "nim_cluster_url": inside,
        "nim_external_url": outside,
        "nim_model": models[0] if models else "",
        "nim_models": models,
        "nim_labels": item["metadata"].get("labels") or {},
        "nim_state": row["state"],
        "nim_ready": row["ready"],
        "nim_reason": row["reason"],
        "nim_message": row["message"],
    }


def _to_url(endpoint: t.Any) -> str:
    """The URL of an address in a status; empty if it is not one."""
    found = _ADDRESS.fullmatch(str(endpoint))
    if not found:
        return ""
    return f"{found[1] or 'http://'}{found[2]}{found[3] or ''}"
