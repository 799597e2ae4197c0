# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A NIM's commands and API for a real model, which llama.cpp runs on the processor.

As uvicorn does, SIGTERM closes the port at once and lets running requests finish.
"""

from __future__ import annotations

import argparse
import http.server
import json
import os
import platform
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ClassVar

from model_files import MANIFEST, Profile, RefusedError, download, read_profiles

Json = dict[str, Any]

MAX_BODY = 1 << 20
SLOTS = 4
"""Requests that run at the same time; others wait."""
CONTEXT = 1024  # tokens of one request
_ENGINE_METRICS = {
    "prompt_tokens_total": "prompt_tokens_total",
    "tokens_predicted_total": "generation_tokens_total",
    "requests_processing": "num_requests_running",
    "requests_deferred": "num_requests_waiting",
}
"""The engine's metrics, and their names in a NIM."""


class Engine:
    """The loaded model."""

    def __init__(self, weights: Path, model: str) -> None:
        import xllamacpp  # type: ignore[import-not-found]  # noqa: PLC0415 not for downloads

        params = xllamacpp.CommonParams()
        params.model.path = str(weights)
        params.model_alias = {model}
        params.n_parallel, params.n_ctx = SLOTS, SLOTS * CONTEXT
        threads = int(os.environ.get("NIM_THREADS") or 1)
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
        params.endpoint_metrics = True
        params.sampling.temp = 0.0  # the same answer each time
        self._server = xllamacpp.Server(params)
        self.routes: dict[str, Callable[..., Json | None]] = {
            "/v1/chat/completions": self._server.handle_chat_completions,
            "/v1/completions": self._server.handle_completions,
        }

    def metrics(self) -> str:
        return str(self._server.handle_metrics())


class Times:
    """Counts answers, and measures how long their first tokens take."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.answered = self.first_tokens = 0
        self.seconds = 0.0

    def add_first_token(self, seconds: float) -> None:
        with self._lock:
            self.first_tokens += 1
            self.seconds += seconds

    def add_answer(self) -> None:
        with self._lock:
            self.answered += 1


def translate_metrics(text: str, times: Times, model: str) -> str:
    """A NIM's metrics, from those of the engine."""
    labels = f'{{model_name="{model}"}}'
    lines = []
    for name, kind, value in re.findall(
        r"^# TYPE llamacpp:(\w+) (\w+)\nllamacpp:\1 (\S+)$", text, re.MULTILINE
    ):
        if known := _ENGINE_METRICS.get(name):
            lines += [f"# TYPE {known} {kind}", f"{known}{labels} {value}"]
    lines += [
        "# TYPE request_success_total counter",
        f"request_success_total{labels} {times.answered}",
        "# TYPE time_to_first_token_seconds summary",
        f"time_to_first_token_seconds_count{labels} {times.first_tokens}",
        f"time_to_first_token_seconds_sum{labels} {times.seconds:.6f}",
    ]
    return "\n".join(lines) + "\n"


