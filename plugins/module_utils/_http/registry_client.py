# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Moves images and models from and to registries, as the OCI distribution specification says.

It runs for a user who names the registries, at a terminal or in a pod of theirs, so it also reaches
private addresses; `egress` is for the operator, which reads for others. The rest is the same:
documents are bounded, and credentials are only sent to their registry and to the token service that
this registry names. Blobs are streams, never a whole in memory, and their readers verify them.
"""

from __future__ import annotations

import hashlib
import json
import re
import ssl
import time
import typing as t
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import SplitResult, quote, urljoin, urlsplit

from .._base.types import Json
from .addresses import literal_of
from .egress import EgressError, parse_url, proxy_for, scheme_of
from .registry_auth import (
    RegistryError,
    accepts_basic,
    basic,
    bearer,
    find_token_service,
    token_url,
)
from .tls import unify_verification
from .transport import explain

try:
    import urllib3
except ImportError:  # every file must import on a bare Python; Client reports the missing package
    urllib3 = None  # type: ignore[assignment]

MANIFEST_LIMIT = 4 << 20
"""Maximum bytes of a manifest or an index: registries accept no larger ones."""
CHUNK = 64 << 20
"""Bytes of a blob that one request writes: proxies limit bodies, and a broken one is repeated."""

INDEX_TYPES = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
MANIFEST_TYPES = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
PULL, PUSH = "pull", "pull,push"

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_TOKEN_LIMIT, _ERROR_LIMIT = 256 << 10, 8 << 10
_PIECE = 1 << 20
_MAX_HOPS = 4
_PAUSES = (1.0, 3.0)
_REDIRECTS = (301, 302, 303, 307, 308)
_AGAIN = (429, 500, 502, 503, 504)
_CONNECT_SECONDS, _READ_SECONDS = 10.0, 120.0
_RANGE = re.compile(r"(?:bytes=)?0-(\d{1,18})")
_CONTENT_RANGE = re.compile(r"bytes (\d{1,18})-\d{1,18}/(?:\d{1,18}|\*)")


class TransientError(RegistryError):
    """The connection broke, or the registry was busy: the same request may succeed later."""


class Manifest(t.NamedTuple):
    """A manifest or an index, with its verified digest."""

    media_type: str
    digest: str
    content: bytes

    def parse(self) -> Json:
        """The document; RegistryError if it is none."""
        try:
            found = json.loads(self.content)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise RegistryError(f"manifest {self.digest} is not JSON")
        return found


@dataclass(frozen=True)
class Access:
    """How a user reaches registries.

    ``find_credentials``: `user:password` for a host, or an empty string. ``plain``: the hosts that
    are accessed over http. ``authorities``: PEM texts of authorities to trust beside the system's.
    """

    find_credentials: t.Callable[[str], str] = lambda _host: ""
    plain: t.Collection[str] = ()
    authorities: t.Sequence[str] = field(default=())

    def scheme_of(self, host: str) -> str:
        """The scheme for a host."""
        return "http" if host in self.plain else scheme_of(host)

    def make_context(self) -> ssl.SSLContext:
        """The TLS context; RegistryError if an authority is invalid."""
        context = unify_verification(ssl.create_default_context())
        for text in self.authorities:
            try:
                context.load_verify_locations(cadata=text)
            except (ssl.SSLError, ValueError) as error:
                raise RegistryError("a certificate authority is not valid PEM") from error
        return context


def digest_of(content: bytes) -> str:
    """The digest of a content."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def check_digest(digest: t.Any) -> str:
    """A digest that is safe for a path; RegistryError for any other value."""
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        raise RegistryError(f"{str(digest)[:100]!r} is not a digest of SHA-256")
    return digest


