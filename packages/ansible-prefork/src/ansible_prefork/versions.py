# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The versions whose internals this package supports."""

from __future__ import annotations

import importlib.metadata

ANSIBLE_CORE = ((2, 18), (2, 21))
ANSIBLE_RUNNER = ((2, 4), (2, 4))


def explain_unknown(distribution: str, known: tuple[tuple[int, int], tuple[int, int]]) -> str | None:
    """The reason why the installed version of a distribution is not supported, or None."""
    try:
        version = importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return f"{distribution} is not installed beside prefork"
    first, last = known
    try:
        major, minor = (int(part) for part in version.split(".")[:2])
    except ValueError:
        return f"{distribution} {version} is not a version that prefork knows"
    if first <= (major, minor) <= last:
        return None
    span = f"{first[0]}.{first[1]} to {last[0]}.{last[1]}" if first != last else f"{first[0]}.{first[1]}"
    return f"{distribution} {version} is not a version that prefork knows ({span})"
