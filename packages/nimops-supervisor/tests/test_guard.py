# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from nimops_supervisor import guard, settings

GROUP = "apps.nvidia.com/v1alpha1/NIMService"
RAW = '{"spec": {"__ansible_unsafe": "{{ 1 }}"}, "ansible_operator_meta": {"name": "other"}}'


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setattr(guard, "ROOT", tmp_path)
    return tmp_path


def make_folder(root, below=f"{GROUP}/nim/llm", extravars=RAW):
    folder = root / below
    (folder / "env").mkdir(parents=True)
    (folder / "env/extravars").write_text(extravars)
    (folder / "env/settings").write_text('{"runner_http_url": "/tmp/x"}')
    return folder


def run(folder):
    guard.before_run(["ansible-runner", "run", str(folder), "-p", "playbook.yml", "-i", "1"])
    return json.loads((folder / "env/extravars").read_text())


@pytest.mark.parametrize(
    ("below", "kind", "metadata"),
    [
        (f"{GROUP}/nim/llm", "NIMService", {"name": "llm", "namespace": "nim"}),
        (f"{GROUP}/nim/llm.v1-a", "NIMService", {"name": "llm.v1-a", "namespace": "nim"}),
        ("nvidia.com/v1/ClusterPolicy/gpu", "ClusterPolicy", {"name": "gpu"}),
    ],
)
def test_before_run_extravars(root, below, kind, metadata):
    wanted = {"nimops_resource": {"kind": kind, "metadata": metadata}}
    assert run(make_folder(root, below)) == wanted


@pytest.mark.parametrize("text", [RAW, "", "{", "[" * 100_000, "\0", '{"a": 1e999}'])
def test_before_run_unparsed_extravars(root, text):
    assert set(run(make_folder(root, extravars=text))) == {"nimops_resource"}


def test_before_run_removes_envvars(root):
    """When the run of a role ends, ansible-runner would restore `env/envvars` with the kubeconfig of that run."""
    folder = make_folder(root)
    (folder / "env/envvars").write_text('{"KUBECONFIG": "/tmp/of-this-run"}')
    run(folder)
    assert not (folder / "env/envvars").exists()


def test_before_run_file_mode(root):
    folder = make_folder(root)
    run(folder)
    assert (folder / "env/extravars").stat().st_mode & 0o777 == 0o600
    assert sorted(item.name for item in (folder / "env").iterdir()) == ["extravars", "settings"]


def test_before_run_symlink(root, tmp_path):
    folder, victim = make_folder(root), tmp_path / "victim"
    victim.write_text("keep")
    (folder / "env/extravars").unlink()
    (folder / "env/extravars").symlink_to(victim)
    run(folder)
    assert victim.read_text() == "keep"


def test_main_time_limit(root):
    folder = make_folder(root)
    start_program(root, folder, NIMOPS_RUN_SECONDS="7")
    found = json.loads((folder / "env/settings").read_text())
    assert found == {"runner_http_url": "/tmp/x", "job_timeout": 7}


def test_before_run_keeps_settings(root):
    """With ansible-runner's limit, prefork could not run the play in one process."""
    folder = make_folder(root)
    before = (folder / "env/settings").read_bytes()
    run(folder)
    assert (folder / "env/settings").read_bytes() == before


def test_before_run_removes_mark(root):
    folder = make_folder(root)
    (folder / guard.LAST_RUN).touch()
    run(folder)
    assert not (folder / guard.LAST_RUN).exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["ansible-runner"],
        ["ansible-runner", "start", "/tmp"],
        ["ansible-runner", "run"],
        ["ansible-runner", "run", "/elsewhere/a.b/v1/K/ns/n"],
        ["ansible-runner", "run", "ROOT/a.b/v1/K/ns/n/deeper"],
        ["ansible-runner", "run", "ROOT/a.b/v1/K"],
        ["ansible-runner", "run", "ROOT/a.b/v1/K/../n"],
        ["ansible-runner", "run", "ROOT/a.b/v1/K/ns/{{ 1 }}"],
        ["ansible-runner", "run", f"ROOT/{GROUP}/nim/gone"],
    ],
)
def test_before_run_invalid_arguments(root, arguments):
    with pytest.raises(guard.GuardError):
        guard.before_run([item.replace("ROOT", str(root)) for item in arguments])


