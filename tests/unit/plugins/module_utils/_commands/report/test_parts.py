# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Parts of sections."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.report.parts import (
    DOCUMENTATION,
    badge,
    class_of,
    write_prose,
)

HTML = {
    "text": ("a < b", "a &lt; b"),
    "code": ("set `a<b>` here", "set <code>a&lt;b&gt;</code> here"),
    "page": ("see [x.md](x.md#y)", f'see <a href="{DOCUMENTATION}user/x.md#y" rel="noreferrer">x.md</a>'),
    "another folder": ("[i](../operate/i.md)", f'<a href="{DOCUMENTATION}operate/i.md" rel="noreferrer">i</a>'),
    "same page": (
        "[below](#forbidden)",
        f'<a href="{DOCUMENTATION}user/troubleshooting.md#forbidden" rel="noreferrer">'
        "troubleshooting.md#forbidden</a>",
    ),
    "code in a link": ("[`X=off`](x.md)", f'<a href="{DOCUMENTATION}user/x.md" rel="noreferrer">X=off</a>'),
    "no link": ("[a] (b) `c", "[a] (b) `c"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "html"), HTML.values(), ids=HTML)
def test_prose(text, html):
    assert "".join(write_prose(text)) == html


def test_states():
    assert [class_of(state) for state in ("Ready", "Failed", "NotReady", "", "PVC-Created")] == [
        *("ok", "bad", "warn", "off", "info"),
    ]
    assert badge("") == '<span class="badge off">unknown</span>'
    assert badge("Ready", "3 Ready") == '<span class="badge ok">3 Ready</span>'
