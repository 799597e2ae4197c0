# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Run the tests of this folder on a sandbox of its own: what on-call engineers and GitOps tools see.

Arguments are those of pytest, such as `-k gitops`. Exit code 2 if it cannot start.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent / "harness"), str(FOLDER)]

from nimops_harness.cases import run_program  # noqa: E402
from nimops_harness.runtime import ROOT  # noqa: E402
from nimops_harness.sandbox import enter, open_sandbox  # noqa: E402
from nimops_harness.workload import label_nodes  # noqa: E402
from nimops_programs import build  # noqa: E402
from nimops_stage import Stage  # noqa: E402

OUTPUT = ROOT / "build" / "observability"


PROGRAMS = ("prometheus", "promtool", "prometheus-adapter")


def main() -> int:
    for name in PROGRAMS:  # they are downloaded, and `enter` leaves the network
        build(name)
    enter(OUTPUT)
    with open_sandbox(OUTPUT) as sandbox:
        label_nodes(sandbox.api)
        return pytest.main([str(FOLDER), *sys.argv[1:]], plugins=[Stage(sandbox)])


sys.exit(run_program("observability", main))
