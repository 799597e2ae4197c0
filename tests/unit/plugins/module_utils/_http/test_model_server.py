# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import itertools
import socket
import time

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._http import model_server as module
from ansible_collections.nimops.nim.plugins.module_utils._http.model_server import (
    LIMIT_BYTES,
    fetch,
)

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


def bytes_of(data):
    return [data[index : index + 1] for index in range(len(data))]


@pytest.mark.parametrize(
    ("chunks", "status", "body"),
    [
        pytest.param([HEAD + b"Content-Length: 2\r\n\r\n{}"], 200, "{}", id="complete"),
        pytest.param([HEAD + b"\r\n", b"{", b"}"], 200, "{}", id="until closed"),
        pytest.param(
            [HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n"],
            200,
            "{}",
            id="chunked",
        ),
        pytest.param(
            [b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"],
            302,
            "",
            id="redirect is not followed",
        ),
        pytest.param(
            [b"HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nwait"], 503, "wait", id="error"
        ),
        pytest.param([HEAD + b"Content-Length: 1\r\n\r\n\xff"], 200, "\ufffd", id="not UTF-8"),
    ],
)
def test_fetch_answers(raw, chunks, status, body):
    assert fetch(raw(chunks)) == {"status": status, "body": body, "error": "", "late": False}


FETCH_UNUSABLE_ANSWERS_CASES = {
    "garbage": ([b"SSH-2.0-OpenSSH\r\n\r\n"], "the answer is not HTTP"),
    "closed at once": ([], "connection closed without an answer"),
    "closed before the end": (
        [HEAD + b"Content-Length: 9\r\n\r\n{}"],
        "connection closed before the end",
    ),
    "no length of a chunk": (
        [HEAD + b"Transfer-Encoding: chunked\r\n\r\n\x1b[31mEVIL\r\n{}\r\n"],
        "connection closed before the end",
    ),
    "no status": ([b"HTTP/1.1 EVIL\x1b[31m OK\r\n\r\n{}"], "the answer is not HTTP"),
    "long header": ([HEAD + b"X-Long: " + b"x" * 70000 + b"\r\n\r\n"], "the answer is not HTTP"),
}


@pytest.mark.parametrize(
    ("chunks", "error"), FETCH_UNUSABLE_ANSWERS_CASES.values(), ids=FETCH_UNUSABLE_ANSWERS_CASES
)
def test_fetch_unusable_answers(raw, chunks, error):
    found = fetch(raw(chunks), seconds=2)
    assert found["status"] == 0
    assert found["body"] == ""
    assert found["error"].startswith(error)
    assert 0 < len(found["error"]) < 80
    assert "0x" not in found["error"]
    assert "EVIL" not in found["error"]
    assert not found["late"]


@pytest.mark.parametrize(
    "chunks",
    [
        pytest.param([], id="accepts and hangs"),
        pytest.param(bytes_of(HEAD * 40), id="header byte by byte"),
        pytest.param([HEAD + b"\r\n", *bytes_of(b"x" * 2000)], id="body byte by byte"),
    ],
)
def test_fetch_total_time(raw, chunks):
    begin = time.monotonic()
    url = raw(chunks or [b""] * 100, pause=0.05)
    assert fetch(url, seconds=0.3) == {
        "status": 0,
        "body": "",
        "error": "no complete answer in time",
        "late": True,
    }
    assert time.monotonic() - begin < 1.5


def test_fetch_large_answer(raw):
    sent = itertools.count()
    megabyte = b"x" * (1 << 20)

    def chunks():
        yield HEAD + b"Content-Length: 104857600\r\n\r\n"
        for _index in range(100):
            next(sent)
            yield megabyte

    found = fetch(raw(chunks()))
    assert found["error"] == f"the answer is larger than {LIMIT_BYTES} bytes"
    assert next(sent) < 20


def test_fetch_answer_at_limit(raw, monkeypatch):
    monkeypatch.setattr(module, "LIMIT_BYTES", 10)
    assert fetch(raw([HEAD + b"Content-Length: 10\r\n\r\n" + b"x" * 10]))["body"] == "x" * 10
    assert fetch(raw([HEAD + b"Content-Length: 11\r\n\r\n" + b"x" * 11]))["status"] == 0


def test_fetch_compressed_answer(raw):
    head = HEAD + b"Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\n"
    assert fetch(raw([head + b"bomb"]))["body"] == "bomb"


def test_fetch_refused_connection():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert fetch(f"http://127.0.0.1:{port}/")["error"] == "connection refused"


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this machine has no IPv6")
def test_fetch_ipv6(raw):
    url = raw([HEAD + b"Content-Length: 2\r\n\r\n{}"], family=socket.AF_INET6, address="::1")
    assert fetch(url)["body"] == "{}"


@pytest.mark.parametrize(
    "url",
    [
        *("", "http://", "http:///x", "ftp://h/x", "http://h:port/", "http://[::1/"),
        *("http://h:99999/", "http://\x00/"),
    ],
)
def test_fetch_invalid_urls(url):
    found = fetch(url, seconds=2)
    assert found["status"] == 0
    assert 0 < len(found["error"]) < 120


def test_fetch_ignores_proxies(raw, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", "")
    assert fetch(raw([HEAD + b"Content-Length: 2\r\n\r\n{}"]))["body"] == "{}"


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "127.1", "[::ffff:127.0.0.1]", "0.0.0.0"]
)
def test_fetch_in_pod_refuses_loopback(serve, answer, monkeypatch, host):
    """There, the runtime's proxy serves the whole cluster, and an address may be anybody's word."""
    server = serve(lambda request: answer(200, {}))
    url = server.url.replace("127.0.0.1", host)
    assert fetch(url.replace(host, "127.0.0.1"))["status"] == 200
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    found = fetch(url)
    assert found["error"] == "its address is loopback, link-local or reserved, which is not allowed"
    assert len(server.requests) == 1


def test_fetch_in_pod_uses_checked_address(serve, answer, monkeypatch):
    server = serve(lambda request: answer(200, {}))
    port = server.host.split(":")[1]
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    seen = []
    monkeypatch.setattr(module, "look_up", lambda host, port: seen.append(host) or ["127.0.0.1"])
    monkeypatch.setattr(module, "zone_of", lambda address: "private")
    assert fetch(f"http://llm.ns.svc:{port}/v1/models?x=y")["status"] == 200
    assert seen == ["llm.ns.svc"]
    request = server.requests[0]
    assert (request.path, request.query) == ("/v1/models", {"x": "y"})
    assert request.headers["host"] == f"llm.ns.svc:{port}"


def test_fetch_limit_of_two_calls():
    """Two calls, the second after a 404: the sum limits the time of an operator's worker."""
    assert module.LIMIT_SECONDS <= 5
