# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A client of the API server for paths and plain JSON.

All paths are known, so the client uses configuration, authentication and connection pool of the
official client, but neither its discovery (extra requests in each run) nor its call signatures
(which differ between major versions).
"""

from __future__ import annotations

import json
import os
import re
import time
import typing as t
from functools import cached_property, partial
from pathlib import Path
from urllib.parse import urlencode

from .._base.errors import ApiError
from .._base.json_nesting import cut_nesting
from .._base.json_size import show_size
from .._base.reserved_keys import PREFIX, remove_reserved_keys
from .._base.types import Json
from .._http.stream import Stream, StreamError
from .._http.transport import explain
from .connection import (
    DEFAULT_KUBECONFIG,
    IMPORT_ERROR,
    Connection,
    Kubeconfig,
    connect,
    read_kubeconfig,
    uses_pod_credentials,
)

if not IMPORT_ERROR:
    import urllib3

_NOT_YAML = re.compile("[\x7f-\x9f\ufeff\ufffe\uffff]")
# Invalid in object names: the API server would refuse them, or address something else.
_NO_NAME = re.compile(r"%2F|%25|/\.{1,2}(?=/|$)")
_CONNECT_SECONDS, _READ_SECONDS = 5, 30
_MAX_PLAIN_ERROR = 300
_MAX_ERROR = 1 << 16
_MAX_REPEATED = 256 << 10
"""Maximum size of a body that is sent again. The API server closes the connection if a body is too
large, often before the client can read the answer."""
_BODY_TOO_LARGE = 413
_BUSY = (429, 500, 502, 503, 504)
"""Statuses after which a request is repeated if the answer has a Retry-After, like in client-go:
the API server limits its load, or changes the storage of a CRD."""
_REPEATS = 5
_MAX_WAIT_SECONDS = 2
_MAX_DEPTH = 100
_MARKER = PREFIX.encode()

_ACCEPT_METADATA = "application/json;as=PartialObjectMetadata%s;g=meta.k8s.io;v=v1,application/json"
_ACCEPT_TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
_SHOWN_METADATA = ("name", "namespace", "uid", "labels", "ownerReferences", "deletionTimestamp")
"""Excludes annotations: `kubectl apply` stores the whole applied object there."""


class Client:
    """Sends requests over one connection, opened on first use. Raises `ApiError`."""

    def __init__(self, kubeconfig: str | None = None, context: str | None = None) -> None:
        """Use ``kubeconfig``, else K8S_AUTH_KUBECONFIG, KUBECONFIG, or the pod's credentials."""
        if IMPORT_ERROR:
            raise ApiError(0, f"a Python package is missing: {IMPORT_ERROR}")
        self._path = (
            kubeconfig or os.environ.get("K8S_AUTH_KUBECONFIG") or os.environ.get("KUBECONFIG")
        )
        self._context = context or os.environ.get("K8S_AUTH_CONTEXT")

    @property
    def source(self) -> tuple[t.Any, ...] | None:
        """A key that clients with the same connection share; None if it cannot be determined.

        A connection belongs to one process. In a pod the credentials are renewed periodically.
        """
        if uses_pod_credentials(self._path):
            return None
        try:
            status = Path(self._path or DEFAULT_KUBECONFIG).expanduser().stat()
        except OSError:
            return None
        return self._path, self._context, status.st_mtime_ns, status.st_ino, os.getpid()

    @cached_property
    def namespace(self) -> str:
        """The namespace of the kubeconfig's context, or of the pod; by default `default`."""
        if uses_pod_credentials(self._path):
            file = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
            return file.read_text().strip() if file.is_file() else "default"
        try:
            context = self._kubeconfig.current
        except Exception as error:  # as in _server
            raise self._unusable(error) from error
        return str(context["namespace"]) if "namespace" in context else "default"

    @property
    def contexts(self) -> list[str]:
        """The contexts of the kubeconfig."""
        return self._kubeconfig.contexts

    @property
    def _kubeconfig(self) -> Kubeconfig:
        return read_kubeconfig(self._path or DEFAULT_KUBECONFIG, self._context)

    @cached_property
    def _server(self) -> Connection:
        """Loaded on first use: a report with nothing to write needs no connection."""
        try:
            return connect(self._path, self._context)
        except Exception as error:  # the loader wraps only some errors of a bad file
            raise self._unusable(error) from error

    def _unusable(self, error: Exception) -> ApiError:
        return ApiError(
            0,
            f"no usable kubeconfig {self._path or DEFAULT_KUBECONFIG}: {error} (name one in"
            " the parameter kubeconfig, or in K8S_AUTH_KUBECONFIG or KUBECONFIG)",
        )

    def get(self, path: str, **query: str) -> Json | None:
        """The object at a path; None if it, or its kind, does not exist."""
        return self._get(path, query=query)

    def get_each(self, path: str, paths: t.Sequence[str]) -> dict[str, Json | None]:
        """The objects at ``paths`` by path, None for those that do not exist, in one request.

        ``path``: where nimops-apiproxy answers. Objects that could not be read are missing; so are
        all if a request for each costs no more.
        """
        paths = [name for name in paths if "%" not in name and not _NO_NAME.search(name)]
        if len(paths) < 2:
            return {}
        answer = self._call_json("GET", path, query={"paths": ",".join(paths)})
        found: dict[str, Json | None] = {}
        for name, item in zip(paths, answer.get("items") or [], strict=False):
            if item["status"] == 200 and isinstance(item["body"], dict):
                found[name] = item["body"]
            elif item["status"] == 404:
                found[name] = None
        return found

    def get_whole(self, path: str) -> Json | None:
        """Like `get`, but with the keys that other methods remove because Ansible reserves them."""
        return self._get(path, whole=True)

    def get_presence(self, path: str) -> Json | None:
        """{"metadata": …} of the object at a path, never its contents; None if there is none."""
        found = self._get(path, accept=_ACCEPT_METADATA % "")
        if found is None:
            return None
        metadata = found["metadata"]
        return {"metadata": {key: metadata[key] for key in _SHOWN_METADATA if key in metadata}}

    def is_cached(self, path: str) -> bool:
        """Whether the runtime's cache contains the object; the runtime then watches it."""
        try:
            _data, headers = self._exchange("GET", path)
        except ApiError as error:
            if error.status in (403, 404):
                return False
            raise
        return headers.get("X-Cache") == "HIT"

    def get_text(self, path: str, limit: int, **query: str) -> str:
        """The text at a path (a pod's log), truncated to ``limit`` bytes."""
        return self._call("GET", path, query=query, limit=limit).decode(errors="replace")

    def stream(
        self,
        path: str,
        body: Json | None = None,
        *,
        seconds: float | None = None,
        limit: int | None = None,
        query: t.Mapping[str, str] | None = None,
    ) -> Stream:
        """The answer to a GET, or to a POST of a ``body``, of any status, in pieces.

        For what the API server's proxies forward, so such requests are not repeated. ApiError if
        there is no answer, TimeoutError after ``seconds``.
        """
        method, content_type = ("POST", "application/json") if body else ("GET", "")
        request = self._prepare(
            method, path, body, content_type, query=query, accept="*/*", seconds=seconds
        )
        try:
            return Stream(request, seconds, limit)
        except StreamError as error:
            raise self._unreachable(error) from error

    def stream_text(self, path: str, seconds: float | None = None, **query: str) -> Stream:
        """The text at a path (a pod's log), in pieces. Errors as in `stream`, and ApiError."""
        found = self.stream(path, seconds=seconds, query=query)
        if found.status != 200:
            raise ApiError(found.status, _explain(found.status, found.read_start(_MAX_ERROR)))
        return found

    def list_metadata(self, path: str) -> list[Json]:
        """[{"metadata": …}] of a collection, without the rest of the objects."""
        items: list[Json] = []
        query = {"limit": "500"}
        while True:
            page = self._call_json("GET", path, query=query, accept=_ACCEPT_METADATA % "List")
            items += [{"metadata": item["metadata"]} for item in page.get("items") or []]
            if not (token := (page.get("metadata") or {}).get("continue")):
                return items
            query["continue"] = token

    def list_table(self, path: str, **query: str) -> Json:
        """A collection as a table: columns, and rows with metadata."""
        table: Json = {}
        query["limit"] = "500"
        while True:
            page = self._call_json("GET", path, query=query, accept=_ACCEPT_TABLE)
            page["rows"] = (table.get("rows") or []) + (page.get("rows") or [])
            table = page
            if not (token := (page.get("metadata") or {}).get("continue")):
                return table
            query["continue"] = token

    def list_objects(self, path: str, **query: str) -> list[Json] | None:
        """The objects of a collection; None if the API server does not serve the kind.

        Without paging: the operator's proxy answers from its cache, which does not support pages.
        """
        found = self.get(path, **query)
        return None if found is None else found.get("items") or []

    def patch(self, path: str, body: Json, field_manager: str = "", *, dry: bool = False) -> Json:
        """JSON merge patch; returns the patched object. ``dry``: as a dry run."""
        query = {"fieldManager": field_manager} if field_manager else {}
        if dry:
            query["dryRun"] = "All"
        return self._call_json("PATCH", path, body, "application/merge-patch+json", query=query)

    def apply(self, path: str, body: Json, field_manager: str, *, dry: bool = False) -> Json:
        """Forced server-side apply; returns the resulting object. ``dry``: as a dry run."""
        query = {"fieldManager": field_manager, "force": "true"}
        if dry:
            query["dryRun"] = "All"
        return self._call_json("PATCH", path, body, "application/apply-patch+yaml", query=query)

    def delete(self, path: str, uid: str = "", *, leave_dependents: bool = False) -> Json:
        """Delete an object, ``uid`` if given, and its dependents in the background."""
        options: Json = {"kind": "DeleteOptions", "apiVersion": "v1"}
        options["propagationPolicy"] = "Orphan" if leave_dependents else "Background"
        if uid:
            options["preconditions"] = {"uid": uid}
        return self._call_json("DELETE", path, options, "application/json")

    def evict(self, path: str, name: str, namespace: str, uid: str = "") -> Json:
        """Evict the pod at ``path``, with the ``uid`` if given.

        ApiError 429 while a PodDisruptionBudget does not allow it. The runtime's proxy does not
        change a POST to a subresource.
        """
        body: Json = {"apiVersion": "policy/v1", "kind": "Eviction"}
        body["metadata"] = {"name": name, "namespace": namespace}
        if uid:
            body["deleteOptions"] = {"preconditions": {"uid": uid}}
        return self._call_json("POST", f"{path}/eviction", body, "application/json")

    def _get(self, path: str, **options: t.Any) -> Json | None:
        try:
            return self._call_json("GET", path, **options)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def _call_json(
        self, method: str, path: str, *args: t.Any, whole: bool = False, **options: t.Any
    ) -> Json:
        data = self._call(method, path, *args, **options)
        try:
            answer = _parse(data)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise ApiError(0, f"the API server's answer to {method} {path} is not JSON")
        if not whole and _MARKER in data:
            remove_reserved_keys(answer)
        return answer

    def _call(self, method: str, path: str, *args: t.Any, **options: t.Any) -> bytes:
        return self._exchange(method, path, *args, **options)[0]

    def _exchange(
        self,
        method: str,
        path: str,
        body: Json | None = None,
        content_type: str = "",
        *,
        query: t.Mapping[str, str] | None = None,
        accept: str = "application/json",
        limit: int | None = None,
    ) -> tuple[bytes, t.Mapping[str, str]]:
        request = self._prepare(method, path, body, content_type, query=query, accept=accept)
        size = len(request.keywords["body"] or b"")
        try:
            for repeats_left in range(_REPEATS, -1, -1):
                response, data = _send(request, limit, size)
                seconds = _retry_after(response, path)
                if seconds is None or not repeats_left:
                    break
                time.sleep(seconds)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise self._unreachable(explain(error)) from error
        if response.status >= 300:
            raise ApiError(response.status, _explain(response.status, data))
        return data, response.headers

    def _unreachable(self, why: object) -> ApiError:
        return ApiError(0, f"the API server {self._server.host} cannot be reached: {why}")

    def _prepare(
        self,
        method: str,
        path: str,
        body: Json | None,
        content_type: str,
        *,
        query: t.Mapping[str, str] | None,
        accept: str,
        seconds: float | None = _READ_SECONDS,
    ) -> partial[t.Any]:
        """A function that sends a request; ``seconds``: of each read."""
        if _NO_NAME.search(path):
            raise ApiError(404, f"{path}: no object can have such a name")
        server = self._server
        headers = {"Accept": accept, **server.authorization}
        if content_type:
            headers["Content-Type"] = content_type
        url = f"{server.host}{path}"
        if query:
            url += f"?{urlencode(query)}"

        return partial(
            server.pool.request,
            method,
            url,
            body=None if body is None else _encode(body),
            headers=headers,
            timeout=urllib3.Timeout(connect=_CONNECT_SECONDS, read=seconds),
            retries=False,
            preload_content=False,
        )


