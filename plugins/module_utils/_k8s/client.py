# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The API server, as paths and plain JSON.

Every path that we need is known, so this uses the official client's configuration, authentication
and connection pool, without its discovery (requests for each run) and its call signatures (they
differ between its major versions).
"""

from __future__ import annotations

import json
import os
import typing as t
from urllib.parse import urlencode

import urllib3

try:
    import kubernetes.client
    import kubernetes.client.rest
    import kubernetes.config

    KUBERNETES_IMPORT_ERROR: str | None = None
except ImportError as error:
    KUBERNETES_IMPORT_ERROR = str(error)

_TIMEOUT = urllib3.Timeout(connect=5, read=30)

_ACCEPT_METADATA = (
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
)

Json = dict[str, t.Any]


class ApiError(Exception):
    """The API server refused; ``status`` is the HTTP status, 0 if there was no answer."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Client:
    """Reads and patches by path. Raises `ApiError`."""

    def __init__(self, kubeconfig: str | None = None, context: str | None = None) -> None:
        """Connect as ``kubeconfig`` says, else as K8S_AUTH_KUBECONFIG, KUBECONFIG or the pod does."""
        if KUBERNETES_IMPORT_ERROR:
            raise ApiError(
                0, f"the Python package kubernetes is missing: {KUBERNETES_IMPORT_ERROR}"
            )
        path = kubeconfig or os.environ.get("K8S_AUTH_KUBECONFIG")
        context = context or os.environ.get("K8S_AUTH_CONTEXT")
        configuration = kubernetes.client.Configuration()
        try:
            if path or os.environ.get("KUBECONFIG") or not os.environ.get("KUBERNETES_SERVICE_HOST"):
                kubernetes.config.load_kube_config(
                    path, context=context, client_configuration=configuration
                )
            else:
                kubernetes.config.load_incluster_config(client_configuration=configuration)
        except kubernetes.config.ConfigException as error:
            raise ApiError(0, f"no usable kubeconfig: {error}") from error
        self._configuration = configuration
        self._pool = kubernetes.client.rest.RESTClientObject(configuration).pool_manager

    def get(self, path: str, **query: str) -> Json | None:
        """The object at a path; None if it, or its kind, does not exist."""
        try:
            return t.cast(Json, json.loads(self._call("GET", path, query=query)))
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def get_text(self, path: str, limit: int, **query: str) -> str:
        """The text at a path (a pod's log), at most ``limit`` bytes of it."""
        return self._call("GET", path, query=query, limit=limit).decode(errors="replace")

    def list_metadata(self, path: str) -> list[Json]:
        """[{"metadata": …}] of a collection, without the rest of the objects."""
        items: list[Json] = []
        query = {"limit": "500"}
        while True:
            page = json.loads(self._call("GET", path, query=query, accept=_ACCEPT_METADATA))
            items += [{"metadata": item["metadata"]} for item in page["items"]]
            if not (token := page.get("metadata", {}).get("continue")):
                return items
            query["continue"] = token

    def list_objects(self, path: str) -> list[Json]:
        """The objects of a collection; none if the kind does not exist."""
        return (self.get(path) or {}).get("items") or []

    def patch(self, path: str, body: Json) -> Json:
        """JSON merge patch; the object as it is then."""
        return t.cast(
            Json, json.loads(self._call("PATCH", path, body, "application/merge-patch+json"))
        )

    def apply(self, path: str, body: Json, field_manager: str) -> Json:
        """Server-side apply, by force; the object as it is then."""
        answer = self._call(
            "PATCH",
            path,
            body,
            "application/apply-patch+yaml",
            query={"fieldManager": field_manager, "force": "true"},
        )
        return t.cast(Json, json.loads(answer))

    def _call(
        self,
        method: str,
        path: str,
        body: Json | None = None,
        content_type: str = "",
        *,
        query: t.Mapping[str, str] | None = None,
        accept: str = "application/json",
        limit: int | None = None,
    ) -> bytes:
        headers = {"Accept": accept, **self._authorization()}
        if content_type:
            headers["Content-Type"] = content_type
        url = f"{self._configuration.host}{path}"
        if query:
            url += f"?{urlencode(query)}"
        try:
            response = self._pool.request(
                method,
                url,
                body=None if body is None else json.dumps(body).encode(),
                headers=headers,
                timeout=_TIMEOUT,
                retries=False,
                preload_content=False,
            )
            try:
                data = t.cast(bytes, response.read(limit))
            finally:
                response.release_conn()
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise ApiError(0, f"the API server cannot be reached: {error}") from error
        if response.status >= 300:
            raise ApiError(response.status, _explain(response.status, data))
        return data

    def _authorization(self) -> dict[str, str]:
        """The header that the kubeconfig asks for; an expired token is renewed by asking."""
        return {
            setting["key"]: setting["value"]
            for setting in self._configuration.auth_settings().values()
            if setting["in"] == "header" and setting["value"]
        }


def _explain(status: int, body: bytes) -> str:
    """The API server's own message."""
    try:
        return str(json.loads(body)["message"])
    except (TypeError, ValueError, KeyError):
        return f"HTTP {status}"
