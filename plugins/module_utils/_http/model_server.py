# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""HTTP requests to a model server, bounded in time and size."""

from __future__ import annotations

import http.client
import json
import os
import typing as t
from functools import partial
from urllib.parse import urlsplit

from .._base.types import Json
from .addresses import zone_of
from .stream import Stream
from .timeouts import BUSY, BusyError, Patience
from .tls import authorization, make_context
from .transport import LATE, Pending, connect_to, explain, look_up, target_of

try:
    import urllib3
except ImportError:  # every file must import on a bare Python; Client reports the missing package
    urllib3 = None  # type: ignore[assignment]

LIMIT_BYTES = 1 << 20
LIMIT_SECONDS = 3.0
_CONNECT_SECONDS = 1.0


def fetch(
    url: str,
    seconds: float = LIMIT_SECONDS,
    *,
    namespace: str = "",
    patience: Patience | None = None,
) -> Json:
    """{"status", "body", "error", "late"} of a GET; a failure has ``status`` 0 and an ``error``.

    ``late``: the server was slow, or this pass did not wait for it.

    ``namespace``: Services of this namespace may receive the token.

    It follows no redirects, refuses loopback in a pod, and ignores proxies of the environment. The
    answer must be complete within ``seconds`` and `LIMIT_BYTES`.
    """
    patience = patience or Patience()
    if not url.startswith(("http://", "https://")):
        return _failed(f"{url!r} is not an http URL")
    try:
        status, body = patience.wait(Pending(partial(_get, url, seconds, namespace)), seconds)
    except BusyError:
        return _failed(BUSY, late=True)
    except (urllib3.exceptions.HTTPError, http.client.HTTPException, ValueError, OSError) as error:
        reason = explain(error)
        return _failed(reason, late=patience.is_slow or reason == LATE)
    late = patience.is_slow
    if len(body) > LIMIT_BYTES:
        return _failed(f"the answer is larger than {LIMIT_BYTES} bytes", late=late)
    return {"status": status, "body": body.decode(errors="replace"), "error": "", "late": late}


def stream(url: str, body: Json | None = None, *, seconds: float, limit: int) -> Stream:
    """The answer to a GET, or to a POST of a ``body``, in pieces; sends no token.

    Otherwise like `fetch`. TimeoutError after ``seconds``, StreamError without an answer.
    """
    return Stream(lambda: _send(url, body, seconds, {"Accept": "*/*"}), seconds, limit)


def _get(url: str, seconds: float, namespace: str) -> tuple[int, bytes]:
    """Status and body, up to one byte more than the limit."""
    headers = {"Accept": "application/json", **authorization(url, namespace)}
    response = _send(url, None, seconds, headers)
    body = b""
    try:
        while chunk := response.read(LIMIT_BYTES + 1 - len(body)):
            body += chunk
        return response.status, body
    finally:
        response.close()


def _send(url: str, body: Json | None, seconds: float, headers: dict[str, str]) -> t.Any:
    """The response of a GET, or of a POST of a body."""
    pool, target = _open(url)
    content = None if body is None else json.dumps(body).encode()
    typed = {} if body is None else {"Content-Type": "application/json"}
    return pool.request(
        "GET" if body is None else "POST",
        target,
        body=content,
        retries=False,
        redirect=False,
        preload_content=False,
        decode_content=False,
        headers={"Host": urlsplit(url).netloc.rpartition("@")[2], **typed, **headers},
        timeout=urllib3.Timeout(connect=min(_CONNECT_SECONDS, seconds), read=seconds),
    )


def _open(url: str) -> tuple[t.Any, str]:
    """The connection pool and the request target.

    In a pod the address is checked: on loopback, the runtime's proxy serves the whole cluster.
    Elsewhere a Service may be on loopback.
    """
    context = make_context(url)
    if not os.environ.get("KUBERNETES_SERVICE_HOST"):
        return urllib3.PoolManager(retries=False, ssl_context=context), url
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    for address in look_up(host, port):
        if zone_of(address) != "special":
            return connect_to(address, parts, port, context), target_of(parts)
    raise ValueError("its address is loopback, link-local or reserved, which is not allowed")


def _failed(error: str, *, late: bool = False) -> Json:
    return {"status": 0, "body": "", "error": error, "late": late}
