# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Plays a NIM, or its puller: prints progress, checks the key, writes a model, serves it.

SANDBOX_BEHAVE works as on the sandbox: `fail` ends with 1, `run` is this, anything else hangs.
A file named `broken` in /tmp makes a server unready.
"""

from __future__ import annotations

import argparse
import http.server
import json
import os
import re
import signal
import sys
import time
from pathlib import Path
from typing import ClassVar

from model_server import DEFAULT_MODEL, answer_to

MANIFEST = Path("/opt/nim/etc/default/model_manifest.yaml")
BROKEN = Path("/tmp/broken")
MAX_BODY = 1 << 20
LOADING_SECONDS = 2.0
STEPS = 4


class RefusedError(Exception):
    """Print the error of a NIM that ends with 1."""


def profiles_of(manifest: str) -> list[str]:
    """The ids of a manifest's profiles."""
    return re.findall(r"^([0-9a-f]{64}):", manifest, re.MULTILINE)


def check_key() -> None:
    """Check the key like the registry of models; an image built without a key accepts any."""
    accepted = os.environ.get("TINY_KEY", "")
    given = os.environ.get("NGC_API_KEY") or os.environ.get("HF_TOKEN") or ""
    if not given:
        raise RefusedError("401 Unauthorized: no key: set NGC_API_KEY or HF_TOKEN")
    if accepted and given != accepted:
        raise RefusedError("403 Forbidden: the key is not valid for this model")


def download(folder: Path) -> None:
    """Write a model, in steps, unless it is there."""
    if (folder / "config.json").is_file():
        print(f"{folder.name} is in the cache", flush=True)
        return
    check_key()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "rank0.engine").open("wb") as file:
        for step in range(1, STEPS + 1):
            file.write(bytes(1 << 18))
            print(f"downloading {folder.name}: {100 * step // STEPS} %", flush=True)
            time.sleep(0.25)
    (folder / "config.json").write_text(json.dumps({"model": DEFAULT_MODEL}))


def cache() -> Path:
    return Path(os.environ.get("NIM_CACHE_PATH", "/tmp/cache"))


def pull(words: list[str]) -> None:
    """`download-to-cache`, with the ids of profiles, all of them, or the URI of a model."""
    parser = argparse.ArgumentParser(prog="download-to-cache")
    parser.add_argument("--profiles", nargs="*", default=[])
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--model-uri")
    parser.add_argument("--manifest-file", type=Path)
    given = parser.parse_args(words)
    known = profiles_of(MANIFEST.read_text())
    if unknown := set(given.profiles) - set(known):
        raise RefusedError(f"the manifest has no profile {', '.join(sorted(unknown))}")
    if given.model_uri:
        download(cache() / "hub")
        given.manifest_file.write_text("{}")
        return
    for profile in known if given.all else given.profiles:
        download(cache() / "profiles" / profile)


def store(words: list[str]) -> None:
    """`huggingface-cli download` and `create-model-store`: a model in one folder."""
    parser = argparse.ArgumentParser(prog="store")
    parser.add_argument("--local-dir", "--model-store", dest="folder", type=Path, required=True)
    given, _others = parser.parse_known_args(words)
    download(given.folder / "model")


class Handler(http.server.BaseHTTPRequestHandler):
    """A NIM's API, as far as the operator and a client of the tests use it."""

    protocol_version = "HTTP/1.1"
    ready_at: ClassVar[float] = 0.0
    answered: ClassVar[int] = 0

    def do_GET(self) -> None:
        if self.path == "/v1/metrics":
            text = f"# TYPE tiny_answers_total counter\ntiny_answers_total {type(self).answered}\n"
            self._send(200, text.encode(), "text/plain; version=0.0.4")
        else:
            alive = self.path == "/v1/health/live"
            mode = "models" if alive or self._is_ready() else "error"
            self._send(*answer_to(mode, self.path, DEFAULT_MODEL))

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        if self.path != "/v1/chat/completions" or not 0 < length <= MAX_BODY:
            self._send(404 if 0 < length <= MAX_BODY else 413, b"{}")
            return
        asked = json.loads(self.rfile.read(length))
        if not self._is_ready():
            self._send(503, b"{}")
            return
        type(self).answered += 1
        said = f"You said: {asked['messages'][-1]['content']}"
        message = {"role": "assistant", "content": said}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        answer = {"object": "chat.completion", "model": DEFAULT_MODEL, "choices": [choice]}
        self._send(200, json.dumps(answer).encode())

    def _is_ready(self) -> bool:
        return time.monotonic() >= self.ready_at and not BROKEN.exists()

    def _send(self, status: int, body: bytes, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the base class's name
        """Quiet: a line for each probe is useless."""


def serve(_words: list[str]) -> None:
    """Load the selected profile, or one that is in the cache, or any, and serve it."""
    known = profiles_of(MANIFEST.read_text())
    cached = [name for name in known if (cache() / "profiles" / name).is_dir()]
    profile = os.environ.get("NIM_MODEL_PROFILE") or [*cached, *known][0]
    download(cache() / "profiles" / profile)
    Handler.ready_at = time.monotonic() + LOADING_SECONDS
    port = int(os.environ.get("NIM_SERVER_PORT", "8000"))
    server = http.server.ThreadingHTTPServer(("", port), Handler)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    print(f"serving {DEFAULT_MODEL} on port {port}", flush=True)
    server.serve_forever()


COMMANDS = {
    "nim": serve,
    "download-to-cache": pull,
    "huggingface-cli": store,
    "create-model-store": store,
}


def main() -> int:
    """Fail, hang, be done, or serve."""
    behaviour = os.environ.get("SANDBOX_BEHAVE", "run")
    if behaviour == "fail":
        print("this model is broken", file=sys.stderr)
        return 1
    if behaviour != "run":
        signal.pause()
    try:
        COMMANDS[sys.argv[1]](sys.argv[2:])
    except RefusedError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
