# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Sections of a report: large fleets stay readable."""

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._commands.report.page import write_page
from ansible_collections.nimops.nim.plugins.module_utils._commands.report.sections import (
    write_pipelines,
)


def test_large_fleets_are_grouped(make_report, make_line):
    small = write_page(make_report(lines=[make_line(number) for number in range(20)]))
    large = write_page(make_report(lines=[make_line(number) for number in range(200)]))
    fleet = [html[html.index('id="fleet"') : html.index('id="gpus"')] for html in (small, large)]
    assert [text.count("<details data-group open>") for text in fleet] == [20, 0]
    assert fleet[1].count("<details data-group>") == 20


def test_problems_have_advice_once(make_report, make_line):
    lines = [
        make_line(number, reason="NIMCacheNotFound", state="Failed", message="no cache")
        for number in range(30)
    ]
    html = write_page(make_report(lines=lines))
    problems = html[html.index('id="problems"') : html.index('id="fleet"')]
    assert problems.count("no such NIMCache in the namespace") == 1
    assert "NIMService: NIMCacheNotFound (30)" in problems
    assert problems.count("no cache") == 30


def test_no_section_without_pipelines():
    assert write_pipelines(()) is None
