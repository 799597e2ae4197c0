# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The files of an instance: programs, keys, kubeconfig, pods' logs, kwok's configuration."""

from __future__ import annotations

import base64
import json
import secrets
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from . import podlog, stages
from .errors import SandboxError, SetupError
from .settings import SANDBOX

_FOLDERS = ("bin", "logs", "pki", "pod-logs")
_REMOVED = (
    "bin",
    "etcd",
    "etcd.new",
    "kubeconfig",
    "kwok.yaml",
    "neighbors",
    "node",
    "pki",
    "pod-logs",
    "state.json",
)
_KEPT = (".lock", "logs")


def make_folders(directory: Path) -> None:
    """Raise SetupError if a new instance would share the directory with something else."""
    directory.mkdir(parents=True, exist_ok=True)
    strangers = {entry.name for entry in directory.iterdir()} - {*_REMOVED, *_KEPT}
    if strangers and not (directory / "state.json").exists():
        raise SetupError(
            f"SANDBOX_DIR={directory} contains unrelated files, such as {min(strangers)}: "
            "use a new or empty directory"
        )
    directory.chmod(0o700)  # contains an administrator's token
    for name in _FOLDERS:
        (directory / name).mkdir(exist_ok=True)


def remove_logs(directory: Path) -> None:
    for log in (directory / "logs").glob("*.log"):
        log.unlink()


def forget(directory: Path) -> None:
    """Remove the files of an instance, the state last, so that `down` can be repeated."""
    for name in _REMOVED:
        path = directory / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def export_line(directory: Path) -> str:
    """Return a command that lets any POSIX shell use the instance."""
    kubeconfig = shlex.quote(str(directory / "kubeconfig"))
    programs = shlex.quote(str(directory / "bin"))
    return f'export KUBECONFIG={kubeconfig} PATH={programs}:"$PATH"'


def link_programs(directory: Path, programs: Mapping[str, Path]) -> None:
    for name, path in programs.items():
        link = directory / "bin" / name
        if not link.is_symlink() or link.readlink() != path:
            link.unlink(missing_ok=True)
            link.symlink_to(path)


def write_identity(directory: Path, port: int, addresses: Sequence[str] = ()) -> None:
    """Create the keys and an administrator's token once, and the kubeconfig with both.

    The servers' certificate also covers `addresses`.
    """
    pki = directory / "pki"
    if not (pki / "token").exists():
        _make_keys([str(directory / "bin/pki"), str(pki), *addresses], pki)
    text = render_kubeconfig(port, (pki / "ca.crt").read_bytes(), read_token(directory))
    _write_private(directory / "kubeconfig", text)


def _make_keys(command: list[str], pki: Path) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SandboxError(f"the sandbox's keys could not be created: {done.stderr.strip()}")
    token = secrets.token_urlsafe(32)
    _write_private(pki / "tokens.csv", f'{token},sandbox-admin,sandbox-admin,"system:masters"\n')
    _write_private(pki / "token", token)


def read_token(directory: Path) -> str:
    return (directory / "pki/token").read_text()


def render_kubeconfig(port: int, ca: bytes, token: str) -> str:
    """Return it as JSON, which is also YAML."""
    name = "nimops-sandbox"
    cluster = {
        "server": f"https://127.0.0.1:{port}",
        "certificate-authority-data": base64.b64encode(ca).decode(),
    }
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": name, "cluster": cluster}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "users": [{"name": name, "user": {"token": token}}],
    }
    return json.dumps(config, indent=2) + "\n"


def write_pod_logs(directory: Path, manifest: Path | None) -> Path | None:
    """Write the logs that pods can return, the default one from `manifest`.

    None keeps the default one, initially a sample. Returns its source if it changed.
    """
    folder = directory / "pod-logs"
    for name in ("manifest-v2", "manifest-local"):
        podlog.write_log((SANDBOX / f"{name}.yaml").read_text(), folder / f"{name}.log")
    podlog.write_log("model_manifest.yaml not found\n", folder / "no-manifest.log")
    podlog.write_log("", folder / "empty.log")
    usual = folder / "manifest.log"
    if manifest is None and usual.exists():
        return None
    source = manifest or SANDBOX / "manifest.yaml"
    return source if podlog.write_log(source.read_text(), usual) else None


def write_kwok_config(directory: Path, kubelet: str, with_metrics: bool = False) -> bool:
    """Return whether it changed, so that a running kwok must restart."""
    text = stages.render_config(directory / "pod-logs", kubelet, with_metrics)
    path = directory / "kwok.yaml"
    if path.is_file() and path.read_text() == text:
        return False
    path.write_text(text)
    return True


def _write_private(path: Path, text: str) -> None:
    """Write atomically, as another process may read the file."""
    new = path.with_name(f".{path.name}.new")
    new.touch(mode=0o600)
    new.write_text(text)
    new.replace(path)
