# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""No credential is left in a report."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.gather.redact import Redactor
from ansible_collections.nimops.nim.plugins.module_utils._commands.report.page import write_page
from ansible_collections.nimops.nim.plugins.module_utils._commands.report.redacted import (
    redact_report,
)

SECRET = "S3cr3tW0rd99"


def test_all_texts_are_redacted(make_report):
    """Wherever a text of a cluster is in a report."""
    learned = Redactor()
    learned.learn({"password": SECRET})
    text = f"{SECRET} nvapi-abcdefgh1234567890"
    found = repr(redact_report(make_report(text), learned))
    assert SECRET not in found
    assert "nvapi-" not in found
    assert repr(make_report("x")) == repr(redact_report(make_report("x"), learned))


CASES = runpy.run_path(str(Path(__file__).parents[1] / "gather/test_redact.py"))


@pytest.mark.parametrize("text", CASES["TEXTS"].values(), ids=CASES["TEXTS"])
def test_cases_of_gather(text, make_report):
    html = write_page(redact_report(make_report(f"kept\n{text}\n"), Redactor()))
    assert CASES["SECRET"] not in html
