# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""GETs for an untrusted image, limited to hosts and addresses that are safe.

An image names its registry, which names other hosts in redirects and token services. Each request
uses https, an allowed host, and an address that is resolved once, checked, and then connected to
directly. Loopback, link-local and other special addresses are always refused; private ones are
allowed only if the image's own registry is at one, and never if a public host refers to them.

Behind a proxy from the environment, the proxy resolves names, and its rules must protect private
addresses; literal addresses are still checked.

``NIMOPS_TEST_REGISTRIES`` lists hosts with ports on this machine that are accessed over http. It is
only for tests, and ignored in a pod, where the runtime's proxy is on loopback.
"""

from __future__ import annotations

import os
import ssl
import time
import typing as t
from urllib.parse import SplitResult, urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

from .addresses import Zone, literal_of, zone_of
from .tls import unify_verification
from .transport import connect_to, look_up, target_of

try:
    import urllib3
except ImportError:  # every file must import on a bare Python; Client reports the missing package
    urllib3 = None  # type: ignore[assignment]

LIMIT_BYTES = 256 << 10
"""Maximum size of one document: a manifest, a configuration, a token."""

TOTAL_BYTES = 4 << 20
TEST_VARIABLE = "NIMOPS_TEST_REGISTRIES"

_MAX_HOPS = 4
_MAX_ADDRESSES = 3
_CONNECT_SECONDS, _READ_SECONDS = 2.0, 5.0
_REDIRECTS = (301, 302, 303, 307, 308)
_AGAIN = (500, 502, 503, 504)


class EgressError(Exception):
    """The request was refused, or the answer was too large."""


class Answer(t.NamedTuple):
    """A server's answer; ``challenge`` is its WWW-Authenticate header."""

    status: int
    challenge: str
    data: bytes
    location: str = ""


class _Peer(t.NamedTuple):
    """The peer of a request: addresses, or a proxy that resolves the name."""

    url: SplitResult
    port: int
    zone: Zone
    addresses: tuple[str, ...]
    proxy: str = ""

    @property
    def origin(self) -> tuple[str, str | None, int]:
        return self.url.scheme, self.url.hostname, self.port

    @property
    def target(self) -> str:
        """The request target: a proxy gets the whole URL."""
        if self.proxy:
            return self.url.geturl()
        return target_of(self.url)


def scheme_of(host: str) -> str:
    """The URL scheme for a registry."""
    return "http" if host in _test_hosts() else "https"


def _test_hosts() -> set[str]:
    if os.environ.get("KUBERNETES_SERVICE_HOST"):
        return set()
    return {item.strip() for item in os.environ.get(TEST_VARIABLE, "").split(",")} - {""}


