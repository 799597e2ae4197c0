# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The operator's image: its archive, base image and contents."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from .contents.component import UNKNOWN, Component
from .contents.finder import find_components
from .contents.image import Image
from .contents.licenses import recognize, to_table
from .errors import ReleaseError, SetupError
from .gate import STAND_IN, check_base
from .manifests import Notify, Project

ARCHIVE = "nim-operator-{}.tar"
SBOM = "nim-operator-{}.cdx.json"
LICENSES = "LICENSES.csv"
NOTES = "IMAGE.md"
_BASE = "org.opencontainers.image.base"
_STAND_IN = "nimops.nim.base"
_HOW_TO_PIN = "BASE=registry/name:tag@sha256:… make release pins the base image"


def write_image(project: Project, epoch: int, output: Path, notify: Notify) -> Image:
    """Write the archive of the image, its SBOM, the licenses of its contents, and notes."""
    archive = output / ARCHIVE.format(project.version)
    shutil.move(build_image(project, epoch), archive)
    image = Image(archive)
    check_base(image.labels, os.environ.get("BASE") or "")
    notify(f"the image is based on {describe_base(image.labels)}")
    notify("Write its SBOM and the list of licenses")
    if unknown := write_contents(project, image, epoch, output):
        names = ", ".join(item.full_name for item in unknown)
        notify(f"{LICENSES} contains `{UNKNOWN}` for {names}")
    (output / NOTES).write_text(image_notes(project.version, image))
    return image


def build_image(project: Project, epoch: int) -> Path:
    """Build the image; return its archive."""
    command = [sys.executable, str(project.root / "hack/image"), "build"]
    environ = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch)}
    done = subprocess.run(command, env=environ, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        error = SetupError if done.returncode == SetupError.exit_code else ReleaseError
        raise error("the image could not be built: see above; WITHOUT_IMAGE=1 skips it")
    return Path(done.stdout.splitlines()[-1])


def describe_base(labels: Mapping[str, str]) -> str:
    """Describe the base of an image, and how to pin a base that may change."""
    name = labels.get(f"{_BASE}.name", "an unknown base")
    if labels.get(_STAND_IN) == STAND_IN:
        return (
            f"a stand-in for the published base, built from Debian and PyPI packages ({name}): "
            f"for tests only, do not publish it. {_HOW_TO_PIN}"
        )
    if digest := labels.get(f"{_BASE}.digest"):
        return f"{name}@{digest}"
    return f"{name}, a tag that may change. {_HOW_TO_PIN}"


def image_notes(version: str, image: Image) -> str:
    """Return the notes for users of the image."""
    archive, sbom = ARCHIVE.format(version), SBOM.format(version)
    return (
        f"# Image of nimops.nim {version}\n\n"
        f"| | |\n|---|---|\n"
        f"| archive | `{archive}`, for `docker load`, `ctr images import` and `crane push` |\n"
        f"| name | `{', '.join(image.names)}` |\n"
        f"| architecture | {image.config.get('architecture', UNKNOWN)} |\n"
        f"| configuration | `{image.config_digest}` |\n"
        f"| base image | {describe_base(image.labels)} |\n"
        f"| contents | `{sbom}` (CycloneDX), `{LICENSES}` |\n\n"
        "How to publish, sign and verify it: docs/operate/install.md#verify.\n"
    )


def write_contents(project: Project, image: Image, epoch: int, output: Path) -> list[Component]:
    """Write the SBOM and the list of licenses; return the components without a known license."""
    found = recognize(find_components(image))
    own = tuple(project.galaxy["license"])
    document = {
        "name": image.names[0].rpartition(":")[0] if image.names else "nim-operator",
        "version": project.version,
        "digest": image.config_digest,
        "epoch": epoch,
        "licenses": own,
        "components": [_to_entry(item) for item in found],
    }
    text = _write_sbom(json.dumps(document))
    (output / SBOM.format(project.version)).write_text(text)
    operator = Component("oci", "nim-operator", project.version, licenses=own)
    (output / LICENSES).write_text(to_table([operator, *found]))
    return [item for item in found if not item.licenses]


def _to_entry(item: Component) -> dict[str, str | Sequence[str]]:
    entry = asdict(item)
    del entry["texts"], entry["owns"]
    return entry | {"full_name": item.full_name, "licenses": item.licenses or (UNKNOWN,)}


def _write_sbom(components: str) -> str:
    # CycloneDX's library is in the same lock file as antsibull-changelog.
    program = shutil.which("antsibull-changelog")
    if program is None:
        raise SetupError("antsibull-changelog is not on PATH: make release installs it")
    script = Path(__file__).resolve().parents[1] / "write_sbom.py"
    command = [str(Path(program).with_name("python")), str(script)]
    done = subprocess.run(command, input=components, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ReleaseError(f"the SBOM could not be written: {done.stderr.strip()}")
    return done.stdout
