# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The script finds the elements of the page; tests/observability runs it in Chromium."""

from __future__ import annotations

import re

from ansible_collections.nimops.nim.plugins.module_utils._commands.report.page import write_page
from ansible_collections.nimops.nim.plugins.module_utils._commands.report.script import SCRIPT


def test_elements_of_the_script(make_report):
    html = write_page(make_report())
    names = re.findall(r'getElementById\("(\w+)"\)', SCRIPT)
    assert len(names) == len(set(names)) == 6
    assert not [name for name in names if f' id="{name}"' not in html]
    attributes = set(re.findall(r"\[(data-\w+)\]", SCRIPT)) | {"data-problem"}
    assert not [name for name in attributes if f" {name}" not in html]
