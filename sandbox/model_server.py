# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Simulates the model servers of the sandbox.

Pods of the sandbox are simulated, so nothing listens behind a Service. This program listens on the
cluster IP of each Service that the operator creates (they are loopback addresses) and answers like
a NIM. It watches Services with `kubectl` until it is interrupted or the kubeconfig is gone, as
after the sandbox's `down`; it survives a temporary outage of the API server.

The annotation `sandbox.nimops/model` on a Service chooses the answer:

models    (default) a list with one model, which chats and completes
embedding the same list; the model returns vectors
rerank    the same list; the model ranks passages
lora      the same list, with an adapter
metadata  404 on /v1/models, the name in /v1/metadata
error     503 on everything
garbage   200 with text that is not JSON
hang      accepts the request and does not answer for minutes; metrics count these questions
off       nothing listens

The annotation `sandbox.nimops/model-name` is the name of the model. --mode chooses the answer of a
Service without the first annotation.

Simulated pods have no network either. The API server of the sandbox sends what its Service proxy
forwards to them to an HTTP proxy at the fifth port of the sandbox, which this program plays.

With --names, it writes a file with the addresses of the Services, from which `dns/sitecustomize.py`
resolves their names, also those that lead to another Service. A Service with a privileged port is
served at its target port.
"""

from __future__ import annotations

import argparse
import contextlib
import http.server
import ipaddress
import json
import os
import re
import selectors
import subprocess
import sys
import threading
import time
import typing as t
import urllib.parse
from pathlib import Path

ANNOTATION, NAME_ANNOTATION = "sandbox.nimops/model", "sandbox.nimops/model-name"
KNATIVE_LABEL = "networking.internal.knative.dev/serviceType"
SELECTOR = "app.kubernetes.io/part-of=nim-service"
DEFAULT_MODEL = "acme/tiny-llm"
CHANGES = ("ADDED", "MODIFIED", "DELETED")
FIRST_PAUSE, LAST_PAUSE = 0.5, 5.0  # seconds between two watches
HANG_SECONDS = 300.0
LISTING = ("models", "embedding", "rerank", "lora")
MODES = (*LISTING, "metadata", "error", "garbage", "hang", "off")
ADAPTER = "acme/tiny-lora"
FIRST_FREE_PORT = 1024
PROXY_OFFSET = 4
"""The port of the proxy after that of the API server; `nimops_sandbox/ports.py` reserves it."""
EVENTS = b"data: "
FORWARDED = re.compile(
    r"/api/v1/namespaces/([^/]+)/services/(?:https?:)?([^/:]+)(?::[^/:]*)?/proxy/"
)

Service = dict[str, t.Any]
Answer = tuple[int, bytes]
Question = dict[str, t.Any]
Address = tuple[str, int]


BROKEN: dict[str, Answer] = {
    "error": (503, b'{"error": "the model is loading"}'),
    "garbage": (200, b"<html>not what you wanted</html>"),
}


def answer_to(mode: str, path: str, model: str, question: Question | None = None) -> Answer:
    """HTTP status and body for a path, and the body of a POST."""
    if broken := BROKEN.get(mode):
        return broken
    if path.startswith("/v1/health/"):
        return 200, b'{"message": "ok"}'
    if question is not None:
        return reply_to(mode, path, model, question)
    if path == "/v1/models" and mode in LISTING:
        entry = {"id": model, "object": "model", "owned_by": "system", "root": model}
        adapter = {"id": ADAPTER, "object": "model", "root": ADAPTER, "parent": model}
        data = [entry, adapter] if mode == "lora" else [entry]
        return 200, json.dumps({"object": "list", "data": data}).encode()
    if path == "/v1/metadata" and mode == "metadata":
        return 200, json.dumps({"modelInfo": [{"shortName": f"{model}:1.0"}]}).encode()
    return 404, b'{"error": "no such path"}'


def write_metrics(model: str, asked: int, running: int = 0) -> bytes:
    """Metrics with vLLM's names, as if each question had one token and its first took 50 ms."""
    name = f'model_name="{model}"'
    first = "vllm:time_to_first_token_seconds"
    lines = [
        f"vllm:num_requests_running{{{name}}} {running}",
        f"vllm:num_requests_waiting{{{name}}} 0",
        f"vllm:kv_cache_usage_perc{{{name}}} 0",
        f"vllm:generation_tokens_total{{{name}}} {asked}",
        f'vllm:request_success_total{{{name},finished_reason="stop"}} {asked}',
        *(f'{first}_bucket{{{name},le="{limit}"}} {asked}' for limit in ("0.1", "2.5", "+Inf")),
        f"{first}_count{{{name}}} {asked}",
    ]
    return "".join(f"{line}\n" for line in lines).encode()


