# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Simulates the model servers of the sandbox.

Pods of the sandbox are simulated, so nothing listens behind a Service. This program listens on the
cluster IP of each Service that the operator creates (they are loopback addresses) and answers like
a NIM. It watches Services with `kubectl` until it is interrupted or the kubeconfig is gone, as
after the sandbox's `down`; it survives a temporary outage of the API server.

The annotation `sandbox.nimops/model` on a Service chooses the answer:

models    (default) a list with one model
metadata  404 on /v1/models, the name in /v1/metadata
error     503 on everything
garbage   200 with text that is not JSON
hang      accepts the request and does not answer for minutes
off       nothing listens
"""

from __future__ import annotations

import argparse
import contextlib
import http.server
import ipaddress
import json
import os
import selectors
import subprocess
import sys
import threading
import time
import typing as t
from pathlib import Path

ANNOTATION = "sandbox.nimops/model"
SELECTOR = "app.kubernetes.io/part-of=nim-service"
DEFAULT_MODEL = "acme/tiny-llm"
CHANGES = ("ADDED", "MODIFIED", "DELETED")
FIRST_PAUSE, LAST_PAUSE = 0.5, 5.0  # seconds between two watches
HANG_SECONDS = 300.0

Service = dict[str, t.Any]
Answer = tuple[int, bytes]
Address = tuple[str, int]


def answer_to(mode: str, path: str, model: str) -> Answer:
    """HTTP status and body for a path."""
    if mode == "error":
        return 503, b'{"error": "the model is loading"}'
    if mode == "garbage":
        return 200, b"<html>not what you wanted</html>"
    if path.startswith("/v1/health/"):
        return 200, b'{"message": "ok"}'
    if path == "/v1/models" and mode == "models":
        entry = {"id": model, "object": "model", "owned_by": "system", "root": model}
        return 200, json.dumps({"object": "list", "data": [entry]}).encode()
    if path == "/v1/metadata" and mode == "metadata":
        return 200, json.dumps({"modelInfo": [{"shortName": f"{model}:1.0"}]}).encode()
    return 404, b'{"error": "no such path"}'


def addresses_of(service: Service) -> list[Address]:
    """The address to listen on for a Service: its api port, if its cluster IP is on loopback."""
    address = service["spec"].get("clusterIP") or ""
    try:
        if not ipaddress.ip_address(address).is_loopback:
            return []
    except ValueError:
        return []
    ports = service["spec"].get("ports") or []
    return [(address, port["port"]) for port in ports if port.get("name") == "api"]


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    timeout = 0.0
    mode = "models"
    model = DEFAULT_MODEL


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        server = t.cast(_Server, self.server)
        if server.mode == "hang":
            time.sleep(HANG_SECONDS)
        status, body = answer_to(server.mode, self.path, server.model)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: t.Any) -> None:  # noqa: A002 the base class's name
        """Log nothing: a line per request is useless."""


class Models:
    """The running servers, by address.

    A single thread waits for all of them: thousands of threads would keep a core busy.
    """

    def __init__(self, model: str) -> None:
        self._model = model
        self._servers: dict[Address, _Server] = {}
        self._selector = selectors.DefaultSelector()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            for key, _ in self._selector.select(1.0):
                with contextlib.suppress(OSError, ValueError):  # stopped meanwhile
                    key.data.handle_request()

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
        annotations = service["metadata"].get("annotations") or {}
        mode = annotations.get(ANNOTATION, "models")
        for address in addresses_of(service):
            if event["type"] == "DELETED" or mode == "off":
                self._stop(address)
            else:
                self._serve(address, mode)

    def _serve(self, address: Address, mode: str) -> None:
        if address not in self._servers:
            try:
                server = _Server(address, _Handler)
            except OSError as error:
                print(f"model server: {address[0]}:{address[1]}: {error}", file=sys.stderr)
                return
            server.model = self._model
            self._selector.register(server, selectors.EVENT_READ, server)
            self._servers[address] = server
            print(f"model server: listening on {address[0]}:{address[1]}", file=sys.stderr)
        self._servers[address].mode = mode

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
    models = Models(parser.parse_args().model)
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
