# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The NIM-like image with a real model, its registry, and the client that streams, without the engine."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "molecule/llm"))
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "molecule/llm/image"))

import llm
import model_files
import registry
import stream_client

MANIFEST = Path(llm.__file__).with_name("model_manifest.yaml")
WEIGHTS = bytes(range(256)) * 16
FILE = model_files.ModelFile("acme/llm/tiny:q4", "tiny.gguf", hashlib.sha256(WEIGHTS).hexdigest())
DAMAGED = dataclasses.replace(FILE, repository="acme/llm/tiny:damaged")


def start(handler):
    """A server on loopback; the base URL and the function that stops it."""
    server = llm.Server(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, args=(0.01,)).start()
    return f"http://127.0.0.1:{server.server_address[1]}", server


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    """A registry with the key `right`, and the environment of a puller that has it."""
    (tmp_path / "registry").mkdir()
    (tmp_path / "registry" / FILE.name).write_bytes(WEIGHTS)

    class Handler(registry.Handler):
        folder, key, begun = tmp_path / "registry", "right", set()

    url, server = start(Handler)
    monkeypatch.setenv(model_files.OVERRIDE, f"{url}/")
    monkeypatch.setenv("NGC_API_KEY", "right")
    monkeypatch.setattr(model_files, "PAUSE", 0.0)
    yield Handler
    server.shutdown()
    server.server_close()


def test_profiles():
    first, second = model_files.read_profiles(MANIFEST.read_text())
    (file,), (damaged,) = first.files, second.files
    assert first.tags["precision"] == second.tags["precision"] == "q4_1"
    assert (file.repository, file.digest[:8]) == ("acme/llm/smollm2-135m-instruct:q4_1", "b179c952")
    assert damaged == dataclasses.replace(file, repository="acme/llm/smollm2-135m-instruct:damaged")


def test_download_continues(mirror, tmp_path, capsys):
    """The registry ends its first answer in the middle."""
    model_files.download(FILE, tmp_path)
    target = tmp_path / "ngc/hub/models--acme--llm--tiny/snapshots/q4/tiny.gguf"
    assert target.read_bytes() == WEIGHTS
    shown = capsys.readouterr()
    assert "tiny.gguf.part: 2048 bytes: the connection ended" in shown.err
    output, deadline = shown.out, time.monotonic() + 10
    # The registry prints after it has sent.
    while "bytes 2048 to 4096 of 4096" not in output and time.monotonic() < deadline:
        time.sleep(0.01)
        output += capsys.readouterr().out
    assert "bytes 2048 to 4096 of 4096" in output
    model_files.download(FILE, tmp_path)
    assert "tiny.gguf is in the cache" in capsys.readouterr().out


def test_download_damaged(mirror, tmp_path):
    with pytest.raises(model_files.RefusedError, match=f"the SHA-256 is .*, not {FILE.digest}"):
        model_files.download(DAMAGED, tmp_path)
    assert [path for path in tmp_path.rglob("tiny.gguf*") if "registry" not in path.parts] == []


@pytest.mark.parametrize(
    ("key", "name", "reason"),
    [
        pytest.param("", FILE.name, "401", id="no key"),
        pytest.param("wrong", FILE.name, "403", id="wrong key"),
        pytest.param("right", "other.gguf", "404", id="no such file"),
        pytest.param("right", "..", "404", id="outside"),
    ],
)
def test_download_refused(mirror, tmp_path, monkeypatch, key, name, reason):
    monkeypatch.setenv("NGC_API_KEY", key)
    with pytest.raises(model_files.RefusedError, match=f": {reason} "):
        model_files.download(dataclasses.replace(FILE, name=name), tmp_path)


def test_download_without_registry(tmp_path, monkeypatch):
    monkeypatch.delenv(model_files.OVERRIDE, raising=False)
    with pytest.raises(model_files.RefusedError, match="names no registry"):
        model_files.download(FILE, tmp_path)