def reply_to(mode: str, path: str, model: str, question: Question) -> Answer:
    """The answer of a model to a question, if a model of its kind answers it."""
    if question.get("model") != model:
        return 404, json.dumps({"error": {"message": "the model does not exist"}}).encode()
    if (mode, path) == ("embedding", "/v1/embeddings"):
        data = [{"object": "embedding", "index": 0, "embedding": [0.25, -0.5, 0.125, 1.0]}]
        return 200, json.dumps({"object": "list", "data": data, "model": model}).encode()
    if (mode, path) == ("rerank", "/v1/ranking"):
        return 200, json.dumps({"rankings": rank(question)}).encode()
    if mode == "models" and path in ("/v1/chat/completions", "/v1/completions"):
        return 200, generate(path, model, question)
    return 404, b'{"detail": "Not Found"}'


def rank(question: Question) -> list[dict[str, t.Any]]:
    """The passages by the number of words that they share with the query."""
    words = set(question["query"]["text"].lower().split())
    scores = [len(words & set(item["text"].lower().split())) for item in question["passages"]]
    order = sorted(range(len(scores)), key=lambda index: -scores[index])
    return [{"index": index, "logit": float(scores[index])} for index in order]


def generate(path: str, model: str, question: Question) -> bytes:
    """A text in one answer, or as server-sent events, one a word."""
    words = [f"{word} " for word in f"This is a simulated answer of {model}.".split()]
    is_chat = path.startswith("/v1/chat")
    usage = {"prompt_tokens": 1, "completion_tokens": len(words)}

    def choose(text: str, key: str, finish: str | None) -> dict[str, t.Any]:
        given: dict[str, t.Any] = {key: {"content": text}} if is_chat else {"text": text}
        return {"index": 0, "finish_reason": finish, **given}

    if not question.get("stream"):
        choice = choose("".join(words).strip(), "message", "stop")
        return json.dumps({"model": model, "choices": [choice], "usage": usage}).encode()
    events: list[dict[str, t.Any]] = [{"choices": [choose(word, "delta", None)]} for word in words]
    events += [{"choices": [choose("", "delta", "stop")]}, {"choices": [], "usage": usage}]
    lines = [*(json.dumps({"model": model, **event}) for event in events), "[DONE]"]
    return b"".join(EVENTS + line.encode() + b"\n\n" for line in lines)


def routes_of(service: Service) -> dict[int, Address]:
    """The address to listen on for a Service, by its api port, if its cluster IP is on loopback.

    In Knative's Services of the pods of one revision, that port has another name.
    """
    address = service["spec"].get("clusterIP") or ""
    try:
        if not ipaddress.ip_address(address).is_loopback:
            return {}
    except ValueError:
        return {}
    labels = service["metadata"].get("labels") or {}
    name = "http" if labels.get(KNATIVE_LABEL) == "Private" else "api"
    found = [port for port in service["spec"].get("ports") or [] if port.get("name") == name]
    return {
        port["port"]: (
            address,
            port["port"] if port["port"] >= FIRST_FREE_PORT else port["targetPort"],
        )
        for port in found
    }


def target_of(service: Service) -> str:
    """The name of the Service that one of type ExternalName leads to; otherwise empty."""
    name: str = service["spec"].get("externalName") or ""
    return ".".join(name.split(".")[:3])


def addresses_of(service: Service) -> list[Address]:
    return list(routes_of(service).values())


def host_of(namespace: str | None, name: str | None) -> str:
    """The name of a Service, without the cluster's domain."""
    return f"{name}.{namespace}.svc"


