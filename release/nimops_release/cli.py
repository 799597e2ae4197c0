# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The commands. Progress goes to stderr."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from .chart import NAME, write_chart
from .errors import ReleaseError
from .manifests import Project, to_yaml_stream
from .programs import REPOSITORY


def write_install(project: Project, output: Path) -> None:
    """Write install.yaml: all of config/default in one file."""
    text = to_yaml_stream(project.build("default"))
    head = f"# nimops.nim {project.version}: kubectl apply --server-side -f install.yaml\n"
    (output / "install.yaml").write_text(head + text)


COMMANDS: dict[str, tuple[Callable[[Project, Path], None], str]] = {
    "install": (write_install, "write install.yaml, config/default in one file"),
    "chart": (
        lambda project, output: write_chart(project, output / "chart" / NAME),
        "write the Helm chart",
    ),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    parser = argparse.ArgumentParser(prog="release", description="Make what users install.")
    parser.add_argument("--output", type=Path, default=REPOSITORY / "dist", metavar="FOLDER")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, (make, text) in COMMANDS.items():
        commands.add_parser(name, help=text).set_defaults(make=make)
    options = parser.parse_args(arguments)
    try:
        options.output.mkdir(parents=True, exist_ok=True)
        options.make(Project(REPOSITORY), options.output)
    except (ReleaseError, OSError) as error:
        print(f"release: {error}", file=sys.stderr)
        return error.exit_code if isinstance(error, ReleaseError) else ReleaseError.exit_code
    return 0
