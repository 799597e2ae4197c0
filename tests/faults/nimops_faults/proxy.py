# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A proxy in front of the API server: slow answers, wrong answers, cut connections."""

from __future__ import annotations

import contextlib
import http.server
import json
import socket
import ssl
import threading
import time
import typing as t
from dataclasses import dataclass
from pathlib import Path

import urllib3
from nimops_harness.serving import Serving

WRITES = ("POST", "PUT", "PATCH", "DELETE")
HOP_BY_HOP = ("connection", "transfer-encoding", "content-length", "keep-alive")
RETRY = urllib3.Retry(1, status=0, allowed_methods={"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True)
class Refusal:
    """An injected error; `done`: the request was executed nevertheless."""

    code: int
    reason: str
    message: str
    done: bool = False

    def body(self) -> bytes:
        status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
        more = {"reason": self.reason, "message": self.message, "code": self.code}
        return json.dumps(status | more).encode()


REFUSALS = (
    Refusal(409, "Conflict", "the object has been modified; try again (a fault)"),
    Refusal(429, "TooManyRequests", "too many requests, please try again later (a fault)"),
    Refusal(500, "InternalError", "an error on the server (a fault)"),
    Refusal(500, "InternalError", "an error on the server, after it was done (a fault)", done=True),
)


class Trouble:
    """A delay in seconds before each answer, and every n-th write refused."""

    def __init__(self, delay: float = 0.0, every: int = 0) -> None:
        self.delay = delay
        self._every = every
        self._writes = 0
        self._lock = threading.Lock()

    def judge(self, method: str) -> Refusal | None:
        """The refusal of a request, if any; each kind of refusal in turn."""
        if not self._every or method not in WRITES:
            return None
        with self._lock:
            self._writes += 1
            turn, left = divmod(self._writes, self._every)
        return None if left else REFUSALS[(turn - 1) % len(REFUSALS)]

    @property
    def refused(self) -> int:
        return self._writes // self._every if self._every else 0


class Proxy(Serving, http.server.ThreadingHTTPServer):
    """The proxy while a block runs; `pki` is where the API server's own keys are.

    `trouble` applies to requests that begin from now on.
    """

    request_queue_size = 128

    def __init__(self, upstream: int, pki: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.trouble = Trouble()
        self.server_pool = urllib3.HTTPSConnectionPool(
            "127.0.0.1", upstream, maxsize=64, ca_certs=str(pki / "ca.crt"), timeout=None
        )
        self._clients: set[socket.socket] = set()
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(str(pki / "server.crt"), str(pki / "server.key"))

    def get_request(self) -> tuple[socket.socket, t.Any]:
        """The handshake is left to the thread of the connection."""
        client, address = self.socket.accept()
        wrapped = self._context.wrap_socket(client, server_side=True, do_handshake_on_connect=False)
        self._clients.add(wrapped)
        return wrapped, address

    def shutdown_request(self, request: t.Any) -> None:
        self._clients.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: t.Any, client_address: t.Any) -> None:
        """Quiet: clients and the API server go away all the time here."""

    def cut(self) -> int:
        """Close all connections, and return their number."""
        clients, self._clients = self._clients, set()
        for client in clients:
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
        return len(clients)


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Proxy

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        trouble = self.server.trouble
        refusal = trouble.judge(self.command)
        answer = self._ask(body) if refusal is None or refusal.done else None
        if trouble.delay:
            time.sleep(trouble.delay)
        if refusal:
            if answer:
                answer.drain_conn()
            self._refuse(refusal)
        elif answer:
            self._pass_on(answer)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = _serve  # noqa: N815

    def _ask(self, body: bytes) -> urllib3.BaseHTTPResponse | None:
        """The API server's answer; the connection to the client ends if there is none."""
        headers = {
            key: value for key, value in self.headers.items() if key.lower() not in HOP_BY_HOP
        }
        try:
            return self.server.server_pool.urlopen(
                self.command, self.path, body or None, headers, RETRY, redirect=False,
                preload_content=False, decode_content=False,
            )  # fmt: skip
        except urllib3.exceptions.HTTPError:
            self.close_connection = True
            return None

    def _refuse(self, refusal: Refusal) -> None:
        self.send_response(refusal.code)
        self.send_header("Content-Type", "application/json")
        if refusal.code == 429:
            self.send_header("Retry-After", "1")
        self._end(refusal.body())

    def _end(self, body: bytes) -> None:
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _pass_on(self, answer: urllib3.BaseHTTPResponse) -> None:
        """Bytes as they come: a watch has no end."""
        self.send_response(answer.status)
        for key, value in answer.headers.items():
            if key.lower() not in HOP_BY_HOP:
                self.send_header(key, value)
        if "chunked" not in answer.headers.get("Transfer-Encoding", ""):
            self._end(answer.read(decode_content=False))
            return
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for data in answer.stream(decode_content=False):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.write(b"0\r\n\r\n")
        except urllib3.exceptions.HTTPError:
            self.close_connection = True  # the answer was cut: so is ours
        finally:
            answer.close()

    def log_message(self, format: str, *args: t.Any) -> None:  # noqa: A002 the base class's name
        """Quiet."""


def render_kubeconfig(text: str, port: int) -> str:
    """A kubeconfig of the sandbox, which is JSON, that leads to another port."""
    config = json.loads(text)
    config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{port}"
    return json.dumps(config)
