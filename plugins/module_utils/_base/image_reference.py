# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The parts of image references, as patterns for `re` with `re.ASCII`."""

from __future__ import annotations

REGISTRY = r"[a-z\d][a-z\d.-]*(?::\d{1,5})?"
"""The host of a registry, with a port if there is one."""
REPOSITORY = r"[a-z\d]+(?:(?:[./]|__?|-+)[a-z\d]+)*"
TAG = r"\w[\w.-]{0,127}"
DIGEST = r"sha256:[0-9a-f]{64}"
