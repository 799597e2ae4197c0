# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Plays a mirror of the registry of models: registry.py FOLDER PORT.

REGISTRY_KEY is the accepted key. A path is a quoted address such as
`acme/llm/model:version?file=name`; the file is that of the folder. In the version `damaged`, its
first byte differs. The first answer with a file ends in its middle.
"""

from __future__ import annotations

import http.server
import os
import re
import sys
import urllib.parse
from pathlib import Path
from typing import ClassVar

PIECE = 1 << 20  # bytes
_ADDRESS = re.compile(r"/(?P<model>[\w./-]+):(?P<version>\w+)\?file=(?P<name>[\w-][\w.-]*)")


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves files, or their ends."""

    protocol_version = "HTTP/1.1"
    folder: ClassVar[Path] = Path()
    key: ClassVar[str] = ""
    begun: ClassVar[set[str]] = set()

    def do_GET(self) -> None:
        address = urllib.parse.unquote(self.path)
        if address == "/health":
            self._send_head(200, 0)
            return
        given = self.headers.get("Authorization") or ""
        if given != f"Bearer {self.key}":
            self._send_head(403 if given else 401, 0)
            return
        match = _ADDRESS.fullmatch(address)
        file = self.folder / match["name"] if match else self.folder
        if match is None or not file.is_file():
            self._send_head(404, 0)
            return
        self._send_file(file, address, is_damaged=match["version"] == "damaged")

    def _send_file(self, file: Path, address: str, *, is_damaged: bool) -> None:
        size = file.stat().st_size
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range") or "")
        start = min(int(wanted[1]), size) if wanted else 0
        self._send_head(206 if wanted else 200, size - start)
        end = size // 2 if address not in self.begun else size
        self.begun.add(address)
        with file.open("rb") as content:
            content.seek(start)
            while (count := min(PIECE, end - content.tell())) > 0:
                piece = content.read(count)
                if is_damaged and content.tell() == len(piece):
                    piece = bytes([piece[0] ^ 1]) + piece[1:]
                self.wfile.write(piece)
        self.close_connection = True
        print(f"{address}: bytes {start} to {end} of {size}", flush=True)

    def _send_head(self, status: int, length: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(length))
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the base class's name
        """Quiet: a line for each probe is useless."""


def main() -> None:
    """Serve until killed."""
    Handler.folder, Handler.key = Path(sys.argv[1]), os.environ["REGISTRY_KEY"]
    http.server.ThreadingHTTPServer(("", int(sys.argv[2])), Handler).serve_forever()


if __name__ == "__main__":
    main()