class Handler(http.server.BaseHTTPRequestHandler):
    """A NIM's API.

    Each connection is for one request, so that a stopping server waits for requests only.
    """

    protocol_version = "HTTP/1.1"
    profile: ClassVar[Profile]
    engine: ClassVar[Engine | None] = None
    times: ClassVar[Times] = Times()

    def end_headers(self) -> None:
        """Name the pod, whose host name is its own."""
        self.send_header("X-Pod", platform.node())
        super().end_headers()

    def do_GET(self) -> None:
        if self.path == "/v1/health/live" or (self.path == "/v1/health/ready" and self.engine):
            self._send_json(200, {"object": "health.response", "message": "ok"})
        elif self.engine is None:
            self._send_json(503, {"message": "the model is loading"})
        elif self.path == "/v1/models":
            entry = {"id": self.profile.model, "object": "model", "owned_by": "system"}
            self._send_json(200, {"object": "list", "data": [entry]})
        elif self.path == "/v1/metadata":
            names = [f"{file.repository}?file={file.name}" for file in self.profile.files]
            info = [{"shortName": self.profile.model, "modelUrl": name} for name in names]
            self._send_json(200, {"modelInfo": info})
        elif self.path == "/v1/metrics":
            text = translate_metrics(self.engine.metrics(), self.times, self.profile.model)
            self._send(200, text.encode(), "text/plain; version=0.0.4")
        else:
            self._send_json(404, {"detail": "Not Found"})

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        if not 0 < length <= MAX_BODY:
            self._send_json(413, {"detail": "no body, or a large one"})
            return
        question = json.loads(self.rfile.read(length))
        route = self.engine.routes.get(self.path) if self.engine else None
        if self.engine is None:
            self._send_json(503, {"message": "the model is loading"})
        elif route is None:
            self._send_json(404, {"detail": "Not Found"})
        elif question.get("model") != self.profile.model:
            message = f"the model {question.get('model')!r} does not exist"
            self._send_json(404, {"error": {"message": message, "code": 404}})
        else:
            self._answer(route, question)

    def _answer(self, route: Callable[..., Json | None], question: Json) -> None:
        try:
            if question.get("stream"):
                Stream(self).run(route, question)
                return
            answer = route(question) or {}
        except ValueError as error:
            answer = {"error": {"message": str(error), "code": 400}}
        status = int((answer.get("error") or {}).get("code") or 200)
        if status == http.HTTPStatus.OK:
            self.times.add_answer()
        self._send_json(status, answer)

    def _send_json(self, status: int, content: Json) -> None:
        self._send(status, json.dumps(content).encode(), "application/json")

    def _send(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the base class's name
        """Quiet: a line for each probe is useless."""


class Stream:
    """One answer as server-sent events. A client that has left stops the engine's work for it."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._started = time.monotonic()
        self._has_begun = self._is_left = False

    def run(self, route: Callable[..., Json | None], question: Json) -> None:
        error: Json = {}

        def take(chunk: Json) -> bool:
            if "error" in chunk:
                error.update(chunk)
                return True
            return not self._write(json.dumps(chunk))

        error.update(route(question, take) or {})
        if error and not self._has_begun:
            self._handler._send_json(int(error["error"].get("code") or 500), error)
        elif not error and not self._is_left:
            self._handler.times.add_answer()
            self._write("[DONE]")
            self._write_raw(b"0\r\n\r\n")

    def _write(self, data: str) -> bool:
        """Send one event; return whether the client is there."""
        if not self._has_begun:
            self._begin()
        event = f"data: {data}\n\n".encode()
        return self._write_raw(b"%x\r\n%s\r\n" % (len(event), event))

    def _begin(self) -> None:
        self._has_begun = True
        self._handler.times.add_first_token(time.monotonic() - self._started)
        self._handler.send_response(200)
        for name, value in (
            ("Content-Type", "text/event-stream"),
            ("Transfer-Encoding", "chunked"),
            ("Connection", "close"),
        ):
            self._handler.send_header(name, value)
        self._handler.end_headers()

    def _write_raw(self, data: bytes) -> bool:
        try:
            self._handler.wfile.write(data)
            self._handler.wfile.flush()
        except OSError:
            self._is_left = True
        return not self._is_left


class Server(http.server.ThreadingHTTPServer):
    """Waits for running requests when it is closed."""

    daemon_threads = False
    request_queue_size = 64


def cache() -> Path:
    return Path(os.environ.get("NIM_CACHE_PATH", "/tmp/cache"))


def profiles() -> list[Profile]:
    return read_profiles(MANIFEST.read_text())


def select(known: Iterable[Profile], names: Iterable[str]) -> list[Profile]:
    """The profiles of these ids; RefusedError if the manifest lacks one."""
    by_id = {profile.id: profile for profile in known}
    if unknown := set(names) - set(by_id):
        raise RefusedError(f"the manifest has no profile {', '.join(sorted(unknown))}")
    return [by_id[name] for name in names]


def pull(words: list[str]) -> None:
    """`download-to-cache`, with the ids of profiles, or all of them."""
    parser = argparse.ArgumentParser(prog="download-to-cache")
    parser.add_argument("--profiles", nargs="*", default=[])
    parser.add_argument("--all", action="store_true")
    given = parser.parse_args(words)
    for profile in profiles() if given.all else select(profiles(), given.profiles):
        for file in profile.files:
            download(file, cache())


def list_profiles(_words: list[str]) -> None:
    """`list-model-profiles`: the ids with their main tags."""
    print("MODEL PROFILES")
    for profile in profiles():
        tags = [profile.tags[name] for name in ("llm_engine", "precision", "profile")]
        print(f"- {profile.id} ({'-'.join(tags)})")


def serve(_words: list[str]) -> None:
    """Serve the selected profile, or the first one in the cache."""
    named = os.environ.get("NIM_MODEL_PROFILE")
    cached = [profile for profile in profiles() if profile.is_in(cache())]
    profile = select(profiles(), [named])[0] if named else [*cached, *profiles()][0]
    for file in profile.files:
        download(file, cache())
    Handler.profile = profile
    server = Server(("", int(os.environ.get("NIM_SERVER_PORT", "8000"))), Handler)
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    threading.Thread(target=_load, args=(profile,), daemon=True).start()
    server.serve_forever(poll_interval=0.05)
    print("stopping: no new requests, running ones finish", flush=True)
    server.server_close()
    print("stopped", flush=True)


def _load(profile: Profile) -> None:
    started = time.monotonic()
    try:
        Handler.engine = Engine(profile.files[0].path(cache()), profile.model)
    except Exception as error:
        print(f"the model does not load: {error}", file=sys.stderr, flush=True)
        os._exit(1)
    print(f"serving {profile.model} after {time.monotonic() - started:.1f} s", flush=True)


COMMANDS = {"nim": serve, "download-to-cache": pull, "list-model-profiles": list_profiles}


def main() -> int:
    """Run a command; 1 if it refuses."""
    try:
        COMMANDS[sys.argv[1]](sys.argv[2:])
    except RefusedError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
