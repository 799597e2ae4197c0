# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The replacement of requests_unixsocket's session: same requests, responses and errors."""

from __future__ import annotations

import http.server
import select
import socketserver
import threading
from urllib.parse import quote

import pytest
import requests
import requests_unixsocket

from ansible_prefork.runner import EventSession

DATA = {"event": "runner_on_ok", "stdout": "ü\U0001f600 \x1b[0;32m", "event_data": {"number": 1.5, "none": None}}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self):
        self.server.connections += 1
        super().setup()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.seen.append((self.path, dict(self.headers), body))
        self.send_response(self.server.status)
        self.send_header("Content-Length", "2")
        if self.server.drops:
            self.close_connection = True
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_arguments):
        pass


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    connections, status, drops = 0, 204, False


@pytest.fixture
def server(tmp_path_factory):
    path = tmp_path_factory.mktemp("e") / "s"
    server = Server(str(path), Handler)
    server.seen, server.url = [], f"http+unix://{quote(str(path), safe='')}"
    server.status = 200
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def session():
    return EventSession(requests_unixsocket)


@pytest.mark.parametrize("path", ["", "/events/", "/events?job=1"])
@pytest.mark.parametrize("headers", [None, {"X-Token": "t"}, {"Accept": "text/plain"}])
@pytest.mark.parametrize("status", [200, 404, 500])
def test_event_session_same_request(server, session, path, headers, status):
    server.status = status
    stock = requests_unixsocket.Session()
    stock.trust_env = False
    answers = [each.post(server.url + path, headers=headers, json=DATA) for each in (stock, session)]
    assert repr(answers[0]) == repr(answers[1])
    (stock_path, stock_headers, stock_body), (own_path, own_headers, own_body) = server.seen
    assert (stock_path, stock_body) == (own_path, own_body)
    assert stock_headers == own_headers


def test_event_session_one_connection(server, session):
    for _ in range(5):
        session.post(server.url, json=DATA)
    assert (len(server.seen), server.connections) == (5, 1)


def test_event_session_reconnects(server, session):
    server.drops = True
    for _ in range(3):
        session.post(server.url, json=DATA)
        (connection,) = session._connections.values()
        assert select.select([connection.sock], [], [], 10)[0], "the server has not closed it"
    assert (len(server.seen), server.connections) == (3, 3)


def test_event_session_no_server(session, tmp_path):
    with pytest.raises(requests.ConnectionError):
        session.post(f"http+unix://{quote(str(tmp_path / 'none'), safe='')}", json=DATA)


def test_event_session_invalid_json(server, session):
    with pytest.raises(requests.exceptions.InvalidJSONError):
        session.post(server.url, json={"number": float("nan")})
    assert server.seen == []
