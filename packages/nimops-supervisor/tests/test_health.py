# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import http.server
import os
import threading
import urllib.request

import pytest

from nimops_supervisor import health, processes


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def known(monkeypatch):
    """A runtime without a health endpoint; `ages` are the ages of its runs."""
    clock = Clock()
    found = health.Health("", clock)
    found.clock = clock
    found.runtime = os.getpid()
    found.ages = {}
    monkeypatch.setenv("NIMOPS_RUN_SECONDS", "300")
    monkeypatch.setattr(processes, "children_of", lambda pid: list(found.ages))
    monkeypatch.setattr(processes, "age_of", lambda pid: found.ages[pid])
    return found


@pytest.mark.parametrize(
    ("ages", "problem"),
    [
        ({}, ""),
        ({1: 0.0, 2: 359.0}, ""),
        ({1: 361.0, 2: 5.0}, "1 of 2 runs exceed their time limit, the oldest runs for 361 s"),
        ({1: 400.0, 2: 500.0}, "2 of 2 runs exceed their time limit, the oldest runs for 500 s"),
    ],
)
def test_find_problem_run_ages(known, ages, problem):
    known.ages = ages
    assert known.find_problem() == problem


def test_find_problem_runtime_missing(known):
    assert known.find_problem() == ""
    known.runtime = 0
    known.clock.now += 59
    assert known.find_problem() == ""
    known.clock.now += 2
    assert known.find_problem() == "the runtime has been unhealthy for 61 s"
    known.runtime = 1
    assert known.find_problem() == ""


def test_find_problem_no_answer():
    clock = Clock()
    found = health.Health("http://127.0.0.1:1/healthz", clock)
    found.runtime = os.getpid()
    assert found.find_problem() == ""
    clock.now += 61
    assert "been unhealthy" in found.find_problem()


def test_find_problem_ignores_http_proxy(monkeypatch):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    for name in ("no_proxy", "NO_PROXY", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setattr(urllib.request, "_opener", None)  # that of the process, made of its first environment
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        clock = Clock()
        found = health.Health(f"http://127.0.0.1:{server.server_port}/healthz", clock)
        found.runtime = os.getpid()
        clock.now += 61
        assert found.find_problem() == ""
        server.shutdown()


def test_age_of():
    assert 0 < processes.age_of(os.getpid()) < 3600
    assert processes.age_of(0) == 0.0