def _send(request: t.Callable[[], t.Any], limit: int | None, size: int) -> tuple[t.Any, bytes]:
    """The response to a request with a body of ``size`` bytes, and up to ``limit`` bytes of it."""
    try:
        return _read(request(), limit)
    except urllib3.exceptions.ProtocolError as error:
        if size > _MAX_REPEATED:
            raise ApiError(
                _BODY_TOO_LARGE,
                f"the connection broke while {show_size(size)} were sent, which may be too large:"
                f" {explain(error)}",
            ) from error
        # The runtime's proxy occasionally breaks a connection. All requests are idempotent: a write
        # names the version, or the uid, of its object.
        return _read(request(), limit)


def _read(response: t.Any, limit: int | None) -> tuple[t.Any, bytes]:
    try:
        return response, t.cast(bytes, response.read(limit))
    finally:
        response.close()


def _retry_after(response: t.Any, path: str) -> int | None:
    """Seconds after which to repeat the request; None if the API server does not ask for it.

    A PodDisruptionBudget can block an eviction for minutes: the next pass repeats it.
    """
    after = response.headers.get("Retry-After") or ""
    if response.status not in _BUSY or path.endswith("/eviction"):
        return None
    return min(int(after[:9]), _MAX_WAIT_SECONDS) if after.isdecimal() else None


def _encode(body: Json) -> bytes:
    """JSON that is also valid YAML, which allows neither surrogates nor raw control characters."""
    text = json.dumps(body, ensure_ascii=False)
    return _NOT_YAML.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode(errors="replace")


def _explain(status: int, body: bytes) -> str:
    """The API server's own message."""
    try:
        return str(json.loads(body)["message"])
    except (TypeError, ValueError, KeyError):
        text = body.decode(errors="replace").strip()[:_MAX_PLAIN_ERROR]
        return f"HTTP {status}: {text}" if text else f"HTTP {status}"


def _parse(data: bytes) -> t.Any:
    """The parsed answer; if it is nested too deeply, the part that `oversized.py` needs."""
    try:
        return json.loads(data)
    except RecursionError:
        return json.loads(cut_nesting(data, _MAX_DEPTH))
