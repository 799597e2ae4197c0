# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Answers the reads of a kind."""

from __future__ import annotations

import json
import typing as t
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache, partial

from .._base.errors import ApiError
from .._base.types import Json
from .._engine.api_resources import api_path
from .._engine.digests import answer_digest
from .._engine.node_rows import nodes_of_table
from .._engine.observed import LOG_LIMIT, Read
from .._engine.outlines import outline
from .._engine.pod_rows import unready_names
from .._engine.sealed import seal
from .._http.image_registry import download_protocol, may_ask_about
from .._http.model_server import fetch
from .._http.timeouts import Patience
from .client import Client

FindSecret = t.Callable[[str, str], "Json | None"]

_MAX_PODS = "500"
_UNCACHED = {"fieldSelector": "metadata.name!=-"}
"""Matches all objects, but the runtime's cache knows no such selector, so the API server answers.

The cache has of most kinds only what is ours, and of ours, after a start, not all at once.
"""


def answer(
    client: Client,
    read: Read,
    patience: Patience | None = None,
    find_secret: FindSecret | None = None,
) -> t.Any:
    """The answer of the cluster, a registry or a model server to one read.

    ``find_secret``: a `secret_finder` that several reads share.
    """
    if read.how == "http":
        return fetch(read.url, namespace=read.namespace, patience=patience)
    if read.how == "protocol":
        if not may_ask_about(read.image):
            return ""
        return download_protocol(read.image, _read_configs(client, read), patience=patience)
    if read.how in _OF_SECRETS:
        return _OF_SECRETS[read.how](client, read, find_secret or secret_finder(client))
    return _READERS[read.how](client, read)


def _read_object(client: Client, read: Read) -> Json | None:
    found = client.get(api_path(read.kind, read.namespace, read.name))
    return {**found, "kind": read.kind} if found else None


def _read_presence(client: Client, read: Read) -> Json | None:
    return client.get_presence(api_path(read.kind, read.namespace, read.name))


def _read_sealed(client: Client, read: Read, find: FindSecret) -> Json | None:
    """The Secrets that its values come from stay here."""
    found = _read_object(client, read)
    return found and seal(found, json.loads(read.sealed), partial(find, read.namespace))


def _read_digest(client: Client, read: Read, find: FindSecret) -> Json | None:
    is_secret = read.kind == "Secret"
    found = find(read.namespace, read.name) if is_secret else _read_object(client, read)
    return answer_digest(found, read)


def secret_finder(client: Client) -> FindSecret:
    """Gets a Secret by its namespace and name, each once."""
    return cache(lambda namespace, name: client.get(api_path("Secret", namespace, name)))


def _read_list(client: Client, read: Read) -> list[Json]:
    path = api_path(read.kind, read.namespace)
    if not read.selector:
        return client.list_metadata(path)
    found = client.list_objects(path, labelSelector=read.selector, **_UNCACHED) or []
    return [{"metadata": item["metadata"]} for item in found]


def _read_any(client: Client, read: Read) -> list[Json]:
    path = api_path(read.kind, read.namespace)
    found = client.list_objects(path, labelSelector=read.selector, limit="1") or []
    return [{"metadata": item["metadata"]} for item in found]


def _read_objects(client: Client, read: Read) -> list[Json] | None:
    return client.list_objects(api_path(read.kind, read.namespace), **_UNCACHED)


def _read_pods(client: Client, read: Read) -> list[Json]:
    path = api_path(read.kind, read.namespace)
    found = client.list_objects(path, labelSelector=read.selector, limit=_MAX_PODS) or []
    return [{"metadata": item["metadata"], "status": item.get("status") or {}} for item in found]


def _read_outlines(client: Client, read: Read) -> list[Json] | None:
    query = dict(_UNCACHED)
    if read.selector:
        query["labelSelector"] = read.selector
    if read.field:
        query["fieldSelector"] += f",{read.field}"
    found = client.list_objects(api_path(read.kind, read.namespace), **query)
    return None if found is None else [outline(read.kind, item) for item in found]


def _read_unready(client: Client, read: Read) -> list[Json]:
    """By name those only that a table without objects shows not to be ready."""
    path = api_path(read.kind, read.namespace)
    table = client.list_table(path, includeObject="None", labelSelector=read.selector)
    return [
        pod
        for name in unready_names(table)
        for pod in _read_outlines(client, replace(read, field=f"metadata.name={name}")) or []
    ]


def _read_node_rows(client: Client, read: Read) -> list[Json]:
    return nodes_of_table(client.list_table(api_path(read.kind)))


def _read_time(_client: Client, _read: Read) -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _read_log(client: Client, read: Read) -> str:
    """Empty while the container has no log: it may be starting."""
    path = f"{api_path('Pod', read.namespace, read.name)}/log"
    try:
        return client.get_text(path, LOG_LIMIT, container=read.container, limitBytes=str(LOG_LIMIT))
    except ApiError as error:
        if error.status in (400, 404):
            return ""
        raise


def _read_configs(client: Client, read: Read) -> list[str | None]:
    """The pull Secrets' configurations; they stay here, only the registry's answer is observed."""
    configs = []
    for name in read.pull_secrets:
        secret = client.get(api_path("Secret", read.namespace, name)) if name else None
        configs.append(((secret or {}).get("data") or {}).get(".dockerconfigjson"))
    return configs


_READERS: dict[str, t.Callable[[Client, Read], t.Any]] = {
    "object": _read_object,
    "objects": _read_objects,
    "pods": _read_pods,
    "presence": _read_presence,
    "list": _read_list,
    "any": _read_any,
    "log": _read_log,
    "outlines": _read_outlines,
    "unready": _read_unready,
    "node_rows": _read_node_rows,
    "time": _read_time,
}
_OF_SECRETS: dict[str, t.Callable[[Client, Read, FindSecret], t.Any]] = {
    "sealed": _read_sealed,
    "digest": _read_digest,
}
