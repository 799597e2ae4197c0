# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The parts of image references."""

from __future__ import annotations

import re

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base import image_reference as parts


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        (parts.REGISTRY, "registry.example.com:5000", True),
        (parts.REGISTRY, "10.89.0.1", True),
        (parts.REGISTRY, "-a.example", False),
        (parts.REGISTRY, "me@a.example", False),
        (parts.REPOSITORY, "a/b.c/d__e/f--g", True),
        (parts.REPOSITORY, "a//b", False),
        (parts.REPOSITORY, "a/../b", False),
        (parts.REPOSITORY, "A", False),
        (parts.REPOSITORY, "a_", False),
        (parts.TAG, "1.0-rc.1_x", True),
        (parts.TAG, "a" * 129, False),
        (parts.TAG, "-1", False),
        (parts.DIGEST, "sha256:" + "0" * 64, True),
        (parts.DIGEST, "sha256:" + "0" * 63, False),
    ],
)
def test_patterns(pattern: str, text: str, matches: bool) -> None:
    assert bool(re.compile(pattern, re.ASCII).fullmatch(text)) is matches
