# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The programs of the sandbox: found, or built from Go modules into a cache that is shared by all instances."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from .errors import SandboxError, SetupError
from .settings import SANDBOX

SOURCES = SANDBOX / "tools"
Say = Callable[[str], None]

_REPORT_EVERY = 15.0
_COMMAND_OF = "github.com/operator-framework/ansible-operator-plugins"


@dataclass(frozen=True)
class Tool:
    """A Go module under tools/. packages: what to build; programs: the names that come of it.

    pinned: the module whose version goes into `stamps`, variables that the linker sets to it. files: instead of
    programs, what to take from the source of which module, as (module, glob).
    """

    name: str
    packages: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    pinned: str = ""
    stamps: tuple[str, ...] = ()
    files: tuple[tuple[str, str], ...] = ()


_KUBERNETES = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")
_VERSIONS = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
_GATEWAY = "config/crd/standard/gateway.networking.k8s.io"

TOOLS = (
    Tool("pki", (".",), ("pki",)),
    Tool("etcd", (".",), ("etcd",)),
    Tool(
        "kubernetes",
        tuple(f"k8s.io/kubernetes/cmd/{program}" for program in _KUBERNETES),
        _KUBERNETES,
        "k8s.io/kubernetes",
        _VERSIONS,
    ),
    Tool("kwok", ("sigs.k8s.io/kwok/cmd/kwok",), ("kwok",)),
    Tool(
        "ansible-operator",
        (f"{_COMMAND_OF}/cmd/ansible-operator",),
        ("ansible-operator",),
        _COMMAND_OF,
        (f"{_COMMAND_OF}/internal/version",),
    ),
    Tool(
        "crds",
        files=(
            ("sigs.k8s.io/gateway-api", f"{_GATEWAY}_gatewayclasses.yaml"),
            ("sigs.k8s.io/gateway-api", f"{_GATEWAY}_gateways.yaml"),
            ("sigs.k8s.io/gateway-api", f"{_GATEWAY}_*routes.yaml"),
            (
                "sigs.k8s.io/gateway-api-inference-extension",
                "config/crd/bases/inference.networking.k8s.io_inferencepools.yaml",
            ),
            ("sigs.k8s.io/lws", "config/crd/bases/*.yaml"),
            (
                "github.com/kserve/kserve",
                "config/crd/full/serving.kserve.io_inferenceservices.yaml",
            ),
            (
                "sigs.k8s.io/dra-driver-nvidia-gpu",
                "deployments/helm/dra-driver-nvidia-gpu/crds/resource.nvidia.com_computedomains.yaml",
            ),
            ("sigs.k8s.io/kwok", "kustomize/crd/bases/kwok.x-k8s.io_logs.yaml"),
        ),
    ),
)


@dataclass
class Toolbox:
    """Where each program is, and the third-party CRDs."""

    programs: dict[str, Path] = field(default_factory=dict)
    crds: tuple[Path, ...] = ()


def prepare(cache: Path, found: Sequence[Path], say: Say) -> Toolbox:
    """Find each program in `found`, else in the cache, else build it there. Raises SetupError without Go."""
    box = Toolbox()
    compiler = ""
    for tool in TOOLS:
        programs = {program: find(program, found) for program in tool.programs}
        if tool.files or not all(programs.values()):
            compiler = compiler or read_compiler()
            folder = _cached(tool, cache, compiler, say)
            box.programs |= {name: path or folder / name for name, path in programs.items()}
            if tool.files:
                box.crds = tuple(sorted(folder.glob("*.yaml")))
        else:
            box.programs |= {name: path for name, path in programs.items() if path}
    return box


def find(program: str, folders: Sequence[Path]) -> Path | None:
    """The first executable file of that name."""
    for folder in folders:
        path = folder / program
        if path.is_file() and os.access(path, os.X_OK):
            return path
    return None