def test_metrics():
    text = (
        "# HELP llamacpp:tokens_predicted_total Tokens\n"
        "# TYPE llamacpp:tokens_predicted_total counter\n"
        "llamacpp:tokens_predicted_total 19\n"
        "# TYPE llamacpp:other gauge\nllamacpp:other 1\n"
        "# TYPE llamacpp:requests_processing gauge\nllamacpp:requests_processing 2\n"
    )
    times = llm.Times()
    times.add_first_token(0.25)
    times.add_answer()
    lines = llm.translate_metrics(text, times, "a/b").splitlines()
    assert [line for line in lines if not line.startswith("#")] == [
        'generation_tokens_total{model_name="a/b"} 19',
        'num_requests_running{model_name="a/b"} 2',
        'request_success_total{model_name="a/b"} 1',
        'time_to_first_token_seconds_count{model_name="a/b"} 1',
        'time_to_first_token_seconds_sum{model_name="a/b"} 0.250000',
    ]


class Engine:
    """Answers with two chunks, the second after `gate`."""

    def __init__(self):
        self.gate, self.begun = threading.Event(), threading.Event()
        self.routes = {"/v1/chat/completions": self.chat}

    def chat(self, question, take=None):
        if "messages" not in question:
            raise ValueError("'messages' is required")
        if take is None:
            return {"choices": []}
        take({"choices": [{"delta": {"content": "a"}}]})
        self.begun.set()
        self.gate.wait(10)
        take({"choices": [], "usage": {"completion_tokens": 2}})
        return None


@pytest.fixture
def served(monkeypatch):
    """A NIM with a simulated engine."""

    class Handler(llm.Handler):
        engine, times = Engine(), llm.Times()
        profile = SimpleNamespace(model="a/b", files=(FILE,))

    url, server = start(Handler)
    yield SimpleNamespace(handler=Handler, address=url.removeprefix("http://"), server=server)
    Handler.engine.gate.set()
    server.shutdown()
    server.server_close()


def test_stream(served):
    served.handler.engine.gate.set()
    answer = stream_client.ask(served.address, "a/b")
    assert (answer.failure, answer.tokens, bool(answer.pod)) == ("", 2, True)
    assert served.handler.times.answered == served.handler.times.first_tokens == 1


@pytest.mark.parametrize(
    ("model", "failure"), [("x/y", "FailedError: status 404"), ("a/b", "")], ids=["wrong", "right"]
)
def test_stream_model(served, model, failure):
    served.handler.engine.gate.set()
    assert stream_client.ask(served.address, model).failure == failure


def test_stop_lets_answers_finish(served):
    """A stopping server refuses new requests, and ends after the last answer."""
    answers = []
    client = threading.Thread(
        target=lambda: answers.append(stream_client.ask(served.address, "a/b"))
    )
    client.start()
    assert served.handler.engine.begun.wait(10)
    served.server.shutdown()
    closing = threading.Thread(target=served.server.server_close)
    closing.start()
    while not (refused := stream_client.ask(served.address, "a/b")).failure:
        pass
    assert refused.failure.startswith(("ConnectionRefusedError", "ConnectionResetError"))
    assert closing.is_alive()
    served.handler.engine.gate.set()
    for thread in (client, closing):
        thread.join(10)
    assert [answer.failure for answer in answers] == [""]


def test_read_stream_cut():
    lines = [b'data: {"usage": {"completion_tokens": 3}}\n', b"\n"]
    assert stream_client.read_stream([*lines, b"data: [DONE]\n"]) == 3
    with pytest.raises(stream_client.FailedError, match="ended early"):
        stream_client.read_stream(lines)


def test_summary():
    killed = stream_client.read_killed(
        {
            "items": [
                {"involvedObject": {"name": "old"}, "firstTimestamp": "1970-01-01T00:01:40Z"},
            ]
        }
    )
    assert killed == {"old": 100.0}
    answers = [
        stream_client.Answer("old", 90.0, 99.0, 5, ""),
        stream_client.Answer("old", 95.0, 110.0, 5, ""),
        stream_client.Answer("old", 103.0, 110.0, 5, ""),
        stream_client.Answer("new", 95.0, 110.0, 5, ""),
        stream_client.Answer("old", 95.0, 110.0, 0, "FailedError: status 500"),
    ]
    assert json.loads(json.dumps(stream_client.summarize(answers, killed))) == {
        "answers": 4,
        "tokens": 20,
        "failures": ["FailedError: status 500"],
        "pods": {"old": 3, "new": 1},
        "running": 1,
        "late": 1,
    }
