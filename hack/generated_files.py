# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The common part of all generators: read YAML, and write or check files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load_yaml(text: str) -> Any:
    """`yaml.safe_load` in C: PyYAML's own parser takes seconds for the CRDs."""
    return yaml.load(text, LOADER)


def make_parser(description: str) -> argparse.ArgumentParser:
    """The parser of a generator that this text describes."""
    parser = argparse.ArgumentParser(description=description.partition("\n")[0])
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 if a file would change"
    )
    return parser


def find_stale(files: Mapping[Path, str], present: Iterable[Path] = ()) -> list[Path]:
    """The files with another content, and those that are present and not generated any more."""
    return [
        path
        for path in sorted({*files, *present})
        if not path.is_file() or path.read_text() != files.get(path)
    ]


def update(files: Mapping[Path, str], *, check: bool, present: Iterable[Path] = ()) -> int:
    """Write the stale files and delete those without content, or name them; the exit code."""
    stale = find_stale(files, present)
    for path in stale:
        name = path.relative_to(ROOT)
        if check:
            print(f"{name} is out of date: run make generate", file=sys.stderr)
        elif path in files:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(files[path])
            print(f"wrote {name}")
        else:
            path.unlink()
            print(f"deleted {name}")
    return int(check and bool(stale))
