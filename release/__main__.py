# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Entry point of `python3 release`: see nimops_release.cli."""

from __future__ import annotations

import sys

from nimops_release.cli import main

sys.exit(main())
