# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The command: make tutorials."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from nimops_harness.cases import print_table
from nimops_harness.errors import HarnessError
from nimops_harness.progress import say
from nimops_harness.runtime import ROOT
from nimops_harness.sandbox import Sandbox, enter, open_sandbox
from nimops_programs import build

from .definitions import remove_definitions
from .markdown import Block, Command
from .page import Step, attempt, find_fault, read_tutorial
from .stage import Stage, find_leftovers, list_objects
from .substitutes import Substitute, find_substitute
from .terminal import Terminal, make_places

PAGES = ROOT / "docs/tutorials"
PATIENCE = 120.0
"""Seconds within which a command that reads must print what the page shows."""
SHARED = ("config", "dist")
"""The folders of a clone that pages name."""
PLUGIN = """\
#!/bin/sh
PYTHONPATH={path} exec {python} -m kubectl_nim "$@"
"""


def main() -> int:
    """Follow the pages; the exit code is 0 if each is right."""
    known = [path.stem for path in sorted(PAGES.glob("*.md")) if path.stem != "README"]
    parser = argparse.ArgumentParser(prog="tutorials", description="Follow pages as a reader.")
    parser.add_argument("names", nargs="*", help=f"of {', '.join(known)} (default: all)")
    parser.add_argument("--keep-going", action="store_true", help="continue after a wrong output")
    parser.add_argument("--output", type=Path, default=ROOT / "build/tutorials", help="folder")
    parser.add_argument("--patience", type=float, default=PATIENCE, help="seconds: %(default)s")
    options = parser.parse_args()
    names = options.names or known
    if unknown := set(names) - set(known):
        raise HarnessError(f"no such tutorial: {', '.join(sorted(unknown))}")
    pages = {name: read_tutorial((PAGES / f"{name}.md").read_text()) for name in names}
    folder = options.output.resolve()
    programs = folder / "bin"
    prepare([step for steps in pages.values() for step in steps], programs)
    enter(folder)
    rows = []
    with open_sandbox(folder, models=["--mode=off"]) as sandbox:
        os.environ["PATH"] = f"{programs}{os.pathsep}{os.environ['PATH']}"
        for name, steps in pages.items():
            began = time.monotonic()
            faults = []
            for fault in follow(steps, sandbox, options.patience):
                say(f"docs/tutorials/{name}.md, {fault}")
                faults.append(fault)
                if not options.keep_going:
                    break
            rows.append(("NOT" if faults else "ok", name, f"{time.monotonic() - began:.0f} s"))
    print_table(("", "tutorial", "time"), rows)
    return int(any(mark == "NOT" for mark, _name, _time in rows))


def prepare(steps: Iterable[Step], folder: Path) -> None:
    """Build the programs and files that the commands need, and choose the neighbors."""
    commands = [step.text for step in steps if isinstance(step, Command)]
    played = [found for text in commands if (found := find_substitute(text))]
    os.environ["SANDBOX_WITH"] = " ".join(sorted({it.neighbor for it in played if it.neighbor}))
    programs = {name for it in played for name in it.programs}
    programs |= {
        "helm" for text in commands if text.startswith("helm ") and not find_substitute(text)
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name in programs:
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(build(name))
    for name in sorted({name for text in commands for name in re.findall(r"dist/(\w+)", text)}):
        subprocess.run([sys.executable, "release", name], cwd=ROOT, check=True)
    collections = os.environ.get("ANSIBLE_COLLECTIONS_PATH", str(ROOT / "build/collections"))
    path = f"{ROOT / 'packages/kubectl-nim/src'}:{collections}"
    plugin = folder / "kubectl-nim"
    plugin.write_text(PLUGIN.format(path=path, python=sys.executable))
    plugin.chmod(0o755)


def follow(steps: Iterable[Step], sandbox: Sandbox, patience: float) -> Iterator[str]:
    """Take the steps of a page on a cluster without our CRDs; its faults."""
    home, work = make_places(sandbox.folder)
    for name in SHARED:
        (work / name).symlink_to(ROOT / name)
    known = {key: os.environ[key] for key in ("KUBECONFIG", "ANSIBLE_COLLECTIONS_PATH")}
    path = os.environ["PATH"]
    remove_definitions()
    before = list_objects()
    with (
        Stage(sandbox, work) as stage,
        Terminal(home, work, path, NGC_API_KEY="nvapi-test", **known) as terminal,
    ):
        for step in steps:
            if isinstance(step, Block):
                (work / step.title).write_text(step.text)
            elif fault := play(step, terminal, stage, patience):
                yield fault
        jobs = terminal.run("jobs -pr").output.split()
        if left := find_leftovers(before, home, work, jobs):
            yield "left at the end:\n  " + "\n  ".join(left)


def play(command: Command, terminal: Terminal, stage: Stage, patience: float) -> str:
    """Type a command, or play what stands for it; the fault."""
    say(f"$ {command.text}")
    stage.check()
    substitute = find_substitute(command.text) or Substitute("", "", "")
    instead = substitute.play(stage, command.text)
    end = time.monotonic() + patience

    def may_repeat() -> bool:
        stage.check()
        time.sleep(0.5)
        return time.monotonic() < end

    if instead is None:
        fault = attempt(command, lambda: terminal.run(command.text, together=True), may_repeat)
    else:
        fault = find_fault(command, terminal.run(instead), compare=False)
    substitute.after(stage, command.text)
    return fault
