# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Private keys that are made only when the Secret that holds them is written.

What is planned, shown and rendered to files never holds one: `generate_keys` of the boundary puts
it in at the last moment.
"""

from __future__ import annotations

GENERATED_KEY = "<generated>"
"""Stands in `data` for an RSA key of 2048 bits in PEM (PKCS#1).

It is no base64, so a Secret in which it still stands is refused by the API server.
"""
