# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Connections to the API server, from a kubeconfig or the credentials of a pod.

A kubeconfig with plain credentials is read here: the official client, which also runs credential
plugins and uses proxies, takes a quarter of a second to import.
"""

from __future__ import annotations

import base64
import logging
import os
import ssl
import tempfile
import typing as t
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .._base.errors import ApiError
from .._base.printable import name_some, printable
from .._http.tls import unify_verification

try:
    import urllib3
    import yaml
    from urllib3.util.ssl_ import create_urllib3_context

    IMPORT_ERROR: str | None = None
except ImportError as error:
    IMPORT_ERROR = str(error)

DEFAULT_KUBECONFIG = "~/.kube/config"
MAX_CONNECTIONS = 4
"""Maximum number of requests at a time. A pool of fewer connections would open one per request."""
_PLAIN_CLUSTER = {
    *("server", "certificate-authority", "certificate-authority-data"),
    *("insecure-skip-tls-verify", "extensions"),
}
_PLAIN_USER = {
    *("client-certificate", "client-certificate-data", "client-key", "client-key-data"),
    *("token", "username", "password"),
}
_PATHS = ("certificate-authority", "client-certificate", "client-key", "tokenFile")
_MAX_SHOWN = 10
_MAX_TEXT = 500
_PROXIES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")


@dataclass(frozen=True)
class Connection:
    """The API server's URL, a connection pool, and headers with the user's credentials."""

    host: str
    pool: t.Any
    authorization: dict[str, str]


@dataclass(frozen=True)
class Kubeconfig:
    """The contents of a kubeconfig. ``folder``: the base of its relative paths."""

    content: t.Any
    folder: str
    context: str | None

    @property
    def contexts(self) -> list[str]:
        """The names of all contexts."""
        return [str(item["name"]) for item in self.content.get("contexts") or []]

    @property
    def current(self) -> dict[str, t.Any]:
        """The chosen context. Raises the errors of an invalid kubeconfig."""
        name = self.context or self.content.get("current-context")
        if not name:
            raise ApiError(
                0, f"it has no current-context: choose a context of {self._name_contexts()}"
            )
        found = _find(self.content["contexts"], name, "context")
        if found is None:
            raise ApiError(0, f"it has no context {name}, only {self._name_contexts()}")
        return found

    def _name_contexts(self) -> str:
        return name_some(self.contexts, _MAX_SHOWN) or "none"


def uses_pod_credentials(path: str | None) -> bool:
    """Whether to use the credentials of the pod."""
    return not path and bool(os.environ.get("KUBERNETES_SERVICE_HOST"))


def read_kubeconfig(path: str, context: str | None) -> Kubeconfig:
    """Read a kubeconfig, or several as kubectl does: the first file that has an item wins.

    With libyaml, which is ten times faster than what the official client uses.
    """
    files = [Path(item).expanduser() for item in path.split(os.pathsep) if item]
    existing = [file for file in files if file.exists()]
    if not existing:
        raise ApiError(0, "it does not exist")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    read = [(file, yaml.load(file.read_bytes(), Loader=loader)) for file in existing]
    contents = [(file, content) for file, content in read if content is not None]
    if not contents:
        raise ApiError(0, "it is empty")
    file, content = contents[0]
    if len(contents) > 1:
        content = _merge(contents)
    return Kubeconfig(content, str(file.absolute().parent), context)


def _merge(contents: list[tuple[Path, t.Any]]) -> dict[str, t.Any]:
    """Several kubeconfigs as one, with absolute paths."""
    merged: dict[str, dict[str, t.Any]] = {"clusters": {}, "users": {}, "contexts": {}}
    current = ""
    for file, content in contents:
        if not isinstance(content, dict):
            raise ApiError(0, f"{file} is not a kubeconfig")
        current = current or content.get("current-context") or ""
        for part, found in merged.items():
            for item in content.get(part) or []:
                found.setdefault(item["name"], _locate(item, file.absolute().parent))
    return {
        **{part: list(found.values()) for part, found in merged.items()},
        "current-context": current,
    }


def _locate(item: dict[str, t.Any], folder: Path) -> dict[str, t.Any]:
    """An item of a kubeconfig in a folder, with absolute paths."""
    found = dict(item)
    for part in ("cluster", "user"):
        if isinstance(item.get(part), dict):
            paths = {key: str(folder / item[part][key]) for key in _PATHS if item[part].get(key)}
            found[part] = item[part] | paths
    return found


def connect(path: str | None, context: str | None) -> Connection:
    """A connection to the API server. Raises the errors of an invalid kubeconfig."""
    with tempfile.TemporaryDirectory(prefix="nimops-") as folder:
        if not uses_pod_credentials(path):
            kubeconfig = read_kubeconfig(path or DEFAULT_KUBECONFIG, context)
            if (plain := _connect_plainly(kubeconfig, folder)) is not None:
                return plain
            return _connect_with_library(kubeconfig, folder)
        return _connect_with_library(None, folder)


def _connect_plainly(kubeconfig: Kubeconfig, folder: str) -> Connection | None:
    """None if the kubeconfig needs the official client, or is one that it may refuse."""
    if any(os.environ.get(name) for name in _PROXIES):
        return None
    cluster, user = _find_credentials(kubeconfig)
    if cluster is None or user is None:
        return None
    host = str(cluster["server"]).rstrip("/")
    if not host.startswith("https:"):
        pool = urllib3.PoolManager(maxsize=MAX_CONNECTIONS)
        return Connection(host, pool, _authorize(user))
    files = _Files(Path(kubeconfig.folder), Path(folder))
    is_verified = not cluster.get("insecure-skip-tls-verify")
    context = create_urllib3_context(cert_reqs=ssl.CERT_REQUIRED if is_verified else ssl.CERT_NONE)
    _load_authorities(context, files.find(cluster, "certificate-authority"))
    _load_identity(context, files.find(user, "client-certificate"), files.find(user, "client-key"))
    pool = urllib3.PoolManager(
        maxsize=MAX_CONNECTIONS, ssl_context=context, cert_reqs=context.verify_mode
    )
    return Connection(host, pool, _authorize(user))


def _find_credentials(
    kubeconfig: Kubeconfig,
) -> tuple[dict[str, t.Any] | None, dict[str, t.Any] | None]:
    """The cluster and the user of the context, None if they have more than plain credentials."""
    try:
        current, content = kubeconfig.current, kubeconfig.content
        cluster = _find(content["clusters"], current["cluster"], "cluster")
        user = _find(content["users"], current["user"], "user")
    except (AttributeError, KeyError, TypeError):
        return None, None  # the official client explains it
    is_plain = (
        cluster is not None
        and user is not None
        and set(cluster) <= _PLAIN_CLUSTER
        and set(user) <= _PLAIN_USER
        and isinstance(cluster.get("server"), str)
    )
    return (cluster, user) if is_plain else (None, None)


def _find(items: t.Any, name: t.Any, key: str) -> dict[str, t.Any] | None:
    """The object under ``key`` of the item with this name."""
    found = next((item[key] for item in items if item["name"] == name), None)
    return found if isinstance(found, dict) else None


def _authorize(user: dict[str, t.Any]) -> dict[str, str]:
    if user.get("token"):
        return {"authorization": f"Bearer {user['token']}"}
    if user.get("username") and user.get("password"):
        return urllib3.util.make_headers(basic_auth=f"{user['username']}:{user['password']}")
    return {}


class _Files:
    """The files of a kubeconfig, inline ones under temporary names."""

    def __init__(self, base: Path, folder: Path) -> None:
        self._base, self._folder = base, folder

    def find(self, item: dict[str, t.Any], key: str) -> str | None:
        """The path of the file in ``key``, or of one with the content of ``key``-data."""
        if data := item.get(f"{key}-data"):
            file = self._folder / key
            file.write_bytes(base64.b64decode(data))
            return str(file)
        return str(self._base / item[key]) if item.get(key) else None


def _connect_with_library(kubeconfig: Kubeconfig | None, folder: str) -> Connection:
    """The connection of the official client; without a kubeconfig, of the pod.

    ``folder`` gets the inline certificates and keys.
    """
    import kubernetes.client
    import kubernetes.client.rest
    import kubernetes.config

    configuration = kubernetes.client.Configuration()
    if kubeconfig is None:
        kubernetes.config.load_incluster_config(client_configuration=configuration)
    else:
        with _collected_errors() as errors:
            # load_kube_config has no folder parameter in old versions, and would write the file
            kubernetes.config.kube_config.KubeConfigLoader(
                kubeconfig.content,
                active_context=kubeconfig.context,
                config_base_path=kubeconfig.folder,
                temp_file_path=folder,
            ).load_and_set(configuration)
        has_credentials = configuration.cert_file or configuration.auth_settings()
        if errors and not has_credentials:  # it would continue as an anonymous user
            raise ApiError(0, f"its credential plugin failed: {errors[-1]}")
    pool = _load_certificates(
        configuration.host, kubernetes.client.rest.RESTClientObject(configuration).pool_manager
    )
    authorization = {
        setting["key"]: setting["value"]
        for setting in configuration.auth_settings().values()
        if setting["in"] == "header" and setting["value"]
    }
    return Connection(configuration.host.rstrip("/"), pool, authorization)


@contextmanager
def _collected_errors() -> t.Iterator[list[str]]:
    """The errors that the official client logs instead of raising them."""
    found: list[str] = []

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.append(printable(record.getMessage(), _MAX_TEXT))

    collector, root = Collector(logging.ERROR), logging.getLogger()
    root.addHandler(collector)
    try:
        yield found
    finally:
        root.removeHandler(collector)


def _load_certificates(host: str, pool: t.Any) -> t.Any:
    """The official client's connection pool, with the certificates already loaded.

    Otherwise the pool would read the files for each connection, so they would have to remain, and
    nothing would delete them: Ansible's workers exit without running exit handlers.
    """
    if not host.startswith("https:"):
        return pool
    options = pool.connection_pool_kw
    context = create_urllib3_context(cert_reqs=options["cert_reqs"])
    _load_authorities(context, options.pop("ca_certs", None), options.pop("ca_cert_data", None))
    _load_identity(context, options.pop("cert_file", None), options.pop("key_file", None))
    options["ssl_context"] = context
    return pool


def _load_authorities(context: ssl.SSLContext, file: str | None, data: t.Any = None) -> None:
    unify_verification(context)
    if file or data:
        context.load_verify_locations(cafile=file, cadata=data)
    else:
        context.load_default_certs()


def _load_identity(context: ssl.SSLContext, certificate: str | None, key: str | None) -> None:
    if certificate:
        context.load_cert_chain(certificate, key, password="")
