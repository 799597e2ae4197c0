#!/usr/bin/env python3
# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Write docs/reference/kubectl-nim.md from the table of commands.

--check writes nothing and exits 1 if the file would change.
"""

from __future__ import annotations

import sys
from pathlib import Path

from generated_files import make_parser, update

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/reference/kubectl-nim.md"

sys.path.insert(0, str(ROOT / "packages/kubectl-nim/src"))

from kubectl_nim.reference import write_page  # noqa: E402  # found by the path above


def main() -> int:
    """Write or check the page."""
    options = make_parser(__doc__ or "").parse_args()
    return update({PAGE: write_page()}, check=options.check)


if __name__ == "__main__":
    sys.exit(main())
