# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Follow tutorials of docs/tutorials, as a reader does: `python tests/tutorials [NAME…]`.

Types each command of a page on a sandbox of its own, compares the output with that of the page, and
checks that nothing is left. Exit code 1 if a page is wrong, 2 if it cannot start.
"""

from __future__ import annotations

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent / name) for name in ("harness", "observability")]
sys.path.insert(0, str(FOLDER))

from nimops_harness.cases import run_program  # noqa: E402 the folders are found now
from nimops_tutorials.cli import main  # noqa: E402

sys.exit(run_program("tutorials", main))
