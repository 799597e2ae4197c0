# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Entry of `make fuzz`: see nimops_fuzz.cli."""

from __future__ import annotations

import sys

from nimops_fuzz.cli import main

sys.exit(main())
