# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Connections that are forwarded: between two networks, or slowly."""

from __future__ import annotations

import contextlib
import socket
import threading
import time


class Forwarder:
    """Forwards connections of a listening socket, in any network, to an address in ours.

    `delay`: seconds before each part of an answer.
    """

    def __init__(self, listener: socket.socket, port: int, host: str = "127.0.0.1") -> None:
        self.delay = 0.0
        self._listener = listener
        self._target = host, port
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._connect, args=(client,), daemon=True).start()

    def _connect(self, client: socket.socket) -> None:
        with (
            client,
            contextlib.suppress(OSError),
            socket.create_connection(self._target, 5) as server,
        ):
            server.settimeout(None)
            back = threading.Thread(target=self._pump, args=(server, client, True), daemon=True)
            back.start()
            self._pump(client, server)
            back.join()

    def _pump(self, source: socket.socket, target: socket.socket, is_answer: bool = False) -> None:
        """Copy bytes until one side ends, then end the other."""
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if is_answer:
                    time.sleep(self.delay)
                target.sendall(data)
        for end, how in ((target, socket.SHUT_WR), (source, socket.SHUT_RD)):
            with contextlib.suppress(OSError):
                end.shutdown(how)
