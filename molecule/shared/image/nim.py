# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Plays a NIM, or a puller with nothing to pull; SANDBOX_BEHAVE works as on the sandbox."""

from __future__ import annotations

import http.server
import os
import signal
import sys

from model_server import DEFAULT_MODEL, answer_to


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        status, body = answer_to("models", self.path, DEFAULT_MODEL)
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main() -> int:
    """Fail, hang, be done, or serve."""
    behaviour = os.environ.get("SANDBOX_BEHAVE", "run")
    if behaviour == "fail":
        return 1
    if behaviour != "run":
        signal.pause()
    if sys.argv[1] == "nim":
        port = int(os.environ.get("NIM_SERVER_PORT", "8000"))
        http.server.ThreadingHTTPServer(("", port), _Handler).serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
