# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The command: make first-steps."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import typing as t
from pathlib import Path

from nimops_harness.cases import print_table
from nimops_harness.cluster import kubectl
from nimops_harness.errors import HarnessError
from nimops_harness.progress import say
from nimops_harness.runtime import ROOT
from nimops_harness.sandbox import enter, open_sandbox
from nimops_harness.workload import label_nodes
from nimops_tutorials.definitions import add_foreign_definition, remove_definitions
from nimops_tutorials.terminal import Terminal, make_places

from .page import read_steps

TITLE = "On your cluster in five minutes"
FOLDER = ROOT / "build" / "first-steps"
NAME = "meta-llama-3-2-1b-instruct"
FOREIGN = ("clusterpolicies.nvidia.com", "nvidiadrivers.nvidia.com")
SHOWN = 12
"""Lines of each output that are shown."""


class Shell:
    """Runs commands as a new user, and keeps their durations."""

    def __init__(self, folder: Path) -> None:
        self.home, self.work = make_places(folder)
        self.rows: list[tuple[str, str]] = []

    def open(self, *folders: Path) -> None:
        """Start a session with these folders first on PATH."""
        path = os.pathsep.join([*map(str, folders), os.environ["PATH"]])
        known = {key: os.environ[key] for key in ("KUBECONFIG",) if key in os.environ}
        self._terminal = Terminal(self.home, self.work, path, NGC_API_KEY="nvapi-test", **known)

    def close(self) -> None:
        """End the session."""
        self._terminal.close()

    def run(self, command: str) -> str:
        """The stdout of a command. HarnessError with its messages if it fails."""
        say(f"$ {command}")
        began = time.monotonic()
        done = self._terminal.run(command)
        self.rows.append((command[:90], f"{time.monotonic() - began:.1f} s"))
        for line in [*done.output.splitlines()[-SHOWN:], *done.errors.splitlines()[-SHOWN:]]:
            say(f"    {line}")
        if done.code:
            raise HarnessError(f"{command}: exit code {done.code}\n{done.output}{done.errors}")
        return done.output


def main() -> int:
    """Follow the page; the exit code is 0 if each step did what it should."""
    parser = argparse.ArgumentParser(prog="first-steps", description="Follow a page as a new user.")
    parser.add_argument(
        "--page", type=Path, default=ROOT / "README.md", help="the page (default: README.md)"
    )
    try:
        follow(parser.parse_args().page)
    except HarnessError as error:
        say(f"first-steps: {error}")
        return 1
    return 0


def follow(page: Path) -> None:
    """All steps. HarnessError at the first one that fails."""
    steps = read_steps(page.read_text(), TITLE)
    shell = Shell(FOLDER)
    (shell.work / "nim.yaml").write_text(steps.manifest)
    before = [command for command in steps.commands if needs_network(command)]
    after = [command for command in steps.commands if not needs_network(command)]
    if not before or not any("kubectl nim ask" in command for command in after):
        raise HarnessError(f"the section {TITLE!r} must install kubectl nim, and ask the model")
    subprocess.run([sys.executable, "release", "wheel"], cwd=ROOT, check=True)
    (shell.work / "dist").symlink_to(ROOT / "dist")
    shell.open()
    for command in before:
        if not command.startswith("make "):
            shell.run(command)
    shell.close()
    enter(FOLDER)  # no way out from here on
    with open_sandbox(FOLDER) as sandbox:
        label_nodes(sandbox.api)
        shell.open(sandbox.directory / "bin")
        foreign = add_foreign_definitions()
        for command in before:
            if command.startswith("source "):
                shell.run(command)
        answers = {command: shell.run(command) for command in after}
        check_served(answers)
        use(shell)
        use_collection(shell)
        remove(shell)
        shell.close()
        if read_definitions() != foreign:
            raise HarnessError("the CRDs of the other GPU operator have changed")
    total = sum(float(seconds.partition(" ")[0]) for _command, seconds in shell.rows)
    print_table(("command", "time"), [*shell.rows, ("all commands", f"{total:.1f} s")])


