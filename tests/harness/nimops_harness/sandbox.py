# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The sandbox of a run, its models and its operators."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import sys
import typing as t
from pathlib import Path

from .cluster import Api
from .errors import HarnessError
from .isolation import isolate, mount
from .progress import say
from .runtime import ROOT, ContainedOperator, Side, make_environment
from .workload import play_models

SANDBOX = ROOT / "sandbox"
TMP_SIZE = "512m"

WORKERS = 4
"""For each kind, as config/manager has it."""


def enter(folder: Path) -> None:
    """Build the programs of the sandbox, then continue in our own namespaces.

    One run at a time uses the folder. Call it before any thread is started.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o600)  # held until this process ends
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise HarnessError(f"another run has {folder}: wait for it, or stop it") from None
    run_sandbox(folder / "sandbox", "build")
    isolate()


def run_sandbox(directory: Path, command: str) -> str:
    """The output of a command of the sandbox; HarnessError with its message if it fails."""
    environment = os.environ | {
        "SANDBOX_DIR": str(directory),
        "SANDBOX_MANIFEST": str(SANDBOX / "manifest.yaml"),
    }
    done = subprocess.run(
        [sys.executable, str(SANDBOX), command],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise HarnessError(f"sandbox {command}: {done.stderr.strip()}")
    return done.stdout


class Sandbox:
    """A control plane, with its files and those of operators."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.logs = folder / "logs"
        self.directory = folder / "sandbox"
        self._tmps: list[Path] = []

    def open(self) -> None:
        """Start the sandbox; this process and its children use it from now on."""
        for old in (self.logs, self.directory, self.folder / "tmp"):
            shutil.rmtree(old, ignore_errors=True)
        say("starting the sandbox")
        self.repair()
        os.environ["KUBECONFIG"] = str(self.kubeconfig)
        programs = [str(self.directory / "bin"), str(Path(sys.executable).parent)]
        os.environ["PATH"] = os.pathsep.join([*programs, os.environ["PATH"]])
        os.environ.setdefault("ANSIBLE_COLLECTIONS_PATH", str(ROOT / "build" / "collections"))
        self.api = Api()

    def repair(self) -> None:
        """Start those components of the control plane that do not run."""
        run_sandbox(self.directory, "up")

    def close(self) -> None:
        for tmp in self._tmps:
            subprocess.run(["umount", str(tmp)], check=True)
        run_sandbox(self.directory, "down")

    @property
    def kubeconfig(self) -> Path:
        return self.directory / "kubeconfig"

    @property
    def api_port(self) -> int:
        return int(self._read_state()["port"])

    def pid_of(self, component: str) -> int:
        """The pid of a component of the control plane, such as etcd."""
        return int(self._read_state()["processes"][component]["pid"])

    def _read_state(self) -> t.Any:
        return json.loads((self.directory / "state.json").read_text())

    def make_tmp(self, name: str) -> Path:
        """An empty file system, for the /tmp of an operator."""
        tmp = self.folder / "tmp" / name
        tmp.mkdir(parents=True)
        mount("-t", "tmpfs", "-o", f"size={TMP_SIZE},mode=1777", "tmpfs", tmp)
        self._tmps.append(tmp)
        return tmp

    def start_operator(
        self,
        name: str,
        side: Side = "prefork",
        tmp: Path | None = None,
        api_port: int = 0,
        **environment: str,
    ) -> ContainedOperator:
        """Start hack/operator.sh with this environment and the log NAME.log, without waiting for it."""
        return ContainedOperator(
            self.logs / f"{name}.log",
            make_environment(side, **environment),
            tmp or self.make_tmp(name),
            [f"--max-concurrent-reconciles={WORKERS}"],
            api_port,
        )


class Restartable:
    """The operator of a run, which a case may stop and start again."""

    def __init__(self, sandbox: Sandbox, side: Side = "prefork", **environment: str) -> None:
        self.sandbox, self.side = sandbox, side
        self.operator: ContainedOperator | None = None
        self._environment = environment
        self._starts = 0

    def start(self, **environment: str) -> ContainedOperator:
        """Start a new operator; HarnessError if it does not become ready."""
        self.stop()
        self._starts += 1
        more: dict[str, t.Any] = self._environment | environment
        self.operator = self.sandbox.start_operator(
            f"{self.side}-{self._starts}", self.side, **more
        )
        self.operator.wait_until_ready()
        return self.operator

    def stop(self) -> None:
        if self.operator:
            self.operator.stop()
            self.operator = None

    def ensure(self) -> ContainedOperator:
        """The operator; it is started if none runs."""
        if self.operator and self.operator.is_running:
            return self.operator
        return self.start()


@contextlib.contextmanager
def open_sandbox(folder: Path, models: t.Sequence[str] = ()) -> t.Iterator[Sandbox]:
    """A control plane with models, during the block; `enter` was called before.

    `models`: options of the model server. Processes that the block leaves end with this program.
    """
    sandbox = Sandbox(folder)
    sandbox.open()
    with play_models(sandbox.logs / "models.log", options=models):
        yield sandbox
    sandbox.close()
