# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""GETs on behalf of an image of somebody's, which go where its registry may lead and nowhere else.

An image names its registry, that one names others, by redirects and token services. Each of them is
asked over https, on a host that is allowed, at an address that was looked up once, checked, and
connected to as it is. Loopback, link-local and other special addresses are never asked; private
ones only if the image's own registry is at one, and never on the word of a public host.

Behind a proxy of the environment names are looked up by the proxy, whose rules then are what keeps
it from private addresses; what is written as an address is checked all the same.

``NIMOPS_TEST_REGISTRIES`` lists hosts with ports on this machine that are asked over http. It is
for tests, and without effect in a pod: there, the runtime's proxy is on loopback.
"""

from __future__ import annotations

import os
import ssl
import time
import typing as t
from urllib.parse import SplitResult, urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

from ansible_collections.nimops.nim.plugins.module_utils._k8s.addresses import (
    Zone,
    literal_of,
    zone_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._k8s.transport import (
    connect_to,
    look_up,
    target_of,
)

try:
    import urllib3
except ImportError:  # every file must import on a bare Python; Client tells what is missing
    urllib3 = None  # type: ignore[assignment]

LIMIT_BYTES = 256 << 10
"""Of one document: a manifest, a configuration, a token."""

TOTAL_BYTES = 4 << 20
TEST_VARIABLE = "NIMOPS_TEST_REGISTRIES"

_MAX_HOPS = 4
_MAX_ADDRESSES = 3
_CONNECT_SECONDS, _READ_SECONDS = 2.0, 5.0
_REDIRECTS = (301, 302, 303, 307, 308)
_AGAIN = (500, 502, 503, 504)


class EgressError(Exception):
    """Nothing was asked, or too much was answered."""


class Answer(t.NamedTuple):
    """What a server said; ``challenge`` is its WWW-Authenticate."""

    status: int
    challenge: str
    data: bytes
    location: str = ""


class _Place(t.NamedTuple):
    """Where to connect to: addresses, or a proxy that knows."""

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
        """What is asked for: a proxy is told the whole URL."""
        if self.proxy:
            return self.url.geturl()
        return target_of(self.url)


def scheme_of(host: str) -> str:
    """How a registry is asked."""
    return "http" if host in _test_hosts() else "https"


def _test_hosts() -> set[str]:
    if os.environ.get("KUBERNETES_SERVICE_HOST"):
        return set()
    return {item.strip() for item in os.environ.get(TEST_VARIABLE, "").split(",")} - {""}


class Egress:
    """What may be asked for one image, in ``seconds`` altogether.

    ``home``: its registry. ``is_allowed``: whether a host, with its port if it has one, may be
    asked. ``find``: the addresses of a host.
    """

    def __init__(
        self,
        home: str,
        is_allowed: t.Callable[[str], bool],
        seconds: float,
        find: t.Callable[[str, int], list[str]] = look_up,
    ) -> None:
        self._home, self._is_allowed = home.lower(), is_allowed
        self._look_up = find
        self._is_home_private = False
        self._left = TOTAL_BYTES
        self._pools: dict[t.Any, t.Any] = {}
        self._deadline = time.monotonic() + seconds

    def get(self, url: str, headers: t.Mapping[str, str], authorization: str = "") -> Answer:
        """The answer at the end of the redirects. ``authorization`` stays on the URL's own host."""
        is_home = urlsplit(url).netloc.lower() == self._home
        is_private_taken = is_home or self._is_home_private
        first: tuple[str, str | None, int] | None = None
        for _hop in range(_MAX_HOPS):
            place = self._find(url, is_private_taken=is_private_taken)
            if is_home and first is None:
                self._is_home_private = place.zone == "private"
            first = first or place.origin
            if place.origin != first:
                authorization = ""
            answer = self._ask(place, headers, authorization)
            if answer.status not in _REDIRECTS or not answer.location:
                return answer
            url = urljoin(url, answer.location)
            is_private_taken = is_private_taken and place.zone == "private"
        raise EgressError("too many redirects")

    def _find(self, url: str, *, is_private_taken: bool) -> _Place:
        """Where a URL leads to, if that may be asked."""
        parts = _take_apart(url)
        host, is_test = str(parts.hostname), parts.netloc in _test_hosts()
        if parts.scheme != "https" and not (is_test and parts.scheme == "http"):
            raise EgressError(f"{host} is not asked over https")
        if not self._is_allowed(parts.netloc.lower()):
            raise EgressError(f"{host} is not among the registries that may be asked")
        port = parts.port or (443 if parts.scheme == "https" else 80)
        literal = literal_of(host)
        if is_test:
            return _Place(parts, port, "private", (literal or "127.0.0.1",))
        proxy = _proxy_for(parts)
        if proxy and not literal:
            if host.rpartition(".")[2] == "localhost":
                raise EgressError(f"{host} is a name of this machine")
            return _Place(parts, port, "public", (), proxy)
        found = [literal] if literal else self._look_up(host, port)
        zone, addresses = _choose(found, is_private_taken=is_private_taken)
        if not addresses:
            raise EgressError(f"{host} is at no address that may be asked")
        return _Place(parts, port, zone, addresses, proxy)

    def _ask(self, place: _Place, headers: t.Mapping[str, str], authorization: str) -> Answer:
        """The first answer of an address; a failure that may pass is tried once more."""
        sent = {**headers, "Host": place.url.netloc}
        if authorization:
            sent["Authorization"] = authorization
        tries = [*place.addresses, *place.addresses[:1]] or [""] * 2
        for number, address in enumerate(tries, 1):
            try:
                answer = self._ask_once(place, address, sent)
            except (urllib3.exceptions.HTTPError, OSError):
                if number == len(tries):
                    raise
                continue
            if answer.status not in _AGAIN:
                break
        return answer

    def _ask_once(self, place: _Place, address: str, headers: t.Mapping[str, str]) -> Answer:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise EgressError("time ran out")
        timeout = urllib3.Timeout(min(_CONNECT_SECONDS, left), min(_READ_SECONDS, left))
        pool = self._pool_of(place, address)
        response = pool.request(
            "GET",
            place.target,
            headers=dict(headers),
            timeout=timeout,
            retries=False,
            redirect=False,
            preload_content=False,
            decode_content=False,
        )
        return self._read(response)

    def _pool_of(self, place: _Place, address: str) -> t.Any:
        """Connections to the very address that was checked, for the name that TLS asks for."""
        key = (place.origin, place.proxy or address)
        if key not in self._pools:
            self._pools[key] = _connect_to(place, address)
        return self._pools[key]

    def _read(self, response: t.Any) -> Answer:
        limit = min(LIMIT_BYTES, self._left)
        try:
            data: bytes = response.read(limit + 1)
        finally:
            response.close()
        self._left -= len(data)
        if len(data) > limit:
            raise EgressError("the answer is too large")
        found = response.headers
        return Answer(
            response.status,
            found.get("WWW-Authenticate", ""),
            data,
            found.get("Location", ""),
        )


