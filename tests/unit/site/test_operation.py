# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The pages of those who operate have what their sources have, and the written pages agree."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from site_operation import (
    ALERTS,
    Names,
    find_conditions,
    find_metrics,
    find_reasons,
    find_variables,
    make_operation_pages,
    read_metrics,
)

ROOT = Path(__file__).resolve().parents[3]
INTERNAL = {
    "NIMOPS_CHILD_EVENTS": "the supervisor sets it for runs",
    "NIMOPS_COUNTERS": "the supervisor sets it for runs and the proxy",
    "NIMOPS_DEBUG": "for the developers of kubectl nim",
    "NIMOPS_SHARED_ANSWERS": "the supervisor sets it for runs",
}
"""Internal variables, which are not operator settings."""


@pytest.fixture(scope="module")
def names():
    return Names(ROOT / "plugins/module_utils")


def test_variables_are_documented():
    page = (ROOT / "docs/operate/configuration.md").read_text()
    documented = set(re.findall(r"NIMOPS_[A-Z_]*[A-Z]\b", page))
    assert find_variables(ROOT) - INTERNAL.keys() == documented


def test_variables_of_the_deployment_are_documented():
    page = (ROOT / "docs/operate/configuration.md").read_text()
    items = yaml.safe_load_all((ROOT / "config/manager/manager.yaml").read_text())
    [manager] = [item for item in items if item["kind"] == "Deployment"]
    [container] = manager["spec"]["template"]["spec"]["containers"]
    assert [item["name"] for item in container["env"] if f"`{item['name']}`" not in page] == []


def test_metrics_are_documented():
    page = (ROOT / "docs/operate/metrics.md").read_text()
    ours = {name for name, _kind, _text in read_metrics(ROOT) if name.startswith("nimops_")}
    assert ours == set(re.findall(r"`(nimops_[a-z_]+)", page))


def test_find_metrics():
    text = (
        'const late = "a_seconds"\n\t{"a_info", "gauge", "A."},\n'
        '\tout.head(family{late, "histogram", "B."})\n\thead(out, "c_total", "counter", "C.")\n'
        '\t\t{"d_total", "D.", func(of passes) int64 { return 1 }},\n'
    )
    assert find_metrics([text]) == [
        ("a_info", "gauge", "A."),
        ("a_seconds", "histogram", "B."),
        ("c_total", "counter", "C."),
        ("d_total", "counter", "D."),
    ]


def test_each_alert_is_on_its_page():
    page = make_operation_pages(ROOT)["reference/alerts.md"]
    groups = yaml.safe_load((ROOT / ALERTS).read_text())["spec"]["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    assert rules
    for rule in rules:
        assert f"\n### {rule['alert']}\n" in page
        assert rule["expr"].strip() in page


CODE = """
A, B = "First", "Second"
STALE = "Stale"
builder.set_condition(A, True, "Done" if done else B, message)
builder.warn(STALE, "TooOld", message)
builder.stalled = (B, message)
raise NimError("no", reason="NotThere")
builder.set_condition(kind, True, reason)
"""


def test_find_conditions_and_reasons(tmp_path):
    (tmp_path / "_family").mkdir()
    (tmp_path / "_family/status.py").write_text(CODE)
    found = Names(tmp_path)
    assert find_conditions(found) == {"First": {"family"}, "Stale": {"family"}}
    assert set(find_reasons(found)) == {"Done", "Second", "TooOld", "NotThere"}


def test_known_conditions_and_reasons(names):
    assert {"Ready", "Failed", "Error", "Paused", "Renewed"} <= set(find_conditions(names))
    assert {"SecretNotFound", "NoPullerImage", "ScaledToZero"} <= set(find_reasons(names))
