# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Runs the reads of a kind until nothing is new."""

from __future__ import annotations

import os
import typing as t
from functools import partial

from ansible_collections.nimops.nim.plugins.module_utils._common.manifest import LOG_LIMIT
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import (
    OPERATOR,
    Observed,
    Read,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.policy import read_switches
from ansible_collections.nimops.nim.plugins.module_utils._common.resources import api_path
from ansible_collections.nimops.nim.plugins.module_utils._k8s.client import ApiError, Client
from ansible_collections.nimops.nim.plugins.module_utils._k8s.fetch import fetch
from ansible_collections.nimops.nim.plugins.module_utils._k8s.patience import Patience
from ansible_collections.nimops.nim.plugins.module_utils._k8s.registry import download_protocol
from ansible_collections.nimops.nim.plugins.module_utils._k8s.slots import Slots
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_of

Json = dict[str, t.Any]


def observe(client: Client, resource: Json) -> Json:
    """All answers that the kind of ``resource`` wants, by key. Raises ApiError, NimError."""
    namespace = str((resource.get("metadata") or {}).get("namespace") or "")
    with Patience(namespace, Slots()) as patience:
        return collect(resource, partial(_answer_as_allowed, client, patience))


def _answer_as_allowed(client: Client, patience: Patience, read: Read) -> t.Any:
    """The answer; nothing found across namespaces or on nodes if we have rights in some only."""
    try:
        return answer(client, read, patience)
    except ApiError as error:
        if error.status == 403 and read.how in ("list", "any") and not read.namespace:
            return []
        raise


def answer(client: Client, read: Read, patience: Patience | None = None) -> t.Any:
    """What the cluster, a registry or a model server says to one read."""
    if read.how == "http":
        return fetch(read.url, namespace=read.namespace, patience=patience)
    if read.how == "protocol":
        return download_protocol(read.image, _read_configs(client, read), patience=patience)
    return _READERS[read.how](client, read)


def collect(resource: Json, ask: t.Callable[[Read], t.Any]) -> Json:
    """All answers that the kind of ``resource`` wants, by key, from wherever ``ask`` has them."""
    kind = kind_of(resource)
    answers: Json = {
        OPERATOR: {
            "version": os.environ.get("OPERATOR_VERSION", ""),
            "kserve": os.environ.get("KSERVE_NAMESPACE", ""),
            **read_switches(os.environ),
        }
    }
    while True:
        wanted = {read.key: read for read in kind.reads(resource, Observed(answers))}
        new = [read for key, read in wanted.items() if key not in answers]
        if not new:
            return answers
        for read in new:
            answers[read.key] = ask(read)


def _read_object(client: Client, read: Read) -> Json | None:
    found = client.get(api_path(read.kind, read.namespace, read.name))
    return {**found, "kind": read.kind} if found else None


def _read_presence(client: Client, read: Read) -> Json | None:
    return client.get_presence(api_path(read.kind, read.namespace, read.name))


def _read_list(client: Client, read: Read) -> list[Json]:
    path = api_path(read.kind, read.namespace)
    if not read.selector:
        return client.list_metadata(path)
    found = client.list_objects(path, labelSelector=read.selector) or []
    return [{"metadata": item["metadata"]} for item in found]


def _read_any(client: Client, read: Read) -> list[Json]:
    path = api_path(read.kind, read.namespace)
    found = client.list_objects(path, labelSelector=read.selector, limit="1") or []
    return [{"metadata": item["metadata"]} for item in found]


def _read_objects(client: Client, read: Read) -> list[Json] | None:
    query = {"labelSelector": read.selector} if read.selector else {}
    return client.list_objects(api_path(read.kind, read.namespace), **query)


def _read_log(client: Client, read: Read) -> str:
    """Empty while the container has none: it may be starting."""
    path = f"{api_path('Pod', read.namespace, read.name)}/log"
    try:
        return client.get_text(path, LOG_LIMIT, container=read.container, limitBytes=str(LOG_LIMIT))
    except ApiError as error:
        if error.status in (400, 404):
            return ""
        raise


def _read_configs(client: Client, read: Read) -> list[str | None]:
    """The Secrets stay in here: only the registry's answer is observed."""
    configs = []
    for name in read.pull_secrets:
        secret = client.get(api_path("Secret", read.namespace, name)) if name else None
        configs.append(((secret or {}).get("data") or {}).get(".dockerconfigjson"))
    return configs


_READERS: dict[str, t.Callable[[Client, Read], t.Any]] = {
    "object": _read_object,
    "objects": _read_objects,
    "presence": _read_presence,
    "list": _read_list,
    "any": _read_any,
    "log": _read_log,
}
