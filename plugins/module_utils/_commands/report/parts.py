# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Parts of which the sections of a report consist."""

from __future__ import annotations

import re
import typing as t
from posixpath import normpath

from .advice import Advice
from .markup import Content, Markup, tag, write

DOCUMENTATION = "https://github.com/nimops/nim/blob/main/docs/"
_PAGE = "troubleshooting.md"
_PROSE = re.compile(r"`([^`]+)`|\[([^\]]+)\]\(([^)\s]+)\)")
_CLASSES = {
    "Ready": "ok",
    "Failed": "bad",
    "NotReady": "warn",
    "Waiting": "warn",
    "Bound": "ok",
    "Lost": "bad",
    "create": "ok",
    "change": "info",
    "adopt": "info",
    "delete": "bad",
    "Off": "off",
    "Terminating": "off",
    "": "off",
}


def class_of(state: str) -> str:
    """The CSS class of a state; one that is not known is in progress."""
    return _CLASSES.get(state, "info")


def badge(text: str, shown: str = "") -> Markup:
    """A state; ``shown``: another text for it."""
    return tag("span", shown or text or "unknown", class_=f"badge {class_of(text)}")


def section(key: str, title: str, *content: Content) -> Markup:
    """A section with a heading; ``key``: its id."""
    heading = tag("h2", title, id=f"{key}-title")
    return tag("section", heading, content, id=key, aria_labelledby=f"{key}-title")


def group(name: str, counts: Content, *content: Content, is_open: bool) -> Markup:
    """Details that the filter can hide, with a name."""
    summary = tag("summary", tag("h3", name, data_name=True), " ", counts)
    return tag("details", summary, content, data_group=True, open=is_open)


def table(columns: t.Sequence[str], rows: t.Iterable[Markup]) -> Markup:
    """A table; each row is an element `tr`."""
    head = tag("thead", tag("tr", [tag("th", name, scope="col") for name in columns]))
    return tag("div", tag("table", head, tag("tbody", rows)), class_="scroll")


def row(*cells: Content, is_problem: bool = False) -> Markup:
    """A row that the filter can hide."""
    shown = [tag("td", cell if cell else "-") for cell in cells]
    return tag("tr", shown, data_item=True, data_problem=is_problem)


def show_advice(rows: t.Iterable[Advice]) -> list[Markup]:
    """Advice: the meaning, and the fix."""
    found = []
    for item in rows:
        meaning = tag("p", write_prose(item.meaning)) if item.meaning else None
        fix = tag("p", tag("strong", "Fix: "), write_prose(item.fix)) if item.fix else None
        if meaning or fix:
            found.append(tag("div", meaning, fix, class_="advice"))
    return found


def write_prose(text: str) -> list[Markup]:
    """Markdown of our documentation: code, and links to its pages."""
    found: list[Markup] = []
    end = 0
    for match in _PROSE.finditer(text):
        found.append(write(text[end : match.start()]))
        end = match.end()
        code, label, url = match.groups()
        found.append(tag("code", code) if code else _link(label, url))
    return [*found, write(text[end:])]


def _link(label: str, url: str) -> Markup:
    if url.startswith("#"):
        label, url = f"{_PAGE}{url}", f"{_PAGE}{url}"
    path, _hash, anchor = url.partition("#")
    target = DOCUMENTATION + normpath(f"user/{path}") + (f"#{anchor}" if anchor else "")
    return tag("a", label.replace("`", ""), href=target, rel="noreferrer")
