# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A Prometheus on loopback, and its client."""

from __future__ import annotations

import contextlib
import json
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from nimops_harness.runtime import find_free_port
from nimops_programs import build


class Prometheus:
    """A client of a Prometheus at a URL."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"

    def get(self, path: str, **arguments: Any) -> Any:
        text = urllib.parse.urlencode(arguments, doseq=True)
        with urllib.request.urlopen(f"{self.url}/{path}?{text}", timeout=20) as answer:
            return json.load(answer)["data"]

    def query(self, expression: str) -> list[Any]:
        found: list[Any] = self.get("api/v1/query", query=expression)["result"]
        return found

    def reload(self) -> None:
        """Read prometheus.yaml and its rules again."""
        request = urllib.request.Request(f"{self.url}/-/reload", method="POST")
        with urllib.request.urlopen(request, timeout=20):
            return

    def is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=2) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False


def wait_for(condition: Callable[[], Any], seconds: float, what: str) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"{what}: not within {seconds:.0f} s"
        time.sleep(0.5)


@contextlib.contextmanager
def run_prometheus(folder: Path) -> Iterator[Prometheus]:
    """A Prometheus with the prometheus.yaml and the data of a folder, ready, during the block."""
    port = find_free_port()
    command = [build("prometheus"), "--config.file=prometheus.yaml", "--storage.tsdb.path=data"]
    command += [f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn"]
    command += ["--web.enable-lifecycle"]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
    try:
        client = Prometheus(port)
        wait_for(client.is_ready, 90, "Prometheus is ready")
        yield client
    finally:
        process.terminate()
        process.wait(timeout=30)
