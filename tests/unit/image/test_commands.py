# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import pytest
from nimops_image import commands, engine
from nimops_sandbox.errors import SandboxError, SetupError

PRINT = "import sys; print('out'); print('why', file=sys.stderr); sys.exit(int(sys.argv[1]))"


def test_run():
    assert commands.run([sys.executable, "-c", PRINT, "0"]) == "out\n"
    with pytest.raises(SandboxError, match=r"failed with 3:\nwhy\nout"):
        commands.run([sys.executable, "-c", PRINT, "3"])


PROGRAMS = {"no-such-program": "absent", "another": "absent", "sh": "dash"}


def test_require():
    commands.require({"sh": "dash"}, "this")
    expected = r"this needs another, no-such-program: .* apt-get install absent\)"
    with pytest.raises(SetupError, match=expected):
        commands.require(PROGRAMS, "this")


@pytest.mark.parametrize(
    ("uid", "programs", "installed"),
    [
        pytest.param(0, PROGRAMS, {"no-such-program": "absent", "another": "absent"}, id="root"),
        pytest.param(0, {"sh": "dash"}, None, id="nothing is missing"),
        pytest.param(1000, PROGRAMS, None, id="not root"),
    ],
)
def test_install(monkeypatch, uid, programs, installed):
    done = []
    monkeypatch.setattr(commands.os, "geteuid", lambda: uid)
    monkeypatch.setattr(
        commands.shutil, "which", lambda name: name if name in {"apt-get", "sh"} else None
    )
    monkeypatch.setattr(commands.host, "install", lambda lacking, *_: done.append(lacking))
    commands.install(programs, print)
    assert done == ([installed] if installed else [])


RECIPE = engine.Recipe(
    Path("/r/Dockerfile"), Path("/r"), 42, {"BASE": "b:1"}, {"title": "T", "a": "x y"}
)


@pytest.mark.parametrize(
    ("made", "begin"),
    [
        (engine.Engine("podman"), ["podman", "build", "--tag=t:1"]),
        (engine.Buildah(Path("/s")), ["buildah", "--root=/s/images", "--runroot=/s/run"]),
    ],
)
def test_build(monkeypatch, made, begin):
    ran = []
    monkeypatch.setattr(engine, "run", lambda command: ran.append([str(word) for word in command]))
    made.build("t:1", RECIPE)
    command = ran[0]
    assert command[: len(begin)] == begin
    assert "--tag=t:1" in command
    assert "--build-arg=BASE=b:1" in command
    assert command.index("--label=a=x y") < command.index("--label=title=T")
    assert command[-2:] == ["--file=/r/Dockerfile", "/r"]
    assert any(word.endswith("=42") for word in command)
    assert not any(word.startswith("--platform") for word in command)


@pytest.mark.parametrize(("wanted", "found"), [("", "docker"), ("buildah", None)])
def test_engine_buildah(monkeypatch, wanted, found):
    monkeypatch.setattr(engine.shutil, "which", lambda name: name)
    monkeypatch.setattr(engine, "_answers", lambda name: True)
    monkeypatch.setenv("IMAGE_ENGINE", wanted)
    assert engine.find_program() == found


def test_engine_unknown(monkeypatch):
    monkeypatch.setenv("IMAGE_ENGINE", "kaniko")
    with pytest.raises(SetupError, match="IMAGE_ENGINE=kaniko"):
        engine.find_program()


def test_build_other_platform(monkeypatch):
    ran = []
    monkeypatch.setattr(engine, "run", lambda command: ran.append([str(word) for word in command]))
    engine.Engine("podman").build("t:1", dataclasses.replace(RECIPE, platform="linux/arm64"))
    engine.Engine("podman").pull("b:1", "linux/arm64")
    assert "--platform=linux/arm64" in ran[0]
    assert ran[1] == ["podman", "pull", "--platform=linux/arm64", "b:1"]


def test_pull_failure(monkeypatch):
    def refuse(command):
        raise SandboxError("no such host")

    monkeypatch.setattr(engine, "run", refuse)
    assert engine.Engine("docker").pull("b:1") == "no such host"
    assert engine.Buildah(Path("/s")).pull("b:1") == "no such host"
    monkeypatch.setattr(engine, "run", lambda command: "")
    assert engine.Engine("docker").pull("b:1") == ""
