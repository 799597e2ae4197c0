# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Servers of tests, in threads of this process."""

from __future__ import annotations

import socketserver
import threading
import typing as t


class Serving(socketserver.BaseServer):
    """Put this first among the bases of a server: it serves while a block runs."""

    allow_reuse_address = True
    daemon_threads = True

    def __enter__(self) -> t.Self:
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()
