# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Completion, in the protocol of kubectl and in that of shells."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from kubectl_nim import completion

API = "/apis/apps.nvidia.com/v1alpha1/namespaces"


@pytest.fixture
def complete(cluster, nim, monkeypatch, capsys):
    for name in ("llm", "lora"):
        meta = {"name": name, "namespace": "default"}
        cluster.put(f"{API}/default/nimservices/{name}", {"kind": "NIMService", "metadata": meta})
    cluster.put(
        f"{API}/default/nimcaches/store", {"kind": "NIMCache", "metadata": {"name": "store"}}
    )
    cluster.put("/api/v1/namespaces/nim", {"kind": "Namespace", "metadata": {"name": "nim"}})

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["kubectl_complete-nim", *words])
        completion.main()
        return capsys.readouterr().out.splitlines()

    return call


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["stat"], ["status", ":4"]),
        (["gpu", "up"], ["upgrade-plan", ":4"]),
        (["status", "--sel"], ["--selector", ":4"]),
        (["status", "-o", "w"], ["wide", ":4"]),
        (["status", "nimservice/l"], ["nimservice/llm", "nimservice/lora", ":4"]),
        (["status", "nimc"], ["nimcache/", ":4"]),
        (["status", "-n", "n"], ["nim", ":4"]),
        (["status", "--context", ""], ["here", ":4"]),
        (["profiles", "--nimcache", ""], ["store", ":4"]),
        (["apply", "-f", "x"], [":0"]),
        (["apply", ""], [":0"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_main(complete, words, found):
    assert [line.partition("\t")[0] for line in complete(*words)] == found


def test_main_without_cluster(complete, cluster):
    cluster.server.close()
    assert complete("status", "nimservice/") == [":4"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script(nim, shell):
    done = nim("completion", shell)
    assert done.code == 0
    assert f"_KUBECTL_NIM_COMPLETE={shell}_complete" in done.out
    assert "kubectl-nim" in done.out


def test_bash_completes(nim, tmp_path):
    """bash itself, with the script and a program on its PATH."""
    script = tmp_path / "completion.bash"
    script.write_text(nim("completion", "bash").out)
    program = tmp_path / "kubectl-nim"
    program.write_text(f"#!/bin/sh\nexec '{sys.executable}' -m kubectl_nim \"$@\"\n")
    program.chmod(0o755)
    lines = f"""
        source {script}
        COMP_WORDS=(kubectl-nim gpu st) COMP_CWORD=2
        _kubectl_nim_completion kubectl-nim
        echo "${{COMPREPLY[@]}}"
    """
    environment = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    done = subprocess.run(
        ["bash", "-c", lines], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["status"], done.stderr
