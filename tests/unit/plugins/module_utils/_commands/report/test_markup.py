# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""HTML is made of text and elements."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.report.markup import (
    Markup,
    raw_text,
    tag,
    write,
)

PARTS = {
    "text": ("a < b", "a &lt; b"),
    "quotes": ("\"'", "&quot;&#x27;"),
    "nothing": (None, ""),
    "several": (["a", tag("b", "c"), None, ("<",)], "a<b>c</b>&lt;"),
    "control characters": ("a\x00\x1b[2Jb\u202ec\td", "abc\td"),
    "a lone surrogate": ("a\ud800b", "ab"),
    "markup as text": (str(tag("b")), "&lt;b&gt;&lt;/b&gt;"),
}


@pytest.mark.parametrize(("content", "html"), PARTS.values(), ids=PARTS)
def test_write(content, html):
    assert write(content) == html
    assert isinstance(write(content), Markup)


def test_tag():
    assert tag("p", "a", class_="x", aria_label='"<', hidden=True, open=False, id="") == (
        '<p class="x" aria-label="&quot;&lt;" hidden>a</p>'
    )
    assert tag("input", id="a") == '<input id="a">'
    assert tag("tr", (tag("td", cell) for cell in "ab")) == "<tr><td>a</td><td>b</td></tr>"


def test_joined_markup_is_text_again():
    """Only this module makes markup: an operation of `str` yields a text, which is escaped."""
    assert write(tag("b") + "<script>") == "&lt;b&gt;&lt;/b&gt;&lt;script&gt;"
    assert write(f"{tag('b')}") == "&lt;b&gt;&lt;/b&gt;"


@pytest.mark.parametrize("text", ["</style>", "a</script", "<!--"])
def test_raw_text_ends_nothing(text):
    with pytest.raises(ValueError, match="contains markup"):
        raw_text("style", text)
