# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Follow the section "On your cluster in five minutes" of the README, as a new user would.

The commands are those of the README: in a new virtual environment, with an empty home folder, on a
sandbox of its own that has the CRDs of another GPU operator. Then the model is asked, scaled,
paused and deleted, and everything is uninstalled. Prints the time of each step.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "harness"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tutorials"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from nimops_first_steps.cli import main

sys.exit(main())
