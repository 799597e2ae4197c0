# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The commands of a page."""

from __future__ import annotations

import re

import pytest
from nimops_first_steps.page import read_steps
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


def test_read_steps():
    steps = read_steps(PAGE, "Steps")
    assert steps.commands == ("one --flag value", 'two "#3"')
    assert steps.manifest == "kind: A\n"


@pytest.mark.parametrize(
    ("title", "text"),
    [("Missing", "no section 'Missing'"), ("Before", "YAML once"), ("After", "must have commands")],
)
def test_read_steps_invalid(title, text):
    with pytest.raises(HarnessError, match=re.escape(text)):
        read_steps(PAGE, title)
