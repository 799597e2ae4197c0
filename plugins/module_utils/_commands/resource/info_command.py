# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Reads custom resources of all kinds, with their state, endpoint and models."""

from __future__ import annotations

from ..._base.errors import ApiError
from ..._base.types import Json
from ..._cluster.client import Client
from ..._engine.api_resources import KINDS, api_path
from ..._kinds import kind_names
from ..command import CONNECTION_SPEC, Command
from .description import describe_resource

_FORBIDDEN = 403
_PLACE = ("namespace", "kind", "name")


class ResourceInfoCommand(Command):
    """Read resources; a kind that the cluster does not have is reported without a failure."""

    spec = CONNECTION_SPEC | {
        "kind": {"type": "str", "choices": kind_names()},
        "name": {"type": "str"},
        "namespace": {"type": "str", "default": ""},
        "label_selectors": {"type": "list", "elements": "str", "default": []},
        "field_selectors": {"type": "list", "elements": "str", "default": []},
    }

    def act(self, arguments: Json) -> Json:
        """Return the resources, by namespace, kind and name, and the kinds that are missing."""
        client, kind = self.connect(arguments), arguments["kind"]
        name, namespace = arguments["name"], arguments["namespace"]
        fields = [*arguments["field_selectors"], *([f"metadata.name={name}"] if name else [])]
        selectors = {"labelSelector": arguments["label_selectors"], "fieldSelector": fields}
        query = {key: ",".join(texts) for key, texts in selectors.items() if texts}
        is_chosen = bool(kind)
        found: list[Json] = []
        missing = []
        for item in [kind] if kind else _kinds_in(namespace):
            listed = _list(client, item, namespace, query, is_chosen=is_chosen)
            if listed is None:
                missing.append(item)
            found += listed or []
        if kind in missing:
            self.print_message(f"the cluster does not know the kind {kind}")
        rows = sorted(found, key=lambda row: tuple(row[key] for key in _PLACE))
        return {"changed": False, "resources": rows, "missing_kinds": missing}


def _kinds_in(namespace: str) -> list[str]:
    """All kinds, or those that a namespace can contain."""
    return [kind for kind in kind_names() if not namespace or KINDS[kind].is_namespaced]


def _list(
    client: Client, kind: str, namespace: str, query: dict[str, str], *, is_chosen: bool
) -> list[Json] | None:
    """The resources of a kind; None if the cluster does not have the kind.

    A tenant may not list cluster-scoped kinds: there are none for it, unless it chooses one.
    """
    try:
        items = client.list_objects(api_path(kind, namespace), **query)
    except ApiError as error:
        if error.status == _FORBIDDEN and not (is_chosen or KINDS[kind].is_namespaced):
            return []
        raise
    if items is None:
        return None
    api = {"apiVersion": KINDS[kind].version, "kind": kind}
    return [describe_resource({**api, **item}) for item in items]