def needs_network(command: str) -> bool:
    """Whether a command installs the plugin, which needs a package registry."""
    return command.startswith(("make ", "python3 -m venv", "source ", "pip "))


def add_foreign_definitions() -> list[t.Any]:
    """CRDs of ClusterPolicy and NVIDIADriver that are not ours; the sandbox's go."""
    remove_definitions()
    for name in FOREIGN:
        add_foreign_definition(name, {"app": "gpu-operator"})
    kubectl("wait", "--for=condition=Established", "crd", *FOREIGN, "--timeout=30s")
    return read_definitions()


def read_definitions() -> list[t.Any]:
    """The CRDs of the other operator, as stored."""
    return list(json.loads(kubectl("get", "crd", *FOREIGN, "-o", "json"))["items"])


def check_served(answers: dict[str, str]) -> None:
    """The model has answered, and no operator was needed."""
    (answer,) = (text for command, text in answers.items() if "kubectl nim ask" in command)
    if not answer.strip():
        raise HarnessError("the model's answer is empty")
    deployments = kubectl("get", "deployments", "-A", "-o", "name").split()
    if deployments != [f"deployment.apps/{NAME}"]:
        raise HarnessError(f"Deployments: {deployments}; only the model's was expected")


def use(shell: Shell) -> None:
    """Scale and pause the model."""
    reference = f"nimservice/{NAME}"
    shell.run(f"kubectl nim scale -n nim {NAME} --replicas 2")
    expect("2", "deployment", "{.status.readyReplicas}")
    shell.run(f"kubectl nim pause -n nim {reference}")
    expect("True", "nimservice", "{.status.conditions[?(@.type=='Paused')].status}")
    shell.run(f"kubectl nim resume -n nim {reference}")
    shell.run(f"kubectl nim wait -n nim {reference} --timeout 60s")
    status = json.loads(shell.run("kubectl nim status -n nim -o json"))
    states = {line["kind"]: line["state"] for line in status}
    if states != {"NIMCache": "Ready", "NIMService": "Ready"}:
        raise HarnessError(f"status: {states}")


def use_collection(shell: Shell) -> None:
    """The collection works as well, from its tarball and without kubernetes.core."""
    subprocess.run(
        ["ansible-galaxy", "collection", "build", "--force", "--output-path", str(FOLDER)],
        cwd=ROOT, check=True, capture_output=True,
    )  # fmt: skip
    (tarball,) = FOLDER.glob("nimops-nim-*.tar.gz")
    shell.run(f"ansible-galaxy collection install --offline --no-deps --force {tarball}")
    shown = shell.run("ansible-playbook nimops.nim.status -e nim_namespace=nim")
    if NAME not in shown:
        raise HarnessError(f"nimops.nim.status does not show {NAME}:\n{shown}")


def remove(shell: Shell) -> None:
    """Delete the model, and uninstall."""
    shell.run(f"kubectl nim delete -n nim nimservice/{NAME} nimcache/{NAME} --yes")
    if left := kubectl("get", "deployments,services,jobs,pvc", "-n", "nim", "-o", "name").split():
        raise HarnessError(f"left after the deletion: {left}")
    shell.run("kubectl nim uninstall --yes")
    found = kubectl("get", "crd", "-o", "name").split()
    if left := [name for name in found if name.endswith(".apps.nvidia.com")]:
        raise HarnessError(f"left after uninstall: {left}")


def expect(wanted: str, kind: str, path: str) -> None:
    """HarnessError if a field of the model's object has another value."""
    found = kubectl("get", kind, NAME, "-n", "nim", "-o", f"jsonpath={path}")
    if found != wanted:
        raise HarnessError(f"{kind} {NAME}: {path} is {found!r}, not {wanted!r}")
