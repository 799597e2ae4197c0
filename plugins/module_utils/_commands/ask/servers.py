# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The ways to a model server: the API server's Service proxy, or a URL."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass
from urllib.parse import urlsplit

from ..._base.errors import NimError
from ..._base.types import Json
from ..._cluster.client import Client
from ..._engine.api_resources import api_path
from ..._engine.metadata import is_controlled_by
from ..._http import model_server
from ..._http.stream import Stream, StreamError
from ..._nim.service.kserve.status import is_in_namespace
from .answers import AnswerError, error_text, parse_object

LIMIT_BYTES = 16 << 20
_ERROR_BYTES = 1 << 16
_API_PORT = "api"
_LABEL = re.compile(r"[a-z0-9-]{1,63}")
_PORTS = {"http": 80, "https": 443}
_OF_KNATIVE = "serving.knative.dev/service={},networking.internal.knative.dev/serviceType=Private"
_WITHOUT_PODS = ": only a request through the gateway of Knative starts pods: set --endpoint"


class UnreachableError(NimError):
    """No answer of the model server itself."""


class RefusedError(NimError):
    """An error of the model server. ``status``: of HTTP."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class Server(t.Protocol):
    """A model server."""

    @property
    def name(self) -> str:
        """How messages call it."""

    def send(self, path: str, body: Json | None, seconds: float) -> Stream:
        """The answer with status 200. UnreachableError, RefusedError, or TimeoutError."""


@dataclass(frozen=True)
class Endpoint:
    """The server at a URL."""

    url: str

    @property
    def name(self) -> str:
        """The URL."""
        return self.url

    def send(self, path: str, body: Json | None, seconds: float) -> Stream:
        """Send it there, and follow no redirect."""
        try:
            found = model_server.stream(
                f"{self.url}{path}", body, seconds=seconds, limit=LIMIT_BYTES
            )
        except StreamError as error:
            raise UnreachableError(f"{self.url} cannot be reached: {error}") from error
        if found.status != 200:
            _refuse(path, found, found.read_start(_ERROR_BYTES))
        return found


@dataclass(frozen=True)
class ServiceProxy:
    """The server behind a Service, through the API server.

    ``remedy``: what to add to the API server's message if the Service has no pods.
    """

    client: Client
    namespace: str
    service: str
    port: int
    scheme: str = ""
    remedy: str = ""

    @property
    def name(self) -> str:
        """The Service."""
        return f"Service {self.namespace}/{self.service}"

    def send(self, path: str, body: Json | None, seconds: float) -> Stream:
        """Send it through the API server, whose own errors have the kind Status."""
        name = ":".join(filter(None, (self.scheme, self.service, str(self.port))))
        whole = f"{api_path('Service', self.namespace)}/{name}/proxy{path}"
        found = self.client.stream(whole, body, seconds=seconds, limit=LIMIT_BYTES)
        if found.status == 200:
            return found
        content = found.read_start(_ERROR_BYTES)
        try:
            status = parse_object(content)
        except AnswerError:
            status = {}
        if status.get("kind") == "Status" and status.get("apiVersion") == "v1":
            raise self._explain(found.status, error_text(content), "create" if body else "get")
        _refuse(path, found, content)
        return found

    def _explain(self, status: int, message: str, verb: str) -> NimError:
        """The error of the API server, with its remedy."""
        text = f"{self.name} cannot be reached through the API server: {message}"
        if status == 403:
            text += (
                f": a Role in the namespace {self.namespace} must allow {verb} on services/proxy"
                " (get lists models, create asks); or forward the port, and set --endpoint"
            )
        elif status == 503:
            text += self.remedy
        return UnreachableError(text)


def _refuse(path: str, found: Stream, content: bytes) -> t.NoReturn:
    """RefusedError with the remedy."""
    status, message = found.status, error_text(content)
    if 300 <= status < 400:
        raise RefusedError(
            f"{path}: the model server redirects, and ask does not follow redirects", status
        )
    remedy = _REMEDIES.get(status, "")
    text = ": ".join(part for part in (f"{path}: HTTP status {status}", message, remedy) if part)
    raise RefusedError(text, status)


_REMEDIES = {
    401: "the model server requires credentials, and ask sends none",
    403: "the model server denies access; ask sends no credentials",
    429: "the model server is busy: try again later",
    502: "a proxy received no valid response from the model server",
    503: "the model server is not ready",
    504: "a proxy received no response from the model server in time",
}


def parse_endpoint(url: str) -> Endpoint:
    """The server at a URL, which may end in /v1. NimError if it is not such a URL."""
    try:
        parts = urlsplit(url.strip())
        is_valid = parts.scheme in _PORTS and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid or not url.strip().isprintable():
        raise NimError("endpoint: is not a URL such as http://127.0.0.1:8000")
    if parts.username is not None or parts.query or parts.fragment:
        raise NimError("endpoint: must contain neither credentials nor a query")
    return Endpoint(url.strip().rstrip("/").removesuffix("/v1"))


def find_proxy(client: Client, service: Json) -> ServiceProxy:
    """The Service of a NIMService. NimError if there is none yet."""
    name, namespace = service["metadata"]["name"], service["metadata"]["namespace"]
    url = status_endpoint(service)
    if "://" in url:
        return _find_predictor(client, url, namespace)
    owned = [
        item
        for item in client.list_objects(api_path("Service", namespace)) or []
        if is_controlled_by(item, service) and _port_of(item)
    ]
    if not owned:
        raise UnreachableError(f"NIMService {namespace}/{name} has no Service with a port api yet")
    found = min(owned, key=lambda item: not url.startswith(f"{_address_of(item)}:"))
    return ServiceProxy(client, namespace, found["metadata"]["name"], _port_of(found))


def find_direct(service: Json) -> Endpoint | None:
    """The address in the status, which can be reached in the cluster or beside it."""
    url = status_endpoint(service)
    if not url:
        return None
    try:
        return parse_endpoint(url if "://" in url else f"http://{url}")
    except NimError:
        return None


def status_endpoint(service: Json) -> str:
    """The address inside the cluster according to the status; empty if unknown."""
    return str(_model_of(service).get("clusterEndpoint") or "")


def status_model(service: Json) -> str:
    """The name of the model according to the status; empty if unknown."""
    return str(_model_of(service).get("name") or "")


def external_endpoint(service: Json) -> str:
    """The address outside the cluster according to the status; empty if there is none."""
    return str(_model_of(service).get("externalEndpoint") or "")


def _find_predictor(client: Client, url: str, namespace: str) -> ServiceProxy:
    """The Service in the URL that KServe reports."""
    try:
        parts = urlsplit(parse_endpoint(url).url)
    except NimError:
        parts = urlsplit("")
    host = str(parts.hostname or "").partition(".")[0]
    if not is_in_namespace(url, namespace) or not _LABEL.fullmatch(host):
        raise UnreachableError("KServe reports no Service of this namespace: set --endpoint")
    if revision := _find_revision(client, namespace, host):
        port = _PORTS["http"]
        return ServiceProxy(client, namespace, revision, port, remedy=_WITHOUT_PODS)
    scheme = "https" if parts.scheme == "https" else ""
    return ServiceProxy(client, namespace, host, parts.port or _PORTS[parts.scheme], scheme)


def _find_revision(client: Client, namespace: str, host: str) -> str:
    """The Service of the pods of Knative's last revision; empty if Knative does not run them.

    The Service in the URL then only leads to a gateway, to which the API server sends no requests.
    """
    found = client.list_objects(
        api_path("Service", namespace), labelSelector=_OF_KNATIVE.format(host)
    )
    metadata: list[Json] = [item["metadata"] for item in found or []]
    last: Json = max(
        metadata, key=lambda it: (it.get("creationTimestamp", ""), it["name"]), default={}
    )
    return str(last.get("name") or "")


def _model_of(service: Json) -> Json:
    return (service.get("status") or {}).get("model") or {}


def _port_of(service: Json) -> int:
    """The port of the API; 0 without one."""
    ports = service["spec"].get("ports") or []
    return next((int(item["port"]) for item in ports if item.get("name") == _API_PORT), 0)


def _address_of(service: Json) -> str:
    address = service["spec"].get("clusterIP") or ""
    return f"[{address}]" if ":" in address else address