def send(
    handler: http.server.BaseHTTPRequestHandler, status: int, body: bytes, form: str = ""
) -> None:
    """Write an answer, by default one of a model: JSON, or events."""
    usual = "text/event-stream" if body.startswith(EVENTS) else "application/json"
    handler.send_response(status)
    handler.send_header("Content-Type", form or usual)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    timeout = 0.0
    mode = "models"
    model = DEFAULT_MODEL
    asked = 0

    def __init__(self, *arguments: t.Any) -> None:
        self.running: set[int] = set()
        super().__init__(*arguments)


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.answer(t.cast(_Server, self.server), self.path, None)

    def do_POST(self) -> None:
        self.answer(t.cast(_Server, self.server), self.path, self.read_question())

    def read_question(self) -> Question:
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        return t.cast(Question, json.loads(content or b"{}"))

    def answer(self, server: _Server, path: str, question: Question | None) -> None:
        server.asked += question is not None
        if path == "/v1/metrics":
            text = write_metrics(server.model, server.asked, len(server.running))
            status, body, form = 200, text, "text/plain"
        else:
            with self.count(server, question):
                if server.mode == "hang":
                    time.sleep(HANG_SECONDS)
                status, body = answer_to(server.mode, path, server.model, question)
            form = ""
        send(self, status, body, form)

    @contextlib.contextmanager
    def count(self, server: _Server, question: Question | None) -> t.Iterator[None]:
        if question is not None:
            server.running.add(id(self))
        try:
            yield
        finally:
            server.running.discard(id(self))

    def log_message(self, format: str, *args: t.Any) -> None:  # noqa: A002 the base class's name
        """Log nothing: a line per request is useless."""


class _Proxy(_Server):
    find: t.Callable[[str, str], _Server | None]


class _Forward(_Handler):
    """Answers as the server behind a Service, which the API server names in a header."""

    def do_GET(self) -> None:
        self.forward(None)

    def do_POST(self) -> None:
        self.forward(self.read_question())

    def forward(self, question: Question | None) -> None:
        found = FORWARDED.match(self.headers.get("X-Forwarded-Uri") or "")
        server = t.cast(_Proxy, self.server).find(*found.groups()) if found else None
        if server is None:
            self.send_error(502, "no model server listens for this Service")
        else:
            self.answer(server, urllib.parse.urlsplit(self.path).path, question)


class Models:
    """The running servers, by address.

    A single thread waits for all of them: thousands of threads would keep a core busy. `names` is
    the file to write, if any: a JSON object, {host: {port: address to listen on}}.
    """

    def __init__(self, model: str, names: Path | None = None, mode: str = "models") -> None:
        self._model, self._names, self._mode = model, names, mode
        self._servers: dict[Address, _Server] = {}
        self._routes: dict[str, dict[int, Address]] = {}
        self._targets: dict[str, str] = {}
        self._selector = selectors.DefaultSelector()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            for key, _ in self._selector.select(1.0):
                with contextlib.suppress(OSError, ValueError):  # stopped meanwhile
                    key.data.handle_request()

    def find(self, namespace: str, name: str) -> _Server | None:
        """The server of a Service; None if it is off."""
        found = map(self._servers.get, self._routes.get(host_of(namespace, name), {}).values())
        return next(filter(None, found), None)

    def addresses(self) -> set[Address]:
        return set(self._servers)

    def replace(self, services: t.Iterable[Service]) -> None:
        """Start and stop servers according to a list of all Services."""
        services = list(services)
        wanted = {address for service in services for address in addresses_of(service)}
        for address in self.addresses() - wanted:
            self._stop(address)
        for service in services:
            self.follow({"type": "ADDED", "object": service})

    def follow(self, event: dict[str, t.Any]) -> None:
        """Start or stop servers after one watch event; an error's object is not a Service."""
        if event["type"] not in CHANGES:
            return
        service = event["object"]
        metadata = service["metadata"]
        annotations = metadata.get("annotations") or {}
        mode = annotations.get(ANNOTATION, self._mode)
        model = annotations.get(NAME_ANNOTATION, self._model)
        host = host_of(metadata.get("namespace"), metadata.get("name"))
        self._route(host, routes_of(service), target_of(service))
        for address in addresses_of(service):
            if event["type"] == "DELETED" or mode == "off":
                self._stop(address)
            else:
                self._serve(address, mode, model)

    def _route(self, host: str, routes: dict[int, Address], target: str) -> None:
        if (self._routes.get(host), self._targets.get(host, "")) == (routes, target):
            return
        self._routes[host], self._targets[host] = routes, target
        if self._names:
            new = self._names.with_suffix(".new")
            new.write_text(json.dumps({name: self._find(name) for name in self._routes}))
            new.replace(self._names)

    def _find(self, host: str) -> dict[int, Address]:
        return self._routes.get(self._targets.get(host) or host, {})

    def _serve(self, address: Address, mode: str, model: str) -> None:
        if address not in self._servers:
            try:
                server = _Server(address, _Handler)
            except OSError as error:
                print(f"model server: {address[0]}:{address[1]}: {error}", file=sys.stderr)
                return
            self._selector.register(server, selectors.EVENT_READ, server)
            self._servers[address] = server
            print(f"model server: listening on {address[0]}:{address[1]}", file=sys.stderr)
        self._servers[address].mode, self._servers[address].model = mode, model

    def _stop(self, address: Address) -> None:
        if server := self._servers.pop(address, None):
            self._selector.unregister(server)
            server.server_close()


