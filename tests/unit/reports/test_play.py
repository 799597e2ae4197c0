# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Each step fails if the outcome differs."""

from __future__ import annotations

import contextlib
import subprocess
import typing as t
from pathlib import Path

import pytest
from nimops_harness.cluster import Answer, Json, NotFoundError
from nimops_harness.errors import HarnessError
from nimops_reports import play
from nimops_reports.objects import Objects
from nimops_reports.play import Play

LINE = '"msg":"[playbook task start]","name":"{}","namespace":"{}"\n'
SERVICE = {
    "metadata": {"name": "llm", "namespace": "n", "resourceVersion": "1"},
    "status": {"state": "Ready"},
}


class Server:
    """An API server with one NIMService, and an operator that reconciles it when it is poked."""

    def __init__(self) -> None:
        self.stored: list[Json] = [SERVICE]
        self.is_idle = True
        self.refusal = ""
        self.writes = False
        self.lines = "old\n"
        self.reads = 0
        self.fails_after: int | None = None

    def request(
        self, method: str, path: str, body: t.Any = None, kind: str = "", accept: str = ""
    ) -> Json:
        if path == "/api":
            return {"items": []}
        version = {"version": "v1", "resources": [
            {"resource": "nimservices", "responseKind": {"kind": "NIMService"}, "scope": "Namespaced", "verbs": ["get", "list"]},
        ]}  # fmt: skip
        return {"items": [{"metadata": {"name": "apps.nvidia.com"}, "versions": [version]}]}

    def items(self, kind: tuple[str, str], namespace: str) -> list[Json]:
        self.reads += 1
        if self.fails_after is not None and self.reads > self.fails_after:
            return []
        if kind[1] != "nimservices":
            raise NotFoundError(kind[1])
        return self.stored

    def list_metadata(self, resource: t.Any, namespace: str) -> list[Json]:
        return self.stored if namespace == "n" else []

    def patch(self, path: str, change: Json) -> Json:
        self.lines += LINE.format("llm", "n")
        poked = {"metadata": {"name": "llm", "namespace": "n", "resourceVersion": "2"}}
        other = {"metadata": {"name": "other", "namespace": "n", "resourceVersion": "1"}}
        self.stored = [poked, other] if self.writes else [poked]
        return poked

    def ask(self, method: str, path: str, body: t.Any = None, kind: str = "") -> Answer:
        if method == "DELETE":
            self.stored = []
        return Answer(422 if self.refusal else 200, {"message": self.refusal})

    def read_log(self) -> str:
        return self.lines

    def check(self) -> None: ...
    def ensure(self) -> None: ...
    def stop(self) -> None: ...


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    monkeypatch.setattr(play.time, "sleep", lambda seconds: None)
    return Server()


def run(server: Server, folder: Path, *steps: Json) -> None:
    made: t.Any = server
    Play(Objects(made, "n"), made, folder).run(steps)


CREATE = {"create": [{"kind": "NIMService", "metadata": {"name": "llm"}}]}
READY = {"NIMService/llm": {"status": {"state": "Ready"}}}
FAILED = {"NIMService/l*": {"status": {"state": "Failed"}}}


@pytest.mark.parametrize(
    ("step", "before", "problem"),
    [
        pytest.param(CREATE, {"refusal": "spec.a: wrong"}, "refused: spec.a: wrong", id="create"),
        pytest.param(CREATE | {"refused": "spec.a"}, {}, "not refused", id="accepted"),
        pytest.param(CREATE | {"refused": "spec.a"}, {"refusal": "spec.b"}, 'without \\["spec.a"', id="other refusal"),
        pytest.param({"expect": FAILED, "within": 0}, {}, 'state is "Ready", not "Failed"', id="expect"),
        pytest.param({"expect": {"NIMService/x": {}}, "within": 0}, {}, "has no", id="no object"),
        pytest.param({"expect": {"NIMService/llm": "none"}, "within": 0}, {}, "has 1 elements", id="object"),
        pytest.param({"expect": FAILED, "meanwhile": {"NIMService/*": "none"}}, {}, "meanwhile, ", id="meanwhile"),
        pytest.param({"expect": READY, "holds": 9}, {"fails_after": 1}, "no longer: ", id="holds"),
        pytest.param({"settled": ["NIMService/llm"]}, {"writes": True}, "another pass wrote NIMService/n/other", id="settled"),
        pytest.param({"repeat": 1, "steps": [{"operator": "start"}, {"log": {"$lacks": "old"}}]}, {}, "the log is ", id="log"),
        pytest.param({"repeat": 1, "steps": [{"expect": FAILED, "within": 0}]}, {}, "step 1, repeat: step 1, ", id="repeat"),
    ],
)  # fmt: skip
def test_play_fails(step: Json, before: Json, problem: str, server: Server, tmp_path: Path) -> None:
    for key, part in before.items():
        setattr(server, key, part)
    with pytest.raises(HarnessError, match=problem):
        run(server, tmp_path, step)


@pytest.mark.parametrize(
    "step",
    [
        CREATE,
        {"expect": READY},
        {"settled": ["NIMService/llm"]},
        {"delete": "NIMService/llm"},
        {"log": {"$lacks": "old"}},
    ],
)
def test_play_succeeds(step: Json, server: Server, tmp_path: Path) -> None:
    run(server, tmp_path, step)


def test_play_passes(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def work(seconds: float) -> None:
        server.lines += LINE.format("llm", "n") * 3

    monkeypatch.setattr(play.time, "sleep", work)
    run(server, tmp_path, {"passes": "NIMService/llm", "within": 1, "most": 3})
    with pytest.raises(HarnessError, match="3 passes over NIMService/llm in 1 s, not 2"):
        run(server, tmp_path, {"passes": "NIMService/llm", "within": 1, "most": 2})


@pytest.mark.parametrize(
    ("code", "options", "problem"),
    [
        pytest.param(0, {"output": {"$has": "spec.a"}}, "", id="success"),
        pytest.param(2, {"code": 2, "file": "kind: NIMService"}, "", id="refused"),
        pytest.param(2, {}, "exit code 2, not 0: spec.a", id="other code"),
        pytest.param(0, {"output": {"$has": "spec.b"}}, "the output is ", id="other output"),
    ],
)
def test_play_run(
    code: int,
    options: Json,
    problem: str,
    server: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done = subprocess.CompletedProcess([], code, "spec.a", "")
    monkeypatch.setattr(play.subprocess, "run", lambda *_, **__: done)
    with pytest.raises(HarnessError, match=problem) if problem else contextlib.nullcontext():
        run(server, tmp_path, {"run": "plan", **options})
