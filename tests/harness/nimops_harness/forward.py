# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Connections between two networks, through a process in one with a socket of the other."""

from __future__ import annotations

import contextlib
import socket
import threading


class Forwarder:
    """Forwards connections of a listening socket, in any network, to an address in ours."""

    def __init__(self, listener: socket.socket, port: int, host: str = "127.0.0.1") -> None:
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
        try:
            server = socket.create_connection(self._target, 5)
        except OSError:
            client.close()
            return
        server.settimeout(None)
        back = threading.Thread(target=pump, args=(server, client), daemon=True)
        back.start()
        pump(client, server)
        back.join()
        client.close()
        server.close()


def pump(source: socket.socket, target: socket.socket) -> None:
    """Copy bytes until one side ends, then end the other."""
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    for end, how in ((target, socket.SHUT_WR), (source, socket.SHUT_RD)):
        with contextlib.suppress(OSError):
            end.shutdown(how)