# With pagination, kubectl would print lists as if they were events.
GET_SERVICES = [
    "kubectl", "get", "services", "--all-namespaces", "--chunk-size=0", "--selector", SELECTOR,
]  # fmt: skip


def list_services() -> list[Service] | None:
    """The operator's Services; None if the API server does not answer."""
    command = [*GET_SERVICES, "--output", "json", "--request-timeout", "10s"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    return None if done.returncode else t.cast(list[Service], json.loads(done.stdout)["items"])


def watch_services() -> t.Iterator[dict[str, t.Any]]:
    """Watch events of the operator's Services, one per line, until kubectl exits."""
    command = [*GET_SERVICES, "--watch", "--output-watch-events", "--output", "json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield from map(json.loads, process.stdout)


def start_proxy(models: Models) -> http.server.HTTPServer | None:
    """Listen where the API server of the sandbox sends requests to pods; not on other clusters."""
    command = ["kubectl", "config", "view", "--minify", "--output"]
    command.append("jsonpath={.clusters[0].cluster.server}")
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    url = urllib.parse.urlsplit(done.stdout.strip())
    if url.hostname != "127.0.0.1" or not url.port:
        return None
    try:
        proxy = _Proxy((url.hostname, url.port + PROXY_OFFSET), _Forward)
    except OSError as error:
        print(f"model server: no proxy at port {url.port + PROXY_OFFSET}: {error}", file=sys.stderr)
        return None
    proxy.find = models.find
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    return proxy


def has_cluster(environ: t.Mapping[str, str]) -> bool:
    """Whether the kubeconfig exists; without it, the API server will not return."""
    default = Path(environ.get("HOME", "/")) / ".kube" / "config"
    paths = environ.get("KUBECONFIG", "").split(os.pathsep)
    return any(Path(path).is_file() for path in paths if path) or (
        not any(paths) and default.is_file()
    )


def follow_services(
    models: Models,
    exists: t.Callable[[], bool],
    list_all: t.Callable[[], list[Service] | None],
    watch: t.Callable[[], t.Iterable[dict[str, t.Any]]],
    sleep: t.Callable[[float], None],
) -> None:
    """Watch as long as the cluster exists; restart an ended watch, with back-off."""
    pause = FIRST_PAUSE
    while exists():
        if (services := list_all()) is not None:
            pause = FIRST_PAUSE
            models.replace(services)
            for event in watch():
                models.follow(event)
        sleep(pause)
        pause = min(2 * pause, LAST_PAUSE)


def main() -> int:
    """Serve until interrupted or until the cluster is gone."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default=DEFAULT_MODEL, help="the model name in answers")
    parser.add_argument("--names", type=Path, help="the file to write the Services' names to")
    parser.add_argument("--mode", choices=MODES, default="models", help="the usual answer")
    given = parser.parse_args()
    models = Models(given.model, given.names, given.mode)
    start_proxy(models)
    try:
        follow_services(
            models, lambda: has_cluster(os.environ), list_services, watch_services, time.sleep
        )
    except KeyboardInterrupt:
        return 0
    print("model server: the kubeconfig is gone", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
