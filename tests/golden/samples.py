#!/usr/bin/env python3
# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Write tests/golden/samples: the rendered objects of config/samples, and the notes of the command.

--check writes nothing, and exits 1 with a diff if something would change. It runs the command of users, so it is
independent of our code.
"""

from __future__ import annotations

import argparse
import difflib
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "config/samples"
GOLDEN = Path(__file__).with_name("samples")
FACTS = Path(__file__).with_name("facts.yaml")
NOTES = "notes.txt"


class RenderError(Exception):
    """The samples cannot be rendered; the message is the output of the command."""


def render(folder: Path) -> None:
    """Render all samples into an empty folder."""
    files = [str(file) for file in sorted(SAMPLES.glob("*_*.yaml"))]
    variables = {
        "files": files,
        "facts": [str(FACTS), str(SAMPLES / "nemo-prerequisites.yaml")],
        "output_dir": str(folder),
        "nim_namespace": "nim",
    }
    command = [
        "ansible-playbook",
        "nimops.nim.render",
        "--inventory",
        "localhost,",
        "--extra-vars",
        json.dumps(variables),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RenderError(f"{done.stdout}\n{done.stderr}")
    lines = [line for line in done.stderr.splitlines() if not line.startswith("wrote ")]
    (folder / NOTES).write_text("".join(f"{line}\n" for line in sorted(lines)))


def read(folder: Path) -> dict[str, str]:
    """Path below the folder → content."""
    files = (file for file in folder.rglob("*") if file.is_file())
    return {str(file.relative_to(folder)): file.read_text() for file in sorted(files)}


def compare(golden: dict[str, str], rendered: dict[str, str]) -> str:
    """The difference as a diff, empty if there is none."""
    lines: list[str] = []
    for name in sorted({*golden, *rendered}):
        sides = golden.get(name, "").splitlines(), rendered.get(name, "").splitlines()
        lines += difflib.unified_diff(*sides, f"golden/{name}", f"rendered/{name}", lineterm="")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="exit 1 when something would change")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            render(folder)
        except RenderError as error:
            print(error, file=sys.stderr)
            return 2
        if difference := compare(read(GOLDEN), read(folder)):
            print(difference)
            if options.check:
                print(
                    "the samples become something else: if that is meant, run make golden",
                    file=sys.stderr,
                )
                return 1
            shutil.rmtree(GOLDEN, ignore_errors=True)
            shutil.copytree(folder, GOLDEN)
    return 0


if __name__ == "__main__":
    sys.exit(main())
