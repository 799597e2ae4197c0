# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path

import pytest
from nimops_sandbox import files
from nimops_sandbox.errors import SetupError


@pytest.mark.parametrize("name", ["plain", "with space", "it's", '"$HOME"', "a;b", "*"])
def test_export_line_quoting(name: str, tmp_path: Path) -> None:
    directory = tmp_path / name
    script = f'{files.export_line(directory)}\nprintf "%s\\n" "$KUBECONFIG" "$PATH"'
    environ = {"PATH": "/usr/bin:/bin:/with space"}
    done = subprocess.run(
        ["/bin/sh", "-c", script], env=environ, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [
        str(directory / "kubeconfig"),
        f"{directory / 'bin'}:/usr/bin:/bin:/with space",
    ]
    assert len(files.export_line(directory).splitlines()) == 1


def test_render_kubeconfig() -> None:
    config = json.loads(files.render_kubeconfig(7000, b"CERT", "secret"))
    cluster = config["clusters"][0]["cluster"]
    assert cluster["server"] == "https://127.0.0.1:7000"
    assert base64.b64decode(cluster["certificate-authority-data"]) == b"CERT"
    assert config["users"][0]["user"] == {"token": "secret"}
    assert config["current-context"] == config["contexts"][0]["name"]


def test_make_folders_foreign_directory(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(SetupError, match=r"SANDBOX_DIR=.* such as thesis.tex"):
        files.make_folders(tmp_path)


def test_forget(tmp_path: Path) -> None:
    directory = tmp_path / "new" / "instance"
    files.make_folders(directory)
    (directory / "logs/etcd.log").write_text("why\n")
    (directory / "state.json").write_text("{}")
    assert directory.stat().st_mode & 0o077 == 0
    files.forget(directory)
    files.forget(directory)
    assert [str(path.relative_to(directory)) for path in directory.rglob("*")] == [
        "logs",
        "logs/etcd.log",
    ]
    files.make_folders(directory)


def test_write_pod_logs(tmp_path: Path) -> None:
    files.make_folders(tmp_path)
    usual = tmp_path / "pod-logs/manifest.log"
    mine = tmp_path / "mine.yaml"
    mine.write_text("a: 1\n")
    sample = files.write_pod_logs(tmp_path, None)
    assert sample is not None
    assert sample.name == "manifest.yaml"
    assert "acme/tiny-llm" in usual.read_text()
    assert files.write_pod_logs(tmp_path, mine) == mine
    assert usual.read_text().endswith(" stdout F a: 1\n")
    assert files.write_pod_logs(tmp_path, mine) is None, "messages twice"
    assert files.write_pod_logs(tmp_path, None) is None, "not asked for another"
    assert usual.read_text().endswith(" stdout F a: 1\n")


def test_link_programs(tmp_path: Path) -> None:
    files.make_folders(tmp_path)
    for version in ("v1", "v2", "v2"):
        files.link_programs(tmp_path, {"kubectl": Path("/cache", version, "kubectl")})
        assert (tmp_path / "bin/kubectl").readlink() == Path("/cache", version, "kubectl")
