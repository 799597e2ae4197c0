# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""One HTTP GET of a model server's answer, bounded in time and size."""

from __future__ import annotations

import time
import typing as t

import urllib3

LIMIT_BYTES = 1 << 20
LIMIT_SECONDS = 5.0
_CHUNK = 1 << 16


def fetch(url: str, seconds: float = LIMIT_SECONDS) -> dict[str, t.Any]:
    """{"status", "body", "error"} of a GET; ``status`` is 0 and ``error`` set if there is none.

    No redirect is followed, no proxy of the environment is used, and the answer must be complete
    within ``seconds`` and `LIMIT_BYTES`.
    """
    deadline = time.monotonic() + seconds
    try:
        response = urllib3.PoolManager(retries=False).request(
            "GET",
            url,
            redirect=False,
            preload_content=False,
            headers={"Accept": "application/json"},
            timeout=urllib3.Timeout(connect=min(2.0, seconds), read=seconds),
        )
        try:
            return _read(response, deadline, seconds)
        finally:
            response.close()
    except (urllib3.exceptions.HTTPError, ValueError, OSError) as error:
        return {"status": 0, "body": "", "error": _short(error)}


def _read(response: t.Any, deadline: float, seconds: float) -> dict[str, t.Any]:
    body = b""
    while chunk := response.read1(_CHUNK):
        body += chunk
        if len(body) > LIMIT_BYTES:
            return _failed(f"the answer is larger than {LIMIT_BYTES} bytes")
        if time.monotonic() > deadline:
            return _failed(f"the answer was not complete after {seconds:g} s")
    return {"status": response.status, "body": body.decode(errors="replace"), "error": ""}


def _failed(error: str) -> dict[str, t.Any]:
    return {"status": 0, "body": "", "error": error}


def _short(error: Exception) -> str:
    return str(getattr(error, "reason", None) or error).split(": ", 1)[-1][:300]
