# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The provenance of a release: an in-toto statement with a predicate of SLSA, not yet signed.

It has no times and names no machine, so the same commit on the same base gives the same bytes.
"""

from __future__ import annotations

import json
import platform
import urllib.parse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .archives import digest_of, find_files
from .contents.image import Image
from .epoch import read_epoch
from .gate import STAND_IN
from .manifests import Project
from .programs import run

FILE = "provenance.json"
STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "https://slsa.dev/provenance/v1"
_TYPE = "{}/blob/main/docs/operate/install.md#provenance"
_LOCKS = (
    "requirements/dev.txt",
    "requirements/image.txt",
    "requirements/release.txt",
    "packages/nimops-apiproxy/go.sum",
    "sandbox/tools/*/go.sum",
)
"""what fixes the versions and digests of all that a build downloads"""
_BASE = "org.opencontainers.image.base"

Json = dict[str, Any]


def write_provenance(project: Project, output: Path, image: Image | None) -> None:
    """Write the statement about all files of a folder; `image`: the image in it, if any."""
    (output / FILE).write_text(to_json(make_statement(project, output, image)))


def to_json(item: Json) -> str:
    return json.dumps(item, indent=2, sort_keys=True) + "\n"


def make_statement(project: Project, output: Path, image: Image | None) -> Json:
    """Return the statement."""
    return {
        "_type": STATEMENT,
        "subject": [
            {"name": name, "digest": {"sha256": digest_of(path)}}
            for name, path in find_files(output).items()
        ],
        "predicateType": PREDICATE,
        "predicate": make_predicate(project, image),
    }


def make_predicate(project: Project, image: Image | None) -> Json:
    """Return how, by what and from what the release was built."""
    repository = project.publisher["repository"]
    commit = run(["git", "rev-parse", "HEAD"], project.root).strip()
    parameters = {"version": project.version, "withoutImage": image is None}
    materials = [{"uri": f"git+{repository}@{commit}", "digest": {"gitCommit": commit}}]
    if image:
        parameters |= {"architecture": image.config.get("architecture", "")}
        materials.append(describe_base(image.labels))
    materials += find_locks(project.root, f"git+{repository}@{commit}")
    if image:
        materials += find_packages(project.root)
    return {
        "buildDefinition": {
            "buildType": _TYPE.format(repository),
            "externalParameters": parameters,
            "internalParameters": {"SOURCE_DATE_EPOCH": read_epoch(project.root)},
            "resolvedDependencies": materials,
        },
        "runDetails": {
            "builder": {
                "id": f"{repository}/tree/{commit}/release",
                "version": {"python": platform.python_version()},
            },
        },
    }


def describe_base(labels: Mapping[str, str]) -> Json:
    """Return the base image as a material. A stand-in, which is built here, has no digest."""
    name = labels.get(f"{_BASE}.name", "")
    repository, _colon, tag = name.rpartition(":")
    query = urllib.parse.urlencode({"repository_url": repository, "tag": tag}, safe="/:")
    digest = labels.get(f"{_BASE}.digest", "")
    version = f"@{urllib.parse.quote(digest, safe='')}" if digest else ""
    item: Json = {"uri": f"pkg:oci/{repository.rpartition('/')[2]}{version}?{query}"}
    if digest:
        item["digest"] = dict([digest.split(":")])
    if labels.get("nimops.nim.base") == STAND_IN:
        item["annotations"] = {"nimops.nim.base": STAND_IN}
    return {"name": "base image", **item}


def find_locks(root: Path, source: str) -> Iterator[Json]:
    """Yield the lock files, as files of the source."""
    for pattern in _LOCKS:
        for path in sorted(root.glob(pattern)):
            name = str(path.relative_to(root))
            digest = {"sha256": digest_of(path)}
            yield {"name": name, "uri": f"{source}#{name}", "digest": digest}


def find_packages(root: Path) -> Iterator[Json]:
    """Yield the packages that the image got from its lock file."""
    lock = (root / "requirements/image.txt").read_text()
    for path in sorted((root / "build/image").rglob("*.whl")):
        digest = digest_of(path)
        if f"--hash=sha256:{digest}" in lock:
            name, version, _rest = path.name.split("-", 2)
            uri = f"pkg:pypi/{name.replace('_', '-').lower()}@{version}?file_name={path.name}"
            yield {"name": path.name, "uri": uri, "digest": {"sha256": digest}}
