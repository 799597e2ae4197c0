# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The entry point of `kubectl-nim`."""

from __future__ import annotations

import sys
import typing as t

from .app import run


def main() -> t.NoReturn:
    """Run the command line, and exit with its code."""
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
