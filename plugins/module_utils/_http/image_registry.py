# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The model-download protocol of an image, read from its registry without starting the image.

``NIMOPS_REGISTRIES`` lists the allowed registries: comma-separated host patterns (``*`` by default,
empty for none), so that air-gapped clusters do not wait for registries that they cannot reach. It
also applies to redirect targets of a registry and to its token service; `egress` describes the
other limits. A private address must be named by a pattern, not only be allowed by ``*``: otherwise
the author of an image reference could make the operator connect to any port of a node or a pod.

``NIMOPS_REGISTRY_MIRRORS`` names mirrors, which are asked instead (`mirrors`); the patterns then
apply to them.

Credentials are only sent to their registry, and to the token service that this registry announces.
Redirects to other hosts do not carry them.

All input may be written by the image's author: documents, entries and totals are bounded, and
nothing is inserted into a path or a header unchecked.
"""

from __future__ import annotations

import base64
import fnmatch
import json
import os
import re
import typing as t
from urllib.parse import urlsplit

from .._base.image_reference import REPOSITORY, TAG
from .._base.types import Json
from .._engine.reads import LATER
from .addresses import literal_of, zone_of
from .egress import Answer, Egress, scheme_of
from .mirrors import MirrorError, find_mirror
from .registry_auth import (
    RegistryError,
    accepts_basic,
    basic,
    bearer,
    find_token_service,
    token_url,
)
from .timeouts import BusyError, Patience
from .transport import Pending

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
LIMIT_SECONDS = 10.0
_MAX_ENTRIES = 32
_MAX_REFERENCE = 1024
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}")
_REFERENCE = re.compile(
    r"(?:(?P<host>[\w.-]*[.:][\w.:-]*|localhost|\[[\da-f:]+\](?::\d+)?)/)?"
    rf"(?P<name>{REPOSITORY})(?::(?P<tag>{TAG}))?(?:@(?P<digest>\w+:[\da-f]+))?",
    re.ASCII,
)
_NAMING = re.compile(r"[a-z0-9]")
_PORT = re.compile(r":[\d*?]*\s*$")


class Reference(t.NamedTuple):
    """A parsed image reference; ``version`` is a tag or a digest."""

    host: str
    name: str
    version: str


def parse_reference(image: str) -> Reference:
    """Parse an image reference as container runtimes do; RegistryError if it is invalid."""
    match = _REFERENCE.fullmatch(image) if len(image) <= _MAX_REFERENCE else None
    if not match:
        raise RegistryError(f"{image[:_MAX_REFERENCE]!r} is not an image reference")
    host, name = match["host"] or "docker.io", match["name"]
    if host in _DOCKER_HUB:
        host = "registry-1.docker.io"
        name = name if "/" in name else f"library/{name}"
    return Reference(host, name, match["digest"] or match["tag"] or "latest")


def find_credentials(configs: t.Sequence[str | None], host: str) -> str:
    """``user:password`` for a registry from `.dockerconfigjson` values (base64), first match wins.

    Empty if none matches. RegistryError if a Secret is missing or invalid: the kubelet could not
    pull with it either.
    """
    for config in configs:
        if config is None:
            raise RegistryError("a pull secret does not exist or has no .dockerconfigjson")
        for server, entry in _parse_config(config).items():
            if host_of(server) == host_of(host):
                return _user_and_password(entry)
    return ""


def _parse_config(config: str) -> dict[str, Json]:
    """Server → entry; errors do not quote the content."""
    try:
        auths = json.loads(base64.b64decode(config)).get("auths") or {}
        if all(isinstance(entry, dict) for entry in auths.values()):
            return t.cast(dict[str, Json], auths)
    except (ValueError, AttributeError):
        pass
    raise RegistryError("a pull secret's .dockerconfigjson is not valid")


def host_of(server: str) -> str:
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
    """Whether ``NIMOPS_REGISTRIES`` allows this host; patterns may omit the port."""
    given = os.environ.get("NIMOPS_REGISTRIES", "*").lower().split(",")
    host = host.lower()
    names = {host, host.rsplit(":", 1)[0], host_of(host)}
    is_literal = _is_private(host)
    patterns = {item.strip() for item in given if not is_literal or _names_host(item)}
    # An IPv6 address has brackets, which mean something else in a pattern.
    return not names.isdisjoint(patterns) or any(
        fnmatch.fnmatchcase(name, item) for name in names for item in patterns
    )


def _names_host(pattern: str) -> bool:
    """Whether a pattern names any part of a host: `*`, `*.*` and `*:443` do not."""
    return bool(_NAMING.search(_PORT.sub("", pattern)))


def _is_private(host: str) -> bool:
    """Whether a host, with an optional port, is a private address and not a name."""
    try:
        return zone_of(literal_of(str(urlsplit(f"//{host}").hostname))) == "private"
    except ValueError:  # neither an address nor a name: never queried
        return False


def may_ask_about(image: str) -> bool:
    """Whether the registry of an image may be queried, and its credentials are needed."""
    try:
        return is_registry_allowed(find_source(image).host)
    except (MirrorError, RegistryError):
        return False


def find_source(image: str) -> Reference:
    """Where to read about an image: its registry, or the mirror of that registry.

    RegistryError if the reference is invalid, MirrorError if the setting is.
    """
    reference = parse_reference(image)
    host, name = find_mirror(host_of(reference.host), reference.name)
    if host == host_of(reference.host):
        return reference
    return Reference(host, name, reference.version)


def download_protocol(
    image: str,
    docker_configs: t.Sequence[str | None],
    seconds: float = LIMIT_SECONDS,
    patience: Patience | None = None,
) -> str:
    """``native``, ``legacy``, or an empty string without an answer within ``seconds``.

    `LATER` if this pass did not wait for the registry, because other servers take precedence.
    """
    try:
        reference = find_source(image)
        if not is_registry_allowed(reference.host):
            return ""
        egress = Egress(reference.host, is_registry_allowed, seconds)
        credentials = find_credentials(docker_configs, reference.host)
        pending = Pending(_Registry(reference, credentials, egress).protocol)
        return (patience or Patience()).wait(pending, seconds)
    except BusyError:
        return LATER
    except Exception:  # any failure means no answer
        return ""


class _Registry:
    """One image of one registry."""

    def __init__(self, reference: Reference, credentials: str, egress: Egress) -> None:
        self._base = f"{scheme_of(reference.host)}://{reference.host}/v2/{reference.name}"
        self._reference = reference
        self._credentials = credentials
        self._authorization = ""
        self._egress = egress

    def protocol(self) -> str:
        """The protocol in the labels of all platforms; empty if none or ambiguous."""
        found = ""
        for manifest in self._manifests():
            protocol = self._protocol(manifest)
            if found and protocol != found:
                return ""
            found = protocol
        return found

    def _manifests(self) -> t.Iterator[Json]:
        """The manifests of all platforms, one at a time; a single-platform image has only one."""
        top = self._get("manifests", self._reference.version)
        if "manifests" not in top:
            yield top
            return
        if len(top["manifests"]) > _MAX_ENTRIES:
            raise RegistryError(f"the index has more than {_MAX_ENTRIES} entries")
        digests = [_digest_of(entry) for entry in top["manifests"] if _is_platform(entry)]
        del top
        for digest in digests:
            yield self._get("manifests", digest)

    def _protocol(self, manifest: Json) -> str:
        config = self._get("blobs", _digest_of(manifest["config"]))
        labels = (config.get("config") or {}).get("Labels") or {}
        return NATIVE if labels.get(LABEL) == "native-v1" else LEGACY

    def _get(self, what: str, version: str) -> Json:
        url = f"{self._base}/{what}/{version}"
        answer = self._request(url, self._authorization)
        if answer.status == 401 and not self._authorization:
            self._authorization = self._authorize(answer.challenge)
            answer = self._request(url, self._authorization)
        if answer.status != 200:
            raise RegistryError(f"HTTP {answer.status}")
        return t.cast(Json, json.loads(answer.data))

    def _request(self, url: str, authorization: str) -> Answer:
        headers = {"Accept": _ACCEPT, "User-Agent": "k8s-nim-operator"}
        return self._egress.get(url, headers, authorization)

    def _authorize(self, challenge: str) -> str:
        """The Authorization header that the registry's challenge requires."""
        given = basic(self._credentials)
        if service := find_token_service(challenge):
            return self._fetch_token(service, given)
        if given and accepts_basic(challenge):
            return given
        raise RegistryError("the registry requires credentials that no pull secret has")

    def _fetch_token(self, service: dict[str, str], given: str) -> str:
        scope = service.get("scope") or f"repository:{self._reference.name}:pull"
        answer = self._request(token_url(service, scope), given)
        if answer.status != 200:
            raise RegistryError(f"HTTP {answer.status} from the token service")
        return bearer(answer.data)


def _digest_of(entry: Json) -> str:
    """The digest that an entry refers to, safe for a path."""
    digest = entry["digest"]
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        raise RegistryError("a digest is invalid")
    return digest


def _is_platform(entry: Json) -> bool:
    platform = entry.get("platform") or {}
    kind = (entry.get("annotations") or {}).get("vnd.docker.reference.type")
    unknown = "unknown" in (platform.get("os"), platform.get("architecture"))
    return kind != "attestation-manifest" and not unknown
