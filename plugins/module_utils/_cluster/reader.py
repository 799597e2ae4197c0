# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The source of answers from a live cluster."""

from __future__ import annotations

import contextlib
import typing as t
from datetime import UTC, datetime
from functools import cache

from .._base.errors import ApiError
from .._base.types import Json
from .._engine.api_resources import api_path
from .._engine.node_rows import nodes_of_table
from .._engine.pod_rows import unready_names
from .._engine.reads import LOG_LIMIT, Read, Source
from .._http.image_registry import download_protocol, may_ask_about
from .._http.model_server import fetch
from .._http.timeouts import Patience
from .client import Client

FindSecret = t.Callable[[str, str], "Json | None"]

_UNCACHED = "metadata.name!=-"
"""A selector that matches all objects, but is unknown to the cache, so the API server answers.

The runtime's cache contains only our objects of most kinds, and not all of them after a start.
"""
_MOST_AT_ONCE = 32
"""The limit of nimops-apiproxy."""
_MOST_PREFETCHED = 2 * _MOST_AT_ONCE
"""Users decide how many objects a resource refers to, and all of these are in memory at once."""


class Reader(Source):
    """A source that queries an API server, registries and model servers.

    Only Secrets from `get_secret` stay in memory, and prefetched objects that were not needed, for
    the lifetime of the reader.
    """

    def __init__(self, client: Client, patience: Patience | None = None) -> None:
        self.client = client
        self._patience = patience
        self._fetched: dict[str, Json | None] = {}
        self._find_secret = secret_finder(self._get)

    def prefetch(self, path: str, reads: t.Iterable[Read]) -> None:
        """Read the objects that these reads need and that the runtime does not cache, all at once.

        ``path``: where nimops-apiproxy answers. Each object is used once. What could not be read
        this way is read alone.
        """
        targets = {read.target for read in reads if read.is_past_cache and read.target}
        paths = [api_path(*of) for of in sorted(targets) if of.name][:_MOST_PREFETCHED]
        with contextlib.suppress(ApiError):
            for first in range(0, len(paths), _MOST_AT_ONCE):
                some = paths[first : first + _MOST_AT_ONCE]
                self._fetched |= self.client.get_each(path, some)

    def _get(self, path: str) -> Json | None:
        return self._fetched.pop(path) if path in self._fetched else self.client.get(path)

    def get(self, kind: str, namespace: str, name: str) -> Json | None:
        found = self._get(api_path(kind, namespace, name))
        return {**found, "kind": kind} if found else None

    def get_presence(self, kind: str, namespace: str, name: str) -> Json | None:
        return self.client.get_presence(api_path(kind, namespace, name))

    def get_secret(self, namespace: str, name: str) -> Json | None:
        return self._find_secret(namespace, name)

    def serves_group(self, group: str) -> bool:
        return self.client.get(f"/apis/{group}") is not None

    def list_objects(
        self, kind: str, namespace: str = "", *, selector: str = "", field: str = "", limit: int = 0
    ) -> list[Json] | None:
        fields = [field] if limit else [_UNCACHED, field]
        query = {
            "labelSelector": selector,
            "fieldSelector": ",".join(filter(None, fields)),
            "limit": str(limit or ""),
        }
        given = {key: value for key, value in query.items() if value}
        return self.client.list_objects(api_path(kind, namespace), **given)

    def list_nodes(self) -> list[Json]:
        return self.client.list_metadata(api_path("Node"))

    def list_node_rows(self) -> list[Json]:
        return nodes_of_table(self.client.list_table(api_path("Node")))

    def list_unready(self, namespace: str, selector: str) -> list[str]:
        """The unready pods in a table without objects."""
        path = api_path("Pod", namespace)
        table = self.client.list_table(path, includeObject="None", labelSelector=selector)
        return unready_names(table)

    def get_log(self, namespace: str, pod: str, container: str, lines: int = 0) -> str:
        """The log, or its last lines; empty while a starting container has none."""
        path = f"{api_path('Pod', namespace, pod)}/log"
        query = {"container": container, "limitBytes": str(LOG_LIMIT)}
        if lines:
            query["tailLines"] = str(lines)
        try:
            return self.client.get_text(path, LOG_LIMIT, **query)
        except ApiError as error:
            if error.status in (400, 404) or (lines and error.status >= 500):
                return ""
            raise

    def fetch(self, url: str, namespace: str, _service: str) -> Json:
        return fetch(url, namespace=namespace, patience=self._patience)

    def find_protocol(self, image: str, namespace: str, pull_secrets: t.Iterable[str]) -> str:
        """The protocol, from the registry; the credentials stay in the reader."""
        if not may_ask_about(image):
            return ""
        configs = [self._docker_config(namespace, name) for name in pull_secrets]
        return download_protocol(image, configs, patience=self._patience)

    def now(self) -> str:
        return datetime.now(UTC).isoformat(timespec="seconds")

    def _docker_config(self, namespace: str, name: str) -> str | None:
        """The credentials in a Secret; None without a name, whose path would list all Secrets."""
        secret = self.client.get(api_path("Secret", namespace, name)) if name else None
        return ((secret or {}).get("data") or {}).get(".dockerconfigjson")


def answer_of(read: Read, source: Source) -> t.Any:
    """The answer to a read; empty for an optional one without permission."""
    try:
        return read.answer(source)
    except ApiError as error:
        if error.status == 403 and read.is_optional:
            return []
        raise


def secret_finder(get: t.Callable[[str], Json | None]) -> FindSecret:
    """A function that gets each Secret once, by namespace and name. ``get``: an object by path."""
    return cache(lambda namespace, name: get(api_path("Secret", namespace, name)))