@pytest.mark.parametrize("text", ["x", "-1", "1.5", "1" * 10, "٣"])
def test_run_seconds_invalid(monkeypatch, text):
    monkeypatch.setenv("NIMOPS_RUN_SECONDS", text)
    with pytest.raises(settings.SettingsError, match=r"^NIMOPS_RUN_SECONDS="):
        settings.run_seconds()


def write_program(path, text):
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def start_program(root, folder, **environment):
    """Run the guard, followed on PATH by a program that prints its arguments and memory limit."""
    body = (
        f"#!{sys.executable} -P\n"
        "from nimops_supervisor import guard\n"
        f"guard.ROOT = guard.Path({str(root)!r})\n"
        "guard.main()\n"
    )
    write_program(root / "guard/ansible-runner", body)
    show = (
        f"#!{sys.executable} -I\nimport resource, signal, sys, time\n"
        "print('seen', sys.argv[1:], resource.getrlimit(resource.RLIMIT_DATA)[0], flush=True)\n"
        "if 'slow' in sys.argv: time.sleep(30)\n"
        "if 'large' in sys.argv: bytearray(1 << 30)\n"
    )
    write_program(root / "real/ansible-runner", show)
    return run_guard(root, folder, *environment.pop("extra", []), **environment)


def run_guard(root, folder, *arguments, **environment):
    command = [root / "guard/ansible-runner", "run", str(folder), *arguments]
    environment = {**os.environ, "PATH": f"{root}/before:{root}/guard:{root}/real", **environment}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_main_memory_limit(root):
    folder = make_folder(root)
    process = start_program(root, folder, NIMOPS_RUN_MEMORY_MIB="100")
    assert process.stdout == f"seen ['run', '{folder}'] {100 << 20}\n"
    assert set(json.loads((folder / "env/extravars").read_text())) == {"nimops_resource"}


def test_main_out_of_memory(root):
    process = start_program(root, make_folder(root), NIMOPS_RUN_MEMORY_MIB="100", extra=["large"])
    assert process.returncode == 1
    assert "MemoryError" in process.stderr


def test_main_kills_endless_run(root, monkeypatch):
    monkeypatch.setattr(settings, "GRACE_SECONDS", 0)
    body = "from nimops_supervisor import settings\nsettings.GRACE_SECONDS = 0\n"
    folder = make_folder(root)
    start_program(root, folder)
    program = root / "guard/ansible-runner"
    program.write_text(program.read_text().replace("guard.main", f"{body}guard.main"))
    process = run_guard(root, folder, "slow", NIMOPS_RUN_SECONDS="1")
    assert process.returncode == -14


def test_main_no_next_program(root):
    folder = make_folder(root)
    start_program(root, folder)
    (root / "real/ansible-runner").unlink()
    process = run_guard(root, folder)
    assert process.returncode == 127
    assert "install ansible-runner" in process.stderr


def test_main_invalid_folder(root):
    process = start_program(root, root / "elsewhere")
    assert (process.returncode, process.stdout) == (1, "")
    assert "is not a work folder of the runtime" in process.stderr


def test_find_next_after_guard(tmp_path):
    for name in ("a", "b", "c"):
        write_program(tmp_path / name / "ansible-runner", "#!/bin/sh\n")
    path = f"{tmp_path}/a:{tmp_path}/b:/nowhere:{tmp_path}/b:{tmp_path}/c"
    assert guard.find_next(Path(f"{tmp_path}/b/ansible-runner"), path) == f"{tmp_path}/c/ansible-runner"
    assert guard.find_next(Path(f"{tmp_path}/c/ansible-runner"), path) is None
