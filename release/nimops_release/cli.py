# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The commands. Progress goes to stderr."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from . import bundle
from .chart import NAME, Chart
from .errors import ReleaseError
from .manifests import Project, to_yaml_stream
from .programs import REPOSITORY

Files = dict[str, str]


def write_files(files: Files, folder: Path) -> None:
    """Write files into a folder, and remove whatever else it has."""
    if folder.exists():
        shutil.rmtree(folder)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def write_install(project: Project, output: Path) -> None:
    """Write install.yaml: all of config/default in one file."""
    text = to_yaml_stream(project.build("default"))
    head = f"# nimops.nim {project.version}: kubectl apply --server-side -f install.yaml\n"
    (output / "install.yaml").write_text(head + text)


def write_chart(project: Project, output: Path) -> None:
    write_files(Chart(project).files(), output / "chart" / NAME)


def write_bundle(project: Project, output: Path) -> None:
    """Write the bundle, and a catalog that offers it."""
    folder = output / "bundle"
    write_files(bundle.bundle_files(project), folder)
    catalog = {"catalog.yaml": bundle.catalog_text(project, folder)}
    write_files(catalog, output / "catalog" / bundle.PACKAGE)


COMMANDS: dict[str, tuple[Callable[[Project, Path], None], str]] = {
    "install": (write_install, "write install.yaml, config/default in one file"),
    "chart": (write_chart, "write the Helm chart"),
    "bundle": (write_bundle, "write the OLM bundle and a file-based catalog"),
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
