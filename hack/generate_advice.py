#!/usr/bin/env python3
# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Write the advice of `report` from the tables of docs/user/troubleshooting.md.

--check writes nothing and exits 1 if the file would change.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/user/troubleshooting.md"
FILE = ROOT / "plugins/module_utils/_commands/report/advice.json"

_HEADS = ("state, reason", "message")
_CELLS = 3
_NOTHING = "Nothing happens at all"
"""The section about resources without a status, which has no table."""


def read_advice(page: str) -> list[dict[str, str]]:
    """The rows of the tables of states and messages, with the heading above each."""
    found, section, is_table = [], "", False
    for line in page.splitlines():
        if heading := re.fullmatch(r"#+ (.+)", line):
            section, is_table = heading[1], False
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip()[1:-1])]
        if not line.startswith("|") or len(cells) != _CELLS:
            is_table = is_table and line.startswith("|")
        elif cells[0] in _HEADS:
            is_table = True
        elif is_table:
            names = ("cause", "meaning", "fix")
            found.append({"section": section} | dict(zip(names, cells, strict=True)))
    return [*found, _read_section(page)]


def _read_section(page: str) -> dict[str, str]:
    """The first paragraph of a section as the meaning, and its commands as the fix."""
    text = page.partition(f"\n## {_NOTHING}\n")[2].partition("\n## ")[0].strip()
    if not text:
        raise SystemExit(f"{PAGE.name} has no section {_NOTHING!r}")
    commands = " and ".join(f"`{found}`" for found in re.findall(r"(?m)^\$ (.+)", text))
    meaning = " ".join(text.partition("\n\n")[0].split())
    return {"section": _NOTHING, "cause": "", "meaning": meaning, "fix": commands}


def main() -> int:
    """Write or check the file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 on a difference"
    )
    text = json.dumps(read_advice(PAGE.read_text()), indent=1, ensure_ascii=False) + "\n"
    if FILE.is_file() and FILE.read_text() == text:
        return 0
    if parser.parse_args().check:
        print(f"{FILE.relative_to(ROOT)} would change: make generate", file=sys.stderr)
        return 1
    FILE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