def read_compiler() -> str:
    """Go's version and target, a part of each cache key."""
    if shutil.which("go") is None:
        raise SetupError(
            "Go was not found on PATH: install Go 1.26 or later (https://go.dev/dl/) and put its "
            "bin folder on PATH"
        )
    command = ["go", "env", "GOVERSION", "GOOS", "GOARCH"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")
    if done.returncode:
        raise SetupError(f"{' '.join(command)} failed: {done.stderr.strip()}")
    return "/".join(done.stdout.split())


def cache_key(source: Path, recipe: str, compiler: str) -> str:
    """Sixteen hex digits that change with any source file, go.mod, go.sum, how it is built, and the compiler."""
    digest = hashlib.sha256(f"{recipe}\n{compiler}\n".encode())
    for path in sorted(source.iterdir()):
        if path.name in ("go.mod", "go.sum") or path.suffix == ".go":
            content = path.read_bytes()
            digest.update(f"{path.name} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]


def read_requirement(go_mod: str, module: str) -> str:
    """The version of `module` that a go.mod requires, such as v1.2.3."""
    match = re.search(rf"^(?:require\s+|\s+){re.escape(module)} (v\S+)", go_mod, re.MULTILINE)
    if match is None:
        raise SandboxError(f"go.mod does not require {module}")
    return match[1]


def linker_flags(tool: Tool, go_mod: str) -> str:
    """No debug tables; and the version, which a module that is built as a dependency does not know of itself."""
    flags = ["-s", "-w"]
    if tool.stamps:
        version = read_requirement(go_mod, tool.pinned)
        major, minor, _ = version.removeprefix("v").split(".", 2)
        values = {"gitVersion": version, "gitMajor": major, "gitMinor": minor}
        if tool.pinned == _COMMAND_OF:
            values = {"Version": version, "GitVersion": version}
        flags += [f"-X {stamp}.{key}={value}" for stamp in tool.stamps for key, value in values.items()]
    return " ".join(flags)


def _cached(tool: Tool, cache: Path, compiler: str, say: Say) -> Path:
    source = SOURCES / tool.name
    flags = linker_flags(tool, (source / "go.mod").read_text())
    key = cache_key(source, f"{tool} {flags}", compiler)
    folder = cache / f"{tool.name}-{key}"
    if folder.is_dir():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    with _locked(cache / f".{tool.name}.lock", lambda: say(f"{tool.name}: waiting for another build of it")):
        if not folder.is_dir():
            with tempfile.TemporaryDirectory(prefix=f".{tool.name}-", dir=cache) as scratch:
                result = Path(scratch, "result")
                result.mkdir()
                (_collect_files if tool.files else _build)(tool, source, result, flags, say)
                result.rename(folder)
    return folder


@contextmanager
def _locked(path: Path, on_wait: Callable[[], None]) -> Iterator[None]:
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            on_wait()
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(tool: Tool, source: Path, result: Path, flags: str, say: Say) -> None:
    command = ["go", "build", "-mod=readonly", "-buildvcs=false", f"-ldflags={flags}"]
    _run_go([*command, "-o", f"{result}/", *tool.packages], source, f"building {tool.name}", say)
    if tool.packages == (".",):  # named after the module's last element, which is the tool's name
        assert (result / tool.name).is_file()


def _collect_files(tool: Tool, source: Path, result: Path, flags: str, say: Say) -> None:
    modules = sorted({module for module, _ in tool.files})
    output = _run_go(["go", "mod", "download", "-json", *modules], source, f"fetching {tool.name}", say)
    folders = {entry["Path"]: Path(entry["Dir"]) for entry in _split_json(output)}
    for module, pattern in tool.files:
        paths = sorted(folders[module].glob(pattern))
        if not paths:
            raise SandboxError(f"{module} has no {pattern}")
        for path in paths:
            shutil.copyfile(path, result / path.name)


def _split_json(text: str) -> Iterator[dict[str, str]]:
    decoder, rest = json.JSONDecoder(), text.strip()
    while rest:
        entry, end = decoder.raw_decode(rest)
        yield entry
        rest = rest[end:].lstrip()


def _run_go(command: list[str], source: Path, doing: str, say: Say) -> str:
    """Run a go command in a module, saying every now and then that it is still at it; its standard output."""
    environ = {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off"}
    started = time.monotonic()
    say(doing)
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        child = subprocess.Popen(command, cwd=source, env=environ, stdout=output, stderr=errors)
        try:
            while _is_running(child):
                say(f"{doing}: {time.monotonic() - started:.0f} s")
        finally:
            child.terminate()
            child.wait()
        errors.seek(0)
        if child.returncode:
            last = "".join(errors.readlines()[-15:])
            raise SandboxError(f"{doing} failed ({' '.join(command[:3])} in {source}):\n{last.rstrip()}")
        output.seek(0)
        say(f"{doing}: done in {time.monotonic() - started:.0f} s")
        return output.read()


def _is_running(child: subprocess.Popen[bytes]) -> bool:
    try:
        child.wait(_REPORT_EVERY)
    except subprocess.TimeoutExpired:
        return True
    return False
