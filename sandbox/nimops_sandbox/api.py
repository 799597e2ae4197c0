# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The Kubernetes API calls that are needed to start an instance, over one connection."""

from __future__ import annotations

import http.client
import json
import ssl
from pathlib import Path
from typing import Any

from .errors import SandboxError

_TIMEOUT = 10


class Api:
    """A client with a bearer token. Not thread-safe."""

    def __init__(self, port: int, ca: Path, token: str) -> None:
        context = ssl.create_default_context(cafile=str(ca))
        self._connection = http.client.HTTPSConnection(
            "127.0.0.1", port, timeout=_TIMEOUT, context=context
        )
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def call(self, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
        """Return status and body of the response; status 0 and the reason if there was none."""
        data = None if body is None else json.dumps(body)
        try:
            self._connection.request(method, path, data, self._headers)
            answer = self._connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()  # the next request reconnects
            return 0, str(error).encode()

    def is_ready(self) -> bool:
        return self.call("GET", "/readyz")[0] == 200

    def get(self, path: str) -> dict[str, Any] | None:
        """Return the object or list at this path; None if there is none."""
        status, content = self.call("GET", path)
        if status == 404:
            return None
        if status != 200:
            raise SandboxError(f"GET {path}: {status} {content.decode(errors='replace')[:300]}")
        result: dict[str, Any] = json.loads(content)
        return result

    def create(self, path: str, body: dict[str, Any]) -> None:
        """Create an object in the collection at this path, unless one of that name exists."""
        status, content = self.call("POST", path, body)
        if status not in (201, 409):
            raise SandboxError(f"POST {path}: {status} {content.decode(errors='replace')[:300]}")
