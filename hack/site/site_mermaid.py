#!/usr/bin/env python3
# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Write the script that draws the diagrams of the site.

Usage: site_mermaid.py FILE. The script comes from the npm package that requirements/mermaid.yaml
pins; `npm` downloads it and runs none of its code.
"""

from __future__ import annotations

import base64
import hashlib
import io
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "requirements/mermaid.yaml"
SCRIPT = "package/dist/mermaid.min.js"


class FetchError(Exception):
    """The package cannot be had, or is not the pinned one."""


def read_script(package: bytes, integrity: str) -> bytes:
    """Return the script in a package; ``integrity``: its digest as in a lock file of npm."""
    kind, _dash, wanted = integrity.partition("-")
    found = base64.b64encode(hashlib.new(kind, package).digest()).decode()
    if found != wanted:
        raise FetchError(f"the package has the digest {kind}-{found}, not {integrity}")
    with tarfile.open(fileobj=io.BytesIO(package)) as archive:
        file = archive.extractfile(SCRIPT)
        if file is None:
            raise FetchError(f"{SCRIPT} is not a file")
        return file.read()


def download(name: str) -> bytes:
    """Return the npm package ``name@version``."""
    with tempfile.TemporaryDirectory(prefix="nimops-mermaid-") as folder:
        command = [
            "npm",
            "pack",
            name,
            "--silent",
            "--ignore-scripts",
            "--pack-destination",
            folder,
        ]
        try:
            subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder)
        except FileNotFoundError:
            raise FetchError("npm is missing: apt-get install npm") from None
        except subprocess.CalledProcessError as error:
            raise FetchError(f"{' '.join(command)}: {error.stderr.strip()}") from None
        [path] = Path(folder).glob("*.tgz")
        return path.read_bytes()


def main() -> int:
    """Write the file."""
    path = Path(sys.argv[1])
    lock = yaml.safe_load(LOCK.read_text())
    try:
        script = read_script(download(f"mermaid@{lock['version']}"), lock["integrity"])
    except FetchError as error:
        print(f"site_mermaid: {error}", file=sys.stderr)
        return 1
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(script)
    return 0


if __name__ == "__main__":
    sys.exit(main())
