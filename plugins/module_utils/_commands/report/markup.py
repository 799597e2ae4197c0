# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""HTML as a value: every text is escaped unless it is `Markup`, which only this module makes.

Text of a cluster becomes neither an element, nor an attribute, nor a link.
"""

from __future__ import annotations

import typing as t
from html import escape

from ..._base.printable import printable_lines

_VOID = {"input", "link", "meta"}


class Markup(str):
    """HTML that needs no escaping."""

    __slots__ = ()


Content = t.Union[str, None, t.Iterable["Content"]]  # noqa: UP007 pylint does not know X | Y
"""Text, markup, or several of them; None is left out."""


def write(content: Content) -> Markup:
    """The content as HTML: text without control characters, and escaped."""
    if isinstance(content, Markup):
        return content
    if content is None:
        return Markup()
    if isinstance(content, str):
        return Markup(escape(_clean(content)))
    return Markup("".join(map(write, content)))


def tag(element: str, *content: Content, **attributes: str | bool | None) -> Markup:
    """An element. An underscore after an attribute's name is removed, others become dashes.

    True writes an attribute without a value; False, None and an empty text write nothing.
    """
    head = "".join(_write_attribute(key, value) for key, value in attributes.items())
    end = "" if element in _VOID else f"{write(content)}</{element}>"
    return Markup(f"<{element}{head}>{end}")


def raw_text(name: str, text: str, **attributes: str) -> Markup:
    """A `style` or `script` element with a text of ours; ValueError if the text would end it."""
    if "</" in text or "<!--" in text:
        raise ValueError(f"the text of <{name}> contains markup")
    head = "".join(_write_attribute(key, value) for key, value in attributes.items())
    return Markup(f"<{name}{head}>{text}</{name}>")


def _write_attribute(key: str, value: str | bool | None) -> str:
    name = key.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    return f' {name}="{escape(_clean(value))}"' if value else ""


def _clean(text: str) -> str:
    return text if text.isprintable() else printable_lines(text)
