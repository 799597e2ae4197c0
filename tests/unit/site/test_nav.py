# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from site_nav import expand_nav

PAGES = ["README.md", "a/b.md", "a/README.md", "a/c.md", "a/d/e.md"]


def test_expand_nav():
    """The index of a folder comes first; pages that are named elsewhere are left out."""
    nav = ["README.md", {"A": ["a/*", {"D": ["a/d/*"]}]}, {"First": "a/c.md"}]
    assert expand_nav(nav, PAGES) == [
        "README.md",
        {"A": ["a/README.md", "a/b.md", {"D": ["a/d/e.md"]}]},
        {"First": "a/c.md"},
    ]
