# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The commands. Progress goes to stderr, the name of a signed image to stdout."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from . import releases
from .compatibility import check_definitions
from .errors import ReleaseError
from .manifests import Project
from .programs import REPOSITORY
from .signing import attest_files, attest_image, sign_image

Command = Callable[[Project, argparse.Namespace], None]

_EPILOG = """
exit codes: 0 done, 1 failed, 2 fix something first
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    options = _make_parser().parse_args(arguments)
    try:
        options.output.mkdir(parents=True, exist_ok=True)
        options.run(Project(REPOSITORY), options)
    except (ReleaseError, OSError) as error:
        _notify(str(error))
        return error.exit_code if isinstance(error, ReleaseError) else ReleaseError.exit_code
    return 0


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="release",
        description="Build what users install, from config/ and the collection.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--output", type=Path, default=REPOSITORY / "dist", metavar="FOLDER")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, run, text in (
        (
            "install",
            _make(releases.write_install),
            "write install.yaml, config/default in one file",
        ),
        (
            "admission",
            _make(releases.write_admission),
            "write admission.yaml: the admission policies, which OLM cannot install",
        ),
        (
            "one-namespace",
            _make(releases.write_one_namespace),
            "write cluster.yaml and namespaced.yaml, for an operator of one namespace",
        ),
        (
            "monitoring",
            _make(releases.write_monitoring),
            "write monitoring.yaml, for Prometheus and Grafana, and dashboards.tgz",
        ),
        ("chart", _make(releases.write_chart), "write the Helm chart"),
        ("bundle", _make(releases.write_bundle), "write the OLM bundle and a file-based catalog"),
        ("wheel", _make(releases.write_wheel), "write the wheel of kubectl-nim"),
        ("images", _make(releases.write_images), "write the list of images, for mirrors"),
        ("all", _make_all, "write all parts of a release from this tree, with checksums"),
        ("release", _release, "write a release of the last commit, from a copy"),
        ("check", _check, "whether a release can be published: pinned base, no placeholder, clean"),
        ("sign", _sign, "sign an image in a registry; print its name by digest"),
        ("attest", _attest, "sign the provenance of a release; attach it to an image"),
        ("compatibility", _compatibility, "compare the CRDs with those of the last release"),
    ):
        command = commands.add_parser(name, help=text)
        command.set_defaults(run=run)
        if run is _release:
            command.add_argument("--version", required=True)
        if run in (_make_all, _release, _check):
            command.add_argument(
                "--without-image",
                action="store_true",
                help="skip the image: build everything else, in seconds",
            )
        if run in (_sign, _attest):
            command.add_argument("--image", required=run is _sign, metavar="REGISTRY/NAME:TAG")
            command.add_argument("--key", type=Path, required=True, metavar="FILE")
        if run is _compatibility:
            command.add_argument(
                "--since", metavar="REF", help="the commit to compare with instead"
            )
    return parser


def _make(write: Callable[[Project, Path], None]) -> Command:
    return lambda project, options: write(project, options.output)


def _make_all(project: Project, options: argparse.Namespace) -> None:
    releases.make_all(project, options.output, not options.without_image, _notify)


def _release(project: Project, options: argparse.Namespace) -> None:
    output = options.output.resolve()
    releases.make_release(project.root, options.version, output, not options.without_image, _notify)


def _check(project: Project, options: argparse.Namespace) -> None:
    # What `release` ignores, it prints itself.
    releases.check_release(project.root, not options.without_image, lambda _text: None)


def _sign(_project: Project, options: argparse.Namespace) -> None:
    _notify(f"resolving {options.image}, and signing its digest")
    print(sign_image(options.image, options.key))


def _attest(_project: Project, options: argparse.Namespace) -> None:
    if options.image:
        _notify(f"resolving {options.image}, and attaching the provenance to its digest")
        print(attest_image(options.image, options.output, options.key))
    else:
        _notify(f"signing the provenance of the files in {options.output}")
        print(attest_files(options.output, options.key))


def _compatibility(project: Project, options: argparse.Namespace) -> None:
    _notify(check_definitions(project, options.since))


def _notify(text: str) -> None:
    print(f"release: {text}", file=sys.stderr, flush=True)
