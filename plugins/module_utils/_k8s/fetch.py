# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""One HTTP GET of a model server's answer, bounded in time and size."""

from __future__ import annotations

import http.client
import os
import typing as t
from functools import partial
from urllib.parse import urlsplit

from ansible_collections.nimops.nim.plugins.module_utils._k8s.addresses import zone_of
from ansible_collections.nimops.nim.plugins.module_utils._k8s.patience import (
    BUSY,
    BusyError,
    Patience,
)
from ansible_collections.nimops.nim.plugins.module_utils._k8s.transport import (
    LATE,
    Pending,
    connect_to,
    explain,
    look_up,
    target_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._k8s.trust import (
    authorization,
    make_context,
)

try:
    import urllib3
except ImportError:  # every file must import on a bare Python; Client tells what is missing
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
) -> dict[str, t.Any]:
    """{"status", "body", "error", "late"} of a GET; ``status`` is 0 and ``error`` set if it failed.

    ``late``: it took long, whatever came of it, or was not waited for.

    ``namespace``: the Services of which may be told who asks.

    No redirect is followed, a pod asks nothing on loopback, no proxy of the environment is used,
    and the answer must be complete within ``seconds`` and `LIMIT_BYTES`.
    """
    patience = patience or Patience()
    if not url.startswith(("http://", "https://")):
        return _failed(f"{url!r} is not an http URL")
    try:
        status, body = patience.wait(Pending(partial(_get, url, seconds, namespace)), seconds)
    except BusyError:
        return _failed(BUSY, late=True)
    except (urllib3.exceptions.HTTPError, http.client.HTTPException, ValueError, OSError) as error:
        said = explain(error)
        return _failed(said, late=patience.is_slow or said == LATE)
    late = patience.is_slow
    if len(body) > LIMIT_BYTES:
        return _failed(f"the answer is larger than {LIMIT_BYTES} bytes", late=late)
    return {"status": status, "body": body.decode(errors="replace"), "error": "", "late": late}


def _get(url: str, seconds: float, namespace: str) -> tuple[int, bytes]:
    """Status and body, of which at most one byte more than the limit is read."""
    pool, target = _open(url)
    response = pool.request(
        "GET",
        target,
        retries=False,
        redirect=False,
        preload_content=False,
        decode_content=False,
        headers={
            "Accept": "application/json",
            "Host": urlsplit(url).netloc.rpartition("@")[2],
            **authorization(url, namespace),
        },
        timeout=urllib3.Timeout(connect=min(_CONNECT_SECONDS, seconds), read=seconds),
    )
    body = b""
    try:
        while chunk := response.read(LIMIT_BYTES + 1 - len(body)):
            body += chunk
        return response.status, body
    finally:
        response.close()


def _open(url: str) -> tuple[t.Any, str]:
    """Connections, and what to ask them for.

    In a pod, to an address that was checked: loopback is the operator's own, where the runtime's
    proxy serves the whole cluster. Elsewhere a Service may well be on loopback.
    """
    context = make_context(url)
    if not os.environ.get("KUBERNETES_SERVICE_HOST"):
        return urllib3.PoolManager(retries=False, ssl_context=context), url
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    for address in look_up(host, port):
        if zone_of(address) != "special":
            return connect_to(address, parts, port, context), target_of(parts)
    raise ValueError("its address is not one that a model server can have")


def _failed(error: str, *, late: bool = False) -> dict[str, t.Any]:
    return {"status": 0, "body": "", "error": error, "late": late}
