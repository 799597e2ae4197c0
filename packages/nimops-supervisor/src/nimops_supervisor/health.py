# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The liveness endpoint: healthy while the runtime answers and its runs finish in time.

The runtime's own /healthz only reports that its process exists, not whether runs finish.
"""

from __future__ import annotations

import http.server
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable

from nimops_supervisor import processes, settings

PATIENCE_SECONDS = 60.0
"""How long the runtime may be unhealthy, and by how much a run may exceed its time limit."""

_ASK_SECONDS = 2.0
_UNLIMITED_SECONDS = 3600
# Proxies from the environment cannot reach this pod's loopback.
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Health:
    """The health of the runtime, checked at each request."""

    def __init__(self, health_url: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._url = health_url
        self._clock = clock
        self._last_healthy = clock()
        self.runtime = 0
        """The process ID of the runtime, 0 while it is not running."""

    def find_problem(self) -> str:
        """The description of a problem; empty if healthy."""
        if self._answers():
            self._last_healthy = self._clock()
        elif (unhealthy := self._clock() - self._last_healthy) > PATIENCE_SECONDS:
            return f"the runtime has been unhealthy for {unhealthy:.0f} s"
        limit = (settings.run_seconds() or _UNLIMITED_SECONDS) + PATIENCE_SECONDS
        ages = [processes.age_of(pid) for pid in self._runs()]
        stuck = [age for age in ages if age > limit]
        if stuck:
            return f"{len(stuck)} of {len(ages)} runs exceed their time limit, the oldest runs for {max(stuck):.0f} s"
        return ""

    def _runs(self) -> list[int]:
        return processes.children_of(self.runtime) if self.runtime else []

    def _answers(self) -> bool:
        if not self.runtime:
            return False
        if not self._url:
            return True
        try:
            with _DIRECT.open(self._url, timeout=_ASK_SECONDS) as answer:
                return bool(answer.status == 200)
        except (OSError, urllib.error.URLError, ValueError):
            return False


def serve(address: tuple[str, int], health: Health) -> http.server.ThreadingHTTPServer:
    """Serve GET /livez in a thread: 200 and `ok`, or 503 and the problem."""

    class Handler(http.server.BaseHTTPRequestHandler):
        timeout = 5

        def do_GET(self) -> None:
            if self.path != "/livez":
                self.send_error(404)
                return
            problem = health.find_problem()
            body = f"{problem or 'ok'}\n".encode()
            self.send_response(503 if problem else 200)
            self.send_header("Content-Type", "text/plain; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the base class's name
            """Log nothing: one line per probe would only be noise."""

    server = http.server.ThreadingHTTPServer(address, Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
