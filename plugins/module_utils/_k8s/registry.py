# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The model-download protocol of an image, read from its registry without starting it.

``NIMOPS_REGISTRIES`` says which registries may be asked: a comma-separated list of host patterns
(``*`` by default, empty for none), so that air-gapped clusters do not wait for answers that never
come. Registries are asked over https, those on this machine over http; proxies of the environment
are used.

Credentials leave for two places only: the registry that they are for, and, over https, the token
service that this registry names. Redirects to other hosts do not carry them.
"""

from __future__ import annotations

import base64
import fnmatch
import json
import os
import re
import typing as t
from urllib.parse import urlencode, urlsplit
from urllib.request import getproxies, proxy_bypass

from ansible_collections.nimops.nim.plugins.module_utils._k8s.transport import within

try:
    import urllib3
except ImportError:  # every file must import on a bare Python; Client tells what is missing
    urllib3 = None  # type: ignore[assignment]

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
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_LIMIT_BYTES = 8 << 20
LIMIT_SECONDS = 10.0
_REFERENCE = re.compile(
    r"(?:(?P<host>[\w.-]*[.:][\w.:-]*|localhost|\[[\da-f:]+\](?::\d+)?)/)?"
    r"(?P<name>[a-z\d]+(?:(?:[./]|__?|-+)[a-z\d]+)*)"
    r"(?::(?P<tag>\w[\w.-]{0,127}))?(?:@(?P<digest>\w+:[\da-f]+))?",
    re.ASCII,
)
_BEARER = re.compile(r'\bBearer\s+((?:\w+="[^"]*"[\s,]*)+)', re.IGNORECASE)
_BASIC = re.compile(r"\bBasic\b", re.IGNORECASE)
_PARAMETER = re.compile(r'(\w+)="([^"]*)"')

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
        for server, entry in _parse_config(config).items():
            if _host_of(server) == _host_of(host):
                return _user_and_password(entry)
    return ""


def _parse_config(config: str) -> dict[str, Json]:
    """Server → entry; errors do not quote what they are about."""
    try:
        auths = json.loads(base64.b64decode(config)).get("auths") or {}
        if all(isinstance(entry, dict) for entry in auths.values()):
            return t.cast(dict[str, Json], auths)
    except (ValueError, AttributeError):
        pass
    raise RegistryError("a pull secret's .dockerconfigjson is not valid")


def _host_of(server: str) -> str:
    host = server.split("://", 1)[-1].split("/", 1)[0]
    return "docker.io" if host in _DOCKER_HUB else host


def _user_and_password(entry: Json) -> str:
    if entry.get("username"):
        return f"{entry['username']}:{entry.get('password') or ''}"
    try:
        return base64.b64decode(entry.get("auth") or "").decode()
    except (ValueError, TypeError):
        raise RegistryError("a pull secret's auth is not valid") from None


def is_registry_allowed(host: str) -> bool:
    """Whether ``NIMOPS_REGISTRIES`` lets us ask this registry; patterns may leave out the port."""
    patterns = os.environ.get("NIMOPS_REGISTRIES", "*").split(",")
    names = (host, host.rsplit(":", 1)[0], _host_of(host))
    return any(fnmatch.fnmatchcase(name, item.strip()) for name in names for item in patterns)


def download_protocol(
    image: str, docker_configs: t.Sequence[str | None], seconds: float = LIMIT_SECONDS
) -> str:
    """``native``, ``legacy``, or an empty string if there was no answer within ``seconds``."""
    try:
        reference = parse_reference(image)
        if not is_registry_allowed(reference.host):
            return ""
        registry = _Registry(reference, find_credentials(docker_configs, reference.host))
        protocols = within(seconds, registry.protocols)
    except Exception:  # the contract: whatever goes wrong, there is no answer
        return ""
    return protocols.pop() if len(protocols) == 1 else ""


class _Registry:
    """One image of one registry."""

    def __init__(self, reference: Reference, credentials: str) -> None:
        host = urlsplit(f"//{reference.host}").hostname or ""
        self._scheme = "http" if host in _LOOPBACK else "https"
        self._base = f"{self._scheme}://{reference.host}/v2/{reference.name}"
        self._reference = reference
        self._credentials = credentials
        self._authorization = ""
        self._pool = _make_pool(self._scheme, host)

    def protocols(self) -> set[str]:
        """What the labels of all platforms' configs say."""
        return {self._protocol(manifest) for manifest in self._manifests()}

    def _manifests(self) -> list[Json]:
        """The manifests of all platforms; of a plain image, its only one."""
        top = self._get(f"manifests/{self._reference.version}")
        if "manifests" not in top:
            return [top]
        return [
            self._get(f"manifests/{entry['digest']}")
            for entry in top["manifests"]
            if _is_platform(entry)
        ]

    def _protocol(self, manifest: Json) -> str:
        config = self._get(f"blobs/{manifest['config']['digest']}")
        labels = (config.get("config") or {}).get("Labels") or {}
        return NATIVE if labels.get(LABEL) == "native-v1" else LEGACY

    def _get(self, path: str) -> Json:
        url = f"{self._base}/{path}"
        answer = self._request(url, self._authorization)
        if answer.status == 401 and not self._authorization:
            self._authorization = self._authorize(answer.challenge)
            answer = self._request(url, self._authorization)
        if answer.status != 200:
            raise RegistryError(f"HTTP {answer.status}")
        return t.cast(Json, json.loads(answer.data))

    def _request(self, url: str, authorization: str) -> _Answer:
        headers = {"Accept": _ACCEPT, "User-Agent": "k8s-nim-operator"}
        if authorization:
            headers["Authorization"] = authorization
        response = self._pool.request(
            "GET", url, headers=headers, preload_content=False, decode_content=False
        )
        try:
            data = response.read(_LIMIT_BYTES + 1)
        finally:
            response.close()
        if len(data) > _LIMIT_BYTES:
            raise RegistryError("the answer is too large")
        return _Answer(response.status, response.headers.get("WWW-Authenticate", ""), data)

    def _authorize(self, challenge: str) -> str:
        """The Authorization header that the registry's challenge asks for."""
        basic = ""
        if self._credentials:
            basic = "Basic " + base64.b64encode(self._credentials.encode()).decode()
        if bearer := _BEARER.search(challenge):
            return self._fetch_token(dict(_PARAMETER.findall(bearer[1])), basic)
        if basic and _BASIC.search(challenge):
            return basic
        raise RegistryError("the registry wants credentials that the pull secrets do not have")

    def _fetch_token(self, given: dict[str, str], basic: str) -> str:
        realm = urlsplit(given["realm"])
        is_local = self._scheme == "http" and realm.hostname in _LOOPBACK
        if realm.scheme != "https" and not is_local:
            raise RegistryError("the token service is not asked over https")
        query = {"scope": given.get("scope") or f"repository:{self._reference.name}:pull"}
        if "service" in given:
            query["service"] = given["service"]
        separator = "&" if realm.query else "?"
        answer = self._request(f"{given['realm']}{separator}{urlencode(query)}", basic)
        if answer.status != 200:
            raise RegistryError(f"HTTP {answer.status} from the token service")
        token = json.loads(answer.data)
        return f"Bearer {token.get('token') or token['access_token']}"


def _make_pool(scheme: str, host: str) -> urllib3.PoolManager:
    options: dict[str, t.Any] = {
        "timeout": urllib3.Timeout(connect=2.0, read=5.0),
        "retries": urllib3.Retry(
            4,
            connect=1,
            read=1,
            status=1,
            redirect=3,
            status_forcelist=(500, 502, 503, 504),
            respect_retry_after_header=False,
            raise_on_status=False,
        ),
    }
    proxy = getproxies().get(scheme)
    if proxy and host not in _LOOPBACK and not proxy_bypass(host):
        return urllib3.ProxyManager(proxy, **options)
    return urllib3.PoolManager(**options)


class _Answer(t.NamedTuple):
    status: int
    challenge: str
    data: bytes


def _is_platform(entry: Json) -> bool:
    platform = entry.get("platform") or {}
    kind = (entry.get("annotations") or {}).get("vnd.docker.reference.type")
    unknown = "unknown" in (platform.get("os"), platform.get("architecture"))
    return kind != "attestation-manifest" and not unknown
