#!/usr/bin/env python3
# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Write the version of galaxy.yml, the only one, into all other files that name it.

--check writes nothing and exits 1 if a file would change. --set VERSION changes galaxy.yml first,
as `make release VERSION=…` does in its copy of the tree. prefork and supervisor are packages with
versions of their own; kubectl-nim has that of the collection, which its wheel contains.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from generated_files import make_parser, update

ROOT = Path(__file__).resolve().parent.parent
SOURCE = "galaxy.yml"
# Ansible Galaxy only accepts semantic versions.
SEMANTIC = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?")
DECLARED = re.compile(r"^(version: )(\S+)$", re.M)
IMAGE = r"(nim-operator(?:-bundle)?:)([\w.-]+)"
TAG = r"(newTag: )(\S+)"
ARCHIVE = r"(dist/nimops(?:-nim)?-)(.+?)(?=\.t)"
DEFINED = r"(nimops\.nim/operator-version: )(\S+)"
MANIFESTS = "plugins/module_utils/_commands/install/data"
PLACES = {
    "config/crd/kustomization.yaml": DEFINED,
    "config/crd/bases/Kustomization": DEFINED,
    "config/manager/kustomization.yaml": TAG,
    "config/manager/manager.yaml": r"(name: OPERATOR_VERSION\n +value: )(\S+)",
    "docs/operate/install.md": f"{IMAGE}|{TAG}|{ARCHIVE}",
    "docs/operate/takeover.md": TAG,
    "docs/tutorials/README.md": IMAGE,
    "docs/tutorials/first-model.md": IMAGE,
    "docs/tutorials/from-nvidias-operator.md": TAG,
    "docs/tutorials/rag-behind-a-gateway.md": IMAGE,
    "README.md": IMAGE,
    "packages/kubectl-nim/src/kubectl_nim/__init__.py": r'(__version__ = ")([^"]+)',
    "execution-environment.yml": r"(nimops-nim-)(.+?)(?=\.tar\.gz)",
    **{
        f"{MANIFESTS}/{file.name}": r'("nimops\.nim/operator-version": ")([^"]+)'
        for file in (ROOT / MANIFESTS).glob("*.*.json")
    },
    f"{MANIFESTS}/objects.json": rf'{IMAGE}|("OPERATOR_VERSION",\s+"value": ")([^"]+)',
}
"""file that names the version → the expression that finds it"""


def read_version(root: Path) -> str:
    """Return the version that galaxy.yml declares."""
    found = DECLARED.search((root / SOURCE).read_text())
    if found is None:
        raise SystemExit(f"{SOURCE}: has no line `version: …`")
    return found[2]


def set_version(root: Path, version: str) -> None:
    """Change the version in galaxy.yml."""
    if not SEMANTIC.fullmatch(version):
        raise SystemExit(
            f"VERSION={version}: must be a semantic version, such as 1.2.3 or 1.2.3-rc.1"
        )
    file = root / SOURCE
    file.write_text(DECLARED.sub(rf"\g<1>{version}", file.read_text()))


def insert_version(text: str, pattern: str, version: str, name: str) -> str:
    """Return the text with this version wherever the pattern matches; it must match somewhere."""

    def replace(match: re.Match[str]) -> str:
        head, _old = (group for group in match.groups() if group is not None)
        return f"{head}{version}"

    text, count = re.subn(pattern, replace, text)
    if not count:
        raise SystemExit(f"{name}: no longer names the version: adapt PLACES here")
    return text


def generate(root: Path) -> dict[Path, str]:
    """Return the files that would change, with their new content."""
    version = read_version(root)
    stale = {}
    for name, pattern in PLACES.items():
        text = (root / name).read_text()
        if (new := insert_version(text, pattern, version, name)) != text:
            stale[Path(name)] = new
    return stale


def main() -> int:
    parser = make_parser(__doc__ or "")
    parser.add_argument("--set", metavar="VERSION", help="first change the version in galaxy.yml")
    options = parser.parse_args()
    if options.set:
        set_version(ROOT, options.set)
    files = {ROOT / name: text for name, text in generate(ROOT).items()}
    return update(files, check=options.check)


if __name__ == "__main__":
    sys.exit(main())
