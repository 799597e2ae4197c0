# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Entry of `python3 hack/image`: see nimops_image.cli."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "sandbox"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "release"))

from nimops_image.cli import main

sys.exit(main())