class Egress:
    """The requests for one image, limited to ``seconds`` in total.

    ``registry``: its registry. ``is_allowed``: whether a host, with its port if it has one, may be
    contacted. ``find``: resolves a host to addresses.
    """

    def __init__(
        self,
        registry: str,
        is_allowed: t.Callable[[str], bool],
        seconds: float,
        find: t.Callable[[str, int], list[str]] = look_up,
    ) -> None:
        self._registry, self._is_allowed = registry.lower(), is_allowed
        self._look_up = find
        self._is_registry_private = False
        self._left = TOTAL_BYTES
        self._pools: dict[t.Any, t.Any] = {}
        self._deadline = time.monotonic() + seconds

    def get(self, url: str, headers: t.Mapping[str, str], authorization: str = "") -> Answer:
        """The answer after redirects. ``authorization`` is only sent to the host of the URL."""
        is_registry = urlsplit(url).netloc.lower() == self._registry
        allows_private = is_registry or self._is_registry_private
        first: tuple[str, str | None, int] | None = None
        for _hop in range(_MAX_HOPS):
            peer = self._find(url, allows_private=allows_private)
            if is_registry and first is None:
                self._is_registry_private = peer.zone == "private"
            first = first or peer.origin
            if peer.origin != first:
                authorization = ""
            answer = self._ask(peer, headers, authorization)
            if answer.status not in _REDIRECTS or not answer.location:
                return answer
            url = urljoin(url, answer.location)
            allows_private = allows_private and peer.zone == "private"
        raise EgressError("too many redirects")

    def _find(self, url: str, *, allows_private: bool) -> _Peer:
        """The peer for a URL; EgressError if it is not allowed."""
        parts = parse_url(url)
        host, is_test = str(parts.hostname), parts.netloc in _test_hosts()
        if parts.scheme != "https" and not (is_test and parts.scheme == "http"):
            raise EgressError(f"{host} is only allowed over https")
        if not self._is_allowed(parts.netloc.lower()):
            raise EgressError(f"{host} is not among the allowed registries")
        port = parts.port or (443 if parts.scheme == "https" else 80)
        literal = literal_of(host)
        if is_test:
            return _Peer(parts, port, "private", (literal or "127.0.0.1",))
        proxy = proxy_for(parts)
        if proxy and not literal:
            if host.rpartition(".")[2] == "localhost":
                raise EgressError(f"{host} resolves to the local machine, which is not allowed")
            return _Peer(parts, port, "public", (), proxy)
        found = [literal] if literal else self._look_up(host, port)
        zone, addresses = _choose(found, allows_private=allows_private)
        if not addresses:
            raise EgressError(f"{host} has no allowed address")
        return _Peer(parts, port, zone, addresses, proxy)

    def _ask(self, peer: _Peer, headers: t.Mapping[str, str], authorization: str) -> Answer:
        """The answer of the first address that responds; retries a transient failure once."""
        sent = {**headers, "Host": peer.url.netloc}
        if authorization:
            sent["Authorization"] = authorization
        tries = [*peer.addresses, *peer.addresses[:1]] or [""] * 2
        for number, address in enumerate(tries, 1):
            try:
                answer = self._ask_once(peer, address, sent)
            except (urllib3.exceptions.HTTPError, OSError):
                if number == len(tries):
                    raise
                continue
            if answer.status not in _AGAIN:
                break
        return answer

    def _ask_once(self, peer: _Peer, address: str, headers: t.Mapping[str, str]) -> Answer:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise EgressError("timed out")
        timeout = urllib3.Timeout(min(_CONNECT_SECONDS, left), min(_READ_SECONDS, left))
        pool = self._pool_of(peer, address)
        response = pool.request(
            "GET",
            peer.target,
            headers=dict(headers),
            timeout=timeout,
            retries=False,
            redirect=False,
            preload_content=False,
            decode_content=False,
        )
        return self._read(response)

    def _pool_of(self, peer: _Peer, address: str) -> t.Any:
        """Connections to exactly the checked address, with the host name for TLS."""
        key = (peer.origin, peer.proxy or address)
        if key not in self._pools:
            self._pools[key] = _connect_to(peer, address)
        return self._pools[key]

    def _read(self, response: t.Any) -> Answer:
        limit = min(LIMIT_BYTES, self._left)
        try:
            data: bytes = response.read(limit + 1)
        finally:
            response.close()
        self._left -= len(data)
        if len(data) > limit:
            raise EgressError("the response is too large")
        found = response.headers
        return Answer(
            response.status,
            found.get("WWW-Authenticate", ""),
            data,
            found.get("Location", ""),
        )


def parse_url(url: str) -> SplitResult:
    """The parsed URL; EgressError unless it has a plain form."""
    if not url.isascii() or not url.isprintable() or " " in url:
        raise EgressError("the URL is not plain ASCII")
    parts = urlsplit(url)
    if not parts.hostname or "@" in parts.netloc:
        raise EgressError("the URL has no host or contains a user name")
    return parts


def proxy_for(parts: SplitResult) -> str:
    """The proxy of the environment for a URL; empty if it is accessed directly."""
    proxy = getproxies().get(parts.scheme, "")
    return "" if not proxy or proxy_bypass(str(parts.hostname)) else proxy


def _choose(found: t.Iterable[str], *, allows_private: bool) -> tuple[Zone, tuple[str, ...]]:
    """The addresses to connect to, of one zone; a host with any public address is public."""
    zones: dict[Zone, list[str]] = {"public": [], "private": [], "special": []}
    for item in found:
        zones[zone_of(item)].append(item)
    zone: Zone = "private" if allows_private and not zones["public"] else "public"
    return zone, tuple(zones[zone][:_MAX_ADDRESSES])


def _connect_to(peer: _Peer, address: str) -> t.Any:
    context = unify_verification(ssl.create_default_context())
    if peer.proxy:
        return urllib3.ProxyManager(peer.proxy, ssl_context=context, proxy_ssl_context=context)
    return connect_to(address, peer.url, peer.port, context)
