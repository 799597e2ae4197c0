#!/usr/bin/env python3
# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Write docs/reference/kubectl-nim.md from the table of commands.

--check writes nothing and exits 1 if the file would change.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/reference/kubectl-nim.md"

sys.path.insert(0, str(ROOT / "packages/kubectl-nim/src"))

from kubectl_nim.reference import write_page  # noqa: E402  # found by the path above


def main() -> int:
    """Write or check the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 on a difference"
    )
    text = write_page()
    if PAGE.is_file() and PAGE.read_text() == text:
        return 0
    if parser.parse_args().check:
        print(f"{PAGE.relative_to(ROOT)} would change: make generate", file=sys.stderr)
        return 1
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
