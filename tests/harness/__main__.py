# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Run a program of a folder beside this one: `python tests/harness NAME OPTIONS`."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

name = sys.argv.pop(1)
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / name))

from nimops_harness.cases import run_program  # noqa: E402 the folder is found now

program = importlib.import_module(f"nimops_{name}.cli")
options = program.parse_arguments()
sys.exit(run_program(name, lambda: program.run(options)))
