# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Private keys that are generated only when their Secret is written.

Plans, diffs and rendered files never contain one: `generate_keys` inserts it just before the write.
"""

from __future__ import annotations

GENERATED_KEY = "<generated>"
"""Placeholder in `data` for a 2048-bit RSA key in PEM (PKCS#1).

It is not valid base64, so the API server refuses a Secret that still contains it.
"""
