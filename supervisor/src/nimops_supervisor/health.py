# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Whether the operator lives: the runtime answers, and its runs end. Served for a liveness probe.

The runtime's own /healthz says that its process is there, and nothing of whether any run ever ends.
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
"""How long the runtime may be away, and a run may outlast its limit."""

_ASK_SECONDS = 2.0
_UNLIMITED_SECONDS = 3600
# The proxies of the environment are for registries: none of them reaches this pod's loopback.
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Health:
    """What is known of the runtime; each answer looks anew."""

    def __init__(self, health_url: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._url = health_url
        self._clock = clock
        self._last_well = clock()
        self.runtime = 0
        """Process id of the runtime, 0 while there is none."""

    def find_fault(self) -> str:
        """What is wrong, empty if nothing is."""
        if self._answers():
            self._last_well = self._clock()
        elif (away := self._clock() - self._last_well) > PATIENCE_SECONDS:
            return f"the runtime has not been well for {away:.0f} s"
        limit = (settings.run_seconds() or _UNLIMITED_SECONDS) + PATIENCE_SECONDS
        ages = [processes.age_of(pid) for pid in self._runs()]
        stuck = [age for age in ages if age > limit]
        if stuck:
            return f"{len(stuck)} of {len(ages)} runs do not end, one for {max(stuck):.0f} s"
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
    """Answer GET /livez from a thread: 200 and `ok`, or 503 and what is wrong."""

    class Handler(http.server.BaseHTTPRequestHandler):
        timeout = 5

        def do_GET(self) -> None:
            if self.path != "/livez":
                self.send_error(404)
                return
            fault = health.find_fault()
            body = f"{fault or 'ok'}\n".encode()
            self.send_response(503 if fault else 200)
            self.send_header("Content-Type", "text/plain; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the base class's name
            """Quiet: one line a probe helps nobody."""

    server = http.server.ThreadingHTTPServer(address, Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
