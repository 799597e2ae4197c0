#!/usr/bin/env python3
# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Write the values of release/publisher.yaml, their only source, into the files that need them.

--check writes nothing and exits 1 if a file would change, or if a value is in any other place.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import yaml
from generated_files import make_parser, update

ROOT = Path(__file__).resolve().parent.parent
SOURCE = "release/publisher.yaml"
_URL = r"https://[\w.-]+/[\w.-]+/[\w.-]+"
_OF_CONFIG = r"[\w.-]+/[\w.-]+/[\w.-]+(?=/config/(?:default|overlays|components)\b)"
_OF_OPERATOR = r"(?<=[ :=])(?!registry\.)[\w.-]+/[\w.-]+(?=/nim-operator\b)"
_HANDLE = r"(?<=The nimops\.nim authors \(@)[\w-]+(?=\))"
_OF_IMAGE = r"(?<![\w.-])(?!registry\.)[\w.-]+/[\w.-]+(?=/nim-operator\b)"
PLACES: dict[str, dict[str, str]] = {
    "CONTRIBUTING.md": {"repository": rf"{_URL}(?=/issues)"},
    "config/manager/kustomization.yaml": {"registry": _OF_OPERATOR},
    "config/monitoring/alerts.yaml": {"repository": rf"{_URL}(?=/tree/main/docs/)"},
    "docs/operate/install.md": {"host": _OF_CONFIG, "registry": _OF_IMAGE},
    "docs/operate/takeover.md": {"host": _OF_CONFIG, "registry": _OF_IMAGE},
    "docs/tutorials/from-nvidias-operator.md": {"registry": _OF_IMAGE},
    "galaxy.yml": {
        "repository": rf"(?m)(?<=^repository: ){_URL}|(?<=^documentation: ){_URL}"
        rf"|(?<=^homepage: ){_URL}|(?<=^issues: ){_URL}"
    },
    "molecule/node/tasks/serve.yml": {"registry": _OF_IMAGE},
    "packages/ansible-prefork/docs/for-your-operator.md": {
        "repository": rf"{_URL}(?=/archive/refs/)"
    },
    "packages/ansible-prefork/pyproject.toml": {
        "repository": rf'(?m)(?<= = "){_URL}(?=(?:/(?:tree|blob|issues)\b[^"]*)?"$)'
    },
    "packages/kubectl-nim/pyproject.toml": {
        "repository": rf'(?m)(?<= = "){_URL}(?=(?:/(?:tree|blob|issues)\b[^"]*)?"$)'
    },
    "plugins/module_utils/_commands/report/parts.py": {
        "repository": rf'(?<=DOCUMENTATION = "){_URL}(?=/blob/main/docs/)'
    },
}
"""File → the key of a value, and the expression that finds it; ``host``: see `read_values`."""

GENERATED = ("docs/reference/chart-values.md", "plugins/module_utils/_commands/install/data/")
"""Files and folders that other generators write from these places."""


def read_values(root: Path) -> dict[str, str]:
    """Return the values, and the repository without https."""
    values: dict[str, str] = yaml.safe_load((root / SOURCE).read_text())
    del values["placeholders"]
    return values | {"host": values["repository"].partition("://")[2]}


def places_of(names: list[str]) -> dict[str, dict[str, str]]:
    """Return the places, with those of the authors of plugins and roles."""
    authors = [
        name
        for name in names
        if re.match(
            r"(plugins/(?!module_utils)|roles/|hack/(module|role)/|hack/generate_kinds)", name
        )
    ]
    return PLACES | {name: {"organization": _HANDLE} for name in authors}


def insert(text: str, patterns: Mapping[str, str], values: Mapping[str, str]) -> str:
    """Return the text with the values in their places."""
    for key, pattern in patterns.items():
        value = values[key]
        text = re.sub(pattern, lambda _found, value=value: value, text)  # type: ignore[misc]
    return text


def find_others(
    text: str, patterns: Mapping[str, str], values: Mapping[str, str]
) -> Iterator[tuple[int, str]]:
    """Yield line and value of each occurrence outside of the places."""
    rest = text
    for pattern in patterns.values():
        rest = re.sub(pattern, "", rest)
    forms = {
        "repository": values["host"],
        "registry": values["registry"],
        "domain": values["domain"],
        "contact": values["contact"],
        "organization": f"(@{values['organization']})",
    }
    searches = {
        key: re.compile(rf"(?<![\w.-]){re.escape(value)}(?![\w-])")
        for key, value in forms.items()
        if value in rest
    }
    for number, line in enumerate(rest.splitlines() if searches else (), 1):
        for key, search in searches.items():
            if search.search(line):
                yield number, key


def list_files(root: Path) -> list[str]:
    """Return the files of the repository."""
    command = ["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def read_text(path: Path) -> str:
    """Return the text of a file; empty if it has none."""
    try:
        return path.read_text()
    except (UnicodeDecodeError, OSError):
        return ""


def main() -> int:
    """Write or check the files."""
    options = make_parser(__doc__ or "").parse_args()
    values, names = read_values(ROOT), list_files(ROOT)
    places = places_of(names)
    texts = {name: read_text(ROOT / name) for name in names}
    files = {
        ROOT / name: insert(texts[name], patterns, values) for name, patterns in places.items()
    }
    others = [
        f"{name}:{number}: names the {key} of {SOURCE}: read it from there,"
        f" or add the place to {Path(__file__).name}"
        for name, text in texts.items()
        if name != SOURCE and not name.startswith(GENERATED)
        for number, key in find_others(text, places.get(name, {}), values)
    ]
    print("\n".join(others), end="\n" if others else "", file=sys.stderr)
    return update(files, check=options.check) or int(bool(others))


if __name__ == "__main__":
    sys.exit(main())