class RegistryClient:
    """The repositories of one registry."""

    def __init__(
        self, host: str, access: Access, sleep: t.Callable[[float], None] = time.sleep
    ) -> None:
        self.host = host
        self._access, self._sleep = access, sleep
        self._base = f"{access.scheme_of(host)}://{host}/v2/"
        self._pools: dict[t.Any, t.Any] = {}
        self._tokens: dict[tuple[str, str], str] = {}

    def read_manifest(self, name: str, version: str) -> Manifest:
        """The manifest of a tag or a digest."""
        headers = {"Accept": ", ".join(INDEX_TYPES + MANIFEST_TYPES)}
        with self._ask("GET", name, f"manifests/{version}", PULL, headers) as response:
            self._expect(response, 200)
            content = _read(response, MANIFEST_LIMIT)
            media_type = str(response.headers.get("Content-Type") or "")
        manifest = Manifest(media_type.partition(";")[0].strip(), digest_of(content), content)
        if ":" in version and manifest.digest != version:
            raise RegistryError(f"content of its manifest does not match {version}")
        given = manifest.parse().get("mediaType")
        return manifest._replace(media_type=given) if isinstance(given, str) else manifest

    def has_manifest(self, name: str, digest: str) -> bool:
        """Whether a repository has a manifest."""
        headers = {"Accept": ", ".join(INDEX_TYPES + MANIFEST_TYPES)}
        with self._ask("HEAD", name, f"manifests/{digest}", PUSH, headers) as response:
            return bool(response.status == 200)

    def write_manifest(self, name: str, version: str, manifest: Manifest) -> None:
        """Store a manifest whose blobs and manifests the repository already has."""
        headers = {"Content-Type": manifest.media_type}
        place = f"manifests/{version}"
        with self._ask("PUT", name, place, PUSH, headers, manifest.content) as response:
            self._expect(response, 201, 200, 202)

    @contextmanager
    def read_blob(
        self, name: str, digest: str, offset: int
    ) -> t.Iterator[tuple[int, t.Iterator[bytes]]]:
        """The place at which the registry begins, 0 or the wanted one, and the pieces from it."""
        headers = {"Range": f"bytes={offset}-"} if offset else {}
        with self._ask("GET", name, f"blobs/{check_digest(digest)}", PULL, headers) as response:
            if response.status == 416:
                raise RegistryError(f"blob {digest} is shorter than {offset} bytes")
            self._expect(response, 200, 206)
            start = offset if response.status == 206 else 0
            given = _CONTENT_RANGE.match(str(response.headers.get("Content-Range") or ""))
            if response.status == 206 and given and int(given[1]) != offset:
                raise RegistryError(
                    f"blob {digest}: the registry returned a different byte range than requested"
                )
            yield start, _pieces(response)

    def has_blob(self, name: str, digest: str) -> bool:
        """Whether a repository has a blob."""
        with self._ask("HEAD", name, f"blobs/{check_digest(digest)}", PUSH, {}) as response:
            return bool(response.status == 200)

    def write_blob(
        self,
        name: str,
        digest: str,
        size: int,
        read: t.Callable[[int, int], t.Iterator[bytes]],
        other: str = "",
    ) -> bool:
        """Write a blob; False if the registry took it from another repository of its own.

        ``read``: the pieces of a part, by offset and length. ``other``: a repository that has it.
        """
        begin = "blobs/uploads/"
        if other:
            begin += f"?mount={check_digest(digest)}&from={quote(other, safe='')}"
        with self._ask("POST", name, begin, PUSH, {}, b"") as response:
            if response.status == 201:
                return False
            if response.status != 202 and other:
                return self.write_blob(name, digest, size, read)
            self._expect(response, 202)
            place = self._location(response)
        offset = 0
        while offset < size:
            place, offset = self._write_chunk(name, place, offset, size, read)
        end = f"{place}{'&' if urlsplit(place).query else '?'}digest={quote(digest, safe='')}"
        with self._ask("PUT", name, end, PUSH, {}, b"") as response:
            self._expect(response, 201, 204)
        return True

    def _write_chunk(
        self,
        name: str,
        place: str,
        offset: int,
        size: int,
        read: t.Callable[[int, int], t.Iterator[bytes]],
    ) -> tuple[str, int]:
        """Write the next part; the place of the one after it. A broken part is repeated."""
        length = min(CHUNK, size - offset)
        for pause in (*_PAUSES, None):
            headers = {
                "Content-Type": "application/octet-stream",
                "Content-Length": str(length),
                "Content-Range": f"{offset}-{offset + length - 1}",
            }
            try:
                body = read(offset, length)
                with self._ask("PATCH", name, place, PUSH, headers, body, once=True) as response:
                    if response.status == 401:  # the token is too old: the next request renews it
                        raise TransientError("HTTP 401")
                    self._expect(response, 202, 201, 204)
                    return self._location(response), offset + length
            except TransientError:
                if pause is None:
                    raise
                self._sleep(pause)
            place, offset = self._find_progress(name, place, offset)
            length = min(CHUNK, size - offset)
        raise AssertionError("unreachable")

    def _find_progress(self, name: str, place: str, offset: int) -> tuple[str, int]:
        """The place and the offset to continue an upload at, after a broken request."""
        with self._ask("GET", name, place, PUSH, {}) as response:
            if response.status not in (204, 202):
                return place, offset
            found = _RANGE.fullmatch(str(response.headers.get("Range") or ""))
            return self._location(response, place), int(found[1]) + 1 if found else offset

    def _location(self, response: t.Any, default: str = "") -> str:
        given = str(response.headers.get("Location") or "")
        if not given and not default:
            raise RegistryError("the registry's response has no Location header for the upload")
        return urljoin(self._base, given) if given else default

    @contextmanager
    def _ask(
        self,
        method: str,
        name: str,
        place: str,
        actions: str,
        headers: t.Mapping[str, str],
        body: t.Any = None,
        *,
        once: bool = False,
    ) -> t.Iterator[t.Any]:
        """The answer to a request; ``place``: below a repository, or a URL.

        ``once``: the body is a stream, which cannot be sent again.
        """
        url = place if "://" in place else f"{self._base}{name}/{place}"
        response = self._send_authorized(method, url, name, actions, headers, body, once)
        try:
            yield response
            if method != "GET":
                _read_some(response, _ERROR_LIMIT)  # to the end: the connection is used again
        finally:
            response.close()

    def _send_authorized(
        self,
        method: str,
        url: str,
        name: str,
        actions: str,
        headers: t.Mapping[str, str],
        body: t.Any,
        once: bool,
    ) -> t.Any:
        if _origin(urlsplit(url)) != _origin(urlsplit(self._base)):
            return self._send(method, url, headers, body, "", once)
        key = (name, actions)
        response = self._send(method, url, headers, body, self._tokens.get(key, ""), once)
        if response.status != 401 or once:
            return response
        challenge = str(response.headers.get("WWW-Authenticate") or "")
        response.close()
        self._tokens[key] = self._authorize(challenge, name, actions)
        return self._send(method, url, headers, body, self._tokens[key], once)

    def _authorize(self, challenge: str, name: str, actions: str) -> str:
        """The Authorization header that the registry requires."""
        given = basic(self._access.find_credentials(self.host))
        service = find_token_service(challenge)
        if not service:
            if given and accepts_basic(challenge):
                return given
            raise RegistryError("it requires credentials")
        url = token_url(service, service.get("scope") or f"repository:{name}:{actions}")
        response = self._send("GET", url, {}, None, given, False)
        try:
            if response.status != 200:
                raise RegistryError(f"HTTP {response.status} from its token service")
            return bearer(_read(response, _TOKEN_LIMIT))
        finally:
            response.close()

    def _send(
        self,
        method: str,
        url: str,
        headers: t.Mapping[str, str],
        body: t.Any,
        authorization: str,
        once: bool,
    ) -> t.Any:
        """The answer after redirects, which only reads follow.

        ``authorization`` is only sent to the host of the URL.
        """
        first = self._check(url)
        for _hop in range(_MAX_HOPS):
            parts = self._check(url)
            sent = {**headers, "User-Agent": "nimops"}
            if authorization and _origin(parts) == _origin(first):
                sent["Authorization"] = authorization
            response = self._send_again(method, parts, sent, body, once)
            location = response.headers.get("Location")
            if method not in ("GET", "HEAD") or response.status not in _REDIRECTS or not location:
                return response
            response.close()
            url = urljoin(url, location)
        raise RegistryError("too many redirects")

    def _check(self, url: str) -> SplitResult:
        """The parts of a URL; RegistryError if it must not be requested."""
        try:
            parts = parse_url(url)
            literal_of(str(parts.hostname))
            _port = parts.port
        except (EgressError, ValueError) as error:
            raise RegistryError(str(error)) from error
        if parts.scheme != self._access.scheme_of(parts.netloc) and parts.scheme != "https":
            raise RegistryError(f"{parts.hostname} is only allowed over https")
        return parts

    def _send_again(
        self, method: str, parts: SplitResult, headers: Json, body: t.Any, once: bool
    ) -> t.Any:
        pauses: t.Sequence[float | None] = (None,) if once else (*_PAUSES, None)
        for pause in pauses:
            try:
                response = self._pool_of(parts).request(
                    method,
                    parts._replace(fragment="").geturl(),
                    headers=headers,
                    body=body,
                    timeout=urllib3.Timeout(_CONNECT_SECONDS, _READ_SECONDS),
                    retries=False,
                    redirect=False,
                    preload_content=False,
                    decode_content=False,
                )
            except (urllib3.exceptions.HTTPError, OSError) as error:
                if isinstance(error, urllib3.exceptions.SSLError):
                    raise RegistryError(explain(error)) from error
                if pause is None:
                    raise TransientError(explain(error)) from error
            else:
                if response.status not in _AGAIN or pause is None:
                    return response
                response.close()
            self._sleep(pause)
        raise AssertionError("unreachable")

    def _pool_of(self, parts: SplitResult) -> t.Any:
        proxy = proxy_for(parts)
        if proxy not in self._pools:
            context = self._access.make_context()
            self._pools[proxy] = (
                urllib3.ProxyManager(proxy, ssl_context=context, proxy_ssl_context=context)
                if proxy
                else urllib3.PoolManager(ssl_context=context)
            )
        return self._pools[proxy]

    @staticmethod
    def _expect(response: t.Any, *statuses: int) -> None:
        if response.status in statuses:
            return
        text = _read_error(response)
        kind = TransientError if response.status in _AGAIN else RegistryError
        raise kind(f"HTTP {response.status}{text}")


def _origin(parts: SplitResult) -> tuple[str, str | None, int | None]:
    return parts.scheme, parts.hostname, parts.port


def _read_some(response: t.Any, size: int) -> bytes:
    """At most so many bytes; TransientError if the connection breaks."""
    try:
        data: bytes = response.read(size)
    except (urllib3.exceptions.HTTPError, OSError) as error:
        raise TransientError(explain(error)) from error
    return data


def _read(response: t.Any, limit: int) -> bytes:
    """A whole document."""
    data = _read_some(response, limit + 1)
    if len(data) > limit:
        raise RegistryError(f"a document is larger than {limit} bytes")
    return data


def _read_error(response: t.Any) -> str:
    """The code of an error, such as `: MANIFEST_UNKNOWN`, without the registry's own words."""
    try:
        errors = json.loads(_read_some(response, _ERROR_LIMIT))["errors"]
        code = str(errors[0]["code"])
    except (ValueError, LookupError, TypeError, RecursionError, TransientError):
        return ""
    return f": {code}" if re.fullmatch(r"[A-Z_]{1,40}", code) else ""


def _pieces(response: t.Any) -> t.Iterator[bytes]:
    while piece := _read_some(response, _PIECE):
        yield piece
