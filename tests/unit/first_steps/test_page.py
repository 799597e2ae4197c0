# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The commands of a page."""

from __future__ import annotations

import re

import pytest
from nimops_first_steps.page import read_section, split_commands
from nimops_harness.errors import HarnessError

PAGE = """# Title

## Before

```sh
no
```

## Steps

```sh
one --flag \\
  value      # a comment
# another
two "#3"
```

```yaml
kind: A
```

## After

```yaml
kind: B
```
"""


def test_read_section():
    section = read_section(PAGE, "Steps")
    assert section.commands == ("one --flag value", 'two "#3"')
    assert section.manifest == "kind: A\n"


@pytest.mark.parametrize(
    ("title", "text"),
    [("Missing", "no section 'Missing'"), ("Before", "YAML once"), ("After", "must have commands")],
)
def test_read_section_invalid(title, text):
    with pytest.raises(HarnessError, match=re.escape(text)):
        read_section(PAGE, title)


def test_split_commands_blank():
    assert split_commands("\n# only a comment\n") == []