def _take_apart(url: str) -> SplitResult:
    """The URL, if it is one of the plain sort."""
    if not url.isascii() or not url.isprintable() or " " in url:
        raise EgressError("a URL is not plain ASCII")
    parts = urlsplit(url)
    if not parts.hostname or "@" in parts.netloc:
        raise EgressError("a URL names no host, or a user")
    return parts


def _proxy_for(parts: SplitResult) -> str:
    proxy = getproxies().get(parts.scheme, "")
    return "" if not proxy or proxy_bypass(str(parts.hostname)) else proxy


def _choose(found: t.Iterable[str], *, is_private_taken: bool) -> tuple[Zone, tuple[str, ...]]:
    """The addresses to connect to, of one zone; a host that has public ones is a public host."""
    zones: dict[Zone, list[str]] = {"public": [], "private": [], "special": []}
    for item in found:
        zones[zone_of(item)].append(item)
    zone: Zone = "private" if is_private_taken and not zones["public"] else "public"
    return zone, tuple(zones[zone][:_MAX_ADDRESSES])


def _connect_to(place: _Place, address: str) -> t.Any:
    if place.proxy:
        return urllib3.ProxyManager(place.proxy, ssl_context=_make_context())
    return connect_to(address, place.url, place.port, _make_context())


def _make_context() -> ssl.SSLContext:
    return ssl.create_default_context()
