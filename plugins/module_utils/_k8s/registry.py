# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The model-download protocol of an image, read from its registry without starting it.

``NIMOPS_REGISTRIES`` says which registries may be asked: a comma-separated list of host patterns
(``*`` by default, empty for none), so that air-gapped clusters do not wait for answers that never
come.
"""

from __future__ import annotations

import base64
import fnmatch
import json
import os
import re
import typing as t

import urllib3

LABEL = "com.nvidia.nim.model_download_protocol"
NATIVE, LEGACY = "native", "legacy"

_ACCEPT = ", ".join(
    (
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
        "application/vnd.oci.image.manifest.v1+json",
        "application/vnd.docker.distribution.manifest.v2+json",
    )
)
_DOCKER_HUB = {"docker.io", "index.docker.io", "registry-1.docker.io"}
_LIMIT = 8 << 20
_TIMEOUT = urllib3.Timeout(connect=2.0, read=5.0)
_REFERENCE = re.compile(
    r"(?:(?P<host>[^/]*[.:][^/]*|localhost)/)?(?P<name>[^:@]+)(?::(?P<tag>[^@]+))?(?:@(?P<digest>.+))?"
)

Json = dict[str, t.Any]


class RegistryError(Exception):
    """The registry gave no usable answer."""


class Reference(t.NamedTuple):
    """An image reference, taken apart; ``version`` is a tag or a digest."""

    host: str
    name: str
    version: str


def parse_reference(image: str) -> Reference:
    """Take an image reference apart as container runtimes do; RegistryError if it is none."""
    match = _REFERENCE.fullmatch(image)
    if not match:
        raise RegistryError(f"{image!r} is no image reference")
    host, name = match["host"] or "docker.io", match["name"]
    if host in _DOCKER_HUB:
        host = "registry-1.docker.io"
        name = name if "/" in name else f"library/{name}"
    return Reference(host, name, match["digest"] or match["tag"] or "latest")


def find_credentials(configs: t.Sequence[str | None], host: str) -> str:
    """``user:password`` for a registry from `.dockerconfigjson` values (base64), first match wins.

    Empty if none matches. RegistryError if a Secret is missing or holds something else: the kubelet
    would not be able to pull with it either.
    """
    for config in configs:
        if config is None:
            raise RegistryError("a pull secret does not exist or has no .dockerconfigjson")
        try:
            auths = json.loads(base64.b64decode(config)).get("auths") or {}
        except (ValueError, AttributeError) as error:
            raise RegistryError("a pull secret's .dockerconfigjson is not valid") from error
        for server, entry in auths.items():
            if _host_of(server) == _host_of(host):
                return _user_and_password(entry)
    return ""


def _host_of(server: str) -> str:
    host = server.split("://", 1)[-1].split("/", 1)[0]
    return "docker.io" if host in _DOCKER_HUB else host


def _user_and_password(entry: Json) -> str:
    if entry.get("username"):
        return f"{entry['username']}:{entry.get('password', '')}"
    return base64.b64decode(entry.get("auth") or "").decode(errors="replace")


def is_registry_allowed(host: str) -> bool:
    """Whether ``NIMOPS_REGISTRIES`` lets us ask this registry."""
    patterns = os.environ.get("NIMOPS_REGISTRIES", "*").split(",")
    return any(fnmatch.fnmatchcase(host, pattern.strip()) for pattern in patterns)


def download_protocol(image: str, docker_configs: t.Sequence[str | None]) -> str:
    """``native``, ``legacy``, or an empty string if the registry gave no answer."""
    try:
        reference = parse_reference(image)
        if not is_registry_allowed(reference.host):
            return ""
        registry = _Registry(reference, find_credentials(docker_configs, reference.host))
        protocols = {registry.protocol(manifest) for manifest in registry.manifests()}
    except (RegistryError, urllib3.exceptions.HTTPError, ValueError, KeyError):
        return ""
    return protocols.pop() if len(protocols) == 1 else ""


class _Registry:
    """One image of one registry."""

    def __init__(self, reference: Reference, credentials: str) -> None:
        host = reference.host.split(":")[0]
        scheme = "http" if host in ("localhost", "127.0.0.1") else "https"
        self._base = f"{scheme}://{reference.host}/v2/{reference.name}"
        self._version = reference.version
        self._credentials = credentials
        self._authorization = ""
        self._pool = urllib3.PoolManager(
            timeout=_TIMEOUT, retries=urllib3.Retry(1, redirect=3, raise_on_status=False)
        )

    def manifests(self) -> list[Json]:
        """The manifests of all platforms; of a plain image, its only one."""
        top = self._get(f"manifests/{self._version}")
        if "manifests" not in top:
            return [top]
        return [
            self._get(f"manifests/{entry['digest']}")
            for entry in top["manifests"]
            if _is_platform(entry)
        ]

    def protocol(self, manifest: Json) -> str:
        """What the label of the image's config says."""
        config = self._get(f"blobs/{manifest['config']['digest']}")
        labels = (config.get("config") or {}).get("Labels") or {}
        return NATIVE if labels.get(LABEL) == "native-v1" else LEGACY

    def _get(self, path: str) -> Json:
        response = self._request(f"{self._base}/{path}")
        if response.status == 401 and not self._authorization:
            self._authorization = self._authorize(response.headers.get("WWW-Authenticate", ""))
            response = self._request(f"{self._base}/{path}")
        if response.status != 200:
            raise RegistryError(f"HTTP {response.status}")
        return t.cast(Json, json.loads(response.data))

    def _request(self, url: str, authorization: str = "") -> t.Any:
        headers = {"Accept": _ACCEPT, "User-Agent": "k8s-nim-operator"}
        if authorization or self._authorization:
            headers["Authorization"] = authorization or self._authorization
        response = self._pool.request("GET", url, headers=headers, preload_content=False)
        try:
            data = response.read(_LIMIT + 1)
        finally:
            response.close()
        if len(data) > _LIMIT:
            raise RegistryError("the answer is too large")
        return _Answer(response.status, response.headers, data)

    def _authorize(self, challenge: str) -> str:
        """The Authorization header that the registry's challenge asks for."""
        scheme, _sep, rest = challenge.partition(" ")
        basic = "Basic " + base64.b64encode(self._credentials.encode()).decode()
        if scheme.lower() == "basic":
            return basic
        given = dict(re.findall(r'(\w+)="([^"]*)"', rest))
        query = "&".join(f"{key}={given[key]}" for key in ("service", "scope") if key in given)
        answer = self._request(
            f"{given['realm']}?{query}", basic if self._credentials else ""
        )
        if answer.status != 200:
            raise RegistryError(f"HTTP {answer.status} from the token service")
        token = json.loads(answer.data)
        return f"Bearer {token.get('token') or token['access_token']}"


class _Answer(t.NamedTuple):
    status: int
    headers: t.Mapping[str, str]
    data: bytes


def _is_platform(entry: Json) -> bool:
    platform = entry.get("platform") or {}
    kind = (entry.get("annotations") or {}).get("vnd.docker.reference.type")
    unknown = "unknown" in (platform.get("os"), platform.get("architecture"))
    return kind != "attestation-manifest" and not unknown
