# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The navigation of the site: `folder/*` stands for the pages of a folder that it does not name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

INDEX = "README.md"


def expand_nav(nav: list[Any], pages: Iterable[str]) -> list[Any]:
    """Return the navigation with a page in the place of each that a pattern stands for."""
    known = sorted(pages)
    return _expand(nav, known, set(_named(nav)))


def _named(nav: list[Any]) -> Iterator[str]:
    for item in nav:
        if isinstance(item, dict):
            for below in item.values():
                yield from _named(below) if isinstance(below, list) else [below]
        else:
            yield item


def _expand(nav: list[Any], pages: list[str], named: set[str]) -> list[Any]:
    found: list[Any] = []
    for item in nav:
        if isinstance(item, dict):
            found += [
                {
                    title: _expand(below, pages, named) if isinstance(below, list) else below
                    for title, below in item.items()
                }
            ]
        elif item.endswith("/*"):
            folder = item.removesuffix("*")
            inside = [
                page
                for page in pages
                if page.startswith(folder)
                and "/" not in page.removeprefix(folder)
                and page not in named
            ]
            found += sorted(inside, key=lambda page: (not page.endswith(f"/{INDEX}"), page))
        else:
            found.append(item)
    return found
