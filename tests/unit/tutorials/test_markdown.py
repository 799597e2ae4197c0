# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Blocks, commands and outputs of pages."""

from __future__ import annotations

import pytest
from nimops_tutorials.markdown import (
    Block,
    is_shown,
    read_blocks,
    read_session,
)

PAGE = """# Title

```yaml title="nim.yaml"
kind: A
```

1. In a list:

   ```console
   $ one
   out
   ```

```mermaid
```
"""


def test_read_blocks():
    assert read_blocks(PAGE) == [
        Block("yaml", "nim.yaml", "kind: A\n", 4),
        Block("console", "", "$ one\nout\n", 10),
        Block("mermaid", "", "", 15),
    ]


SESSIONS = {
    "no output": ("$ a\n$ b\n", [("a", ()), ("b", ())]),
    "output": ("$ a\nx\n  y\n$ b\n", [("a", ("x", "  y")), ("b", ())]),
    "continued by a backslash": (
        "$ a \\\n    -b \\\n  -c\nx\n",
        [("a \\\n    -b \\\n  -c", ("x",))],
    ),
    "continued by a prompt": ("$ cat <<E\n> b\n> E\nb\n", [("cat <<E\nb\nE", ("b",))]),
    "a backslash in the output": ("$ a\nx \\\ny\n", [("a", ("x \\", "y"))]),
}


@pytest.mark.parametrize(("text", "expected"), SESSIONS.values(), ids=SESSIONS)
def test_read_session(text, expected):
    commands = read_session(Block("console", "", text, 1))
    assert [(command.text, command.shown) for command in commands] == expected


def test_read_session_without_command():
    with pytest.raises(ValueError, match="line 7: output without a command"):
        read_session(Block("console", "", "out\n", 7))


OUTPUTS = {
    "equal": (["a b", "c"], "a b\nc\n", True),
    "another word": (["a b"], "a c\n", False),
    "a line more": (["a"], "a\nb\n", False),
    "something instead of nothing": ([], "a\n", False),
    "elided within a line": (["llama-…  1/1  …"], "llama-7f-x  1/1  5s\n", True),
    "an elision is in one line": (["a … b"], "a x\ny b\n", False),
    "elided lines": (["a", "…", "d"], "a\nb\nc\nd\n", True),
    "no line to elide": (["a", "…", "d"], "a\nd\n", True),
    "elided lines, and another end": (["a", "…", "d"], "a\nb\nc\n", False),
    "not a pattern": (["a.c*"], "abcc\n", False),
}


@pytest.mark.parametrize(("shown", "output", "expected"), OUTPUTS.values(), ids=OUTPUTS)
def test_is_shown(shown, output, expected):
    assert is_shown(shown, output) is expected
