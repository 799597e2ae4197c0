# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The pages of those who operate have what their sources have, and the written pages agree."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import site_operation
import yaml
from site_operation import (
    ALERTS,
    find_conditions,
    find_events,
    find_metrics,
    find_reasons,
    find_variables,
    make_operation_pages,
    read_flow,
    read_metrics,
)

ROOT = Path(__file__).resolve().parents[3]
INTERNAL = {
    "NIMOPS_CHILD_EVENTS": "the supervisor sets it for runs",
    "NIMOPS_COUNTERS": "the supervisor sets it for runs and the proxy",
    "NIMOPS_DEBUG": "for the developers of kubectl nim",
    "NIMOPS_OBJECTS_PATH": "the supervisor sets it for runs",
    "NIMOPS_SHARED_ANSWERS": "the supervisor sets it for runs",
}
"""Internal variables, which are not operator settings."""


@pytest.fixture(scope="module")
def flow():
    return read_flow(ROOT)


@pytest.fixture(scope="module")
def pages(flow):
    """The pages. Their flow, two seconds of CPU, is that of the other tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(site_operation, "read_flow", lambda _root: flow)
        return make_operation_pages(ROOT)


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


def test_each_alert_is_on_its_page(pages):
    page = pages["reference/alerts.md"]
    groups = yaml.safe_load((ROOT / ALERTS).read_text())["spec"]["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    assert rules
    for rule in rules:
        assert f"\n### {rule['alert']}\n" in page
        assert rule["expr"].strip() in page


_ROW = re.compile(r"(?m)^\|.*")
_NAME = re.compile(r"`([A-Z][A-Za-z0-9]+)`")


_EXPECTED = re.compile(r'\("(?:True|False)",\s*"([A-Z][A-Za-z]+)"')
_WAITED = re.compile(r"""(?:reason == ['"]|'reason', 'equalto', '|reason=)([A-Z][A-Za-z]+)\b""")
FOREIGN = {
    "AllGroupsReady": "LeaderWorkerSet",
    "FailedCreatePodSandBox": "an event of the kubelet",
    "InvalidKind": "a Gateway",
    "Pulled": "an event of the kubelet",
    "ResolvedRefs": "a Gateway",
}
"""Reasons in scenarios that other programs report."""


def find_explained():
    """The reasons in tables of the user documentation."""
    texts = (path.read_text() for path in sorted((ROOT / "docs/user").rglob("*.md")))
    return {name for text in texts for row in _ROW.findall(text) for name in _NAME.findall(row)}


def test_each_place_is_followed(flow):
    """A reason that is made in a new way fails here: extend Flow, or name the reason."""
    find_reasons(flow), find_conditions(flow), find_events(flow)
    assert flow.unknown == set()


def test_each_reason_is_explained(flow):
    explained = find_explained()
    assert sorted(find_reasons(flow).keys() - explained) == []


def test_each_warning_is_explained(flow):
    explained = find_explained()
    found = {reason for reason, kind, _part in find_events(flow) if kind == "Warning"}
    assert sorted(found - explained) == []


def test_expected_reasons_are_known(flow):
    """The reasons in tests of status, and in scenarios."""
    reasons = find_reasons(flow).keys()
    tests = [path.read_text() for path in (ROOT / "tests/unit/plugins").rglob("*.py")]
    expected = {name for text in tests for name in _EXPECTED.findall(text)}
    assert len(expected) > 30
    assert sorted(expected - reasons) == []
    scenarios = [path.read_text() for path in (ROOT / "molecule").rglob("*.yml")]
    waited = {name for text in scenarios for name in _WAITED.findall(text)}
    assert len(waited) > 5
    events = {reason for reason, _kind, _part in find_events(flow)}
    assert sorted(waited - reasons - events - FOREIGN.keys()) == []


def test_conditions_have_one_source(flow):
    """All conditions and events are made by the function and the class that Flow begins with."""
    for path in sorted(flow.folder.rglob("*.py")):
        if "_commands" not in path.parts and path.name not in ("conditions.py", "status_writer.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                keys = {getattr(key, "value", "") for key in getattr(node, "keys", None) or ()}
                assert not {"type", "status", "reason"} <= keys, path


def test_known_conditions_and_reasons(flow):
    types, reasons = find_conditions(flow), find_reasons(flow)
    assert {"Ready", "Failed", "Error", "Paused", "Renewed", "Reconciling"} <= set(types)
    assert {"SecretNotFound", "NIMCacheTooLarge", "ServiceMonitorFailed", "Retrying"} <= set(
        reasons
    )
    assert "HorizontalPodAutoscalerFailed" not in reasons  # HPAFailed


def test_pages_have_them(flow, pages):
    for reason in find_reasons(flow):
        assert f"| `{reason}` |" in pages["reference/conditions.md"]
    assert "| `SharedClaim` | Warning | `nim/service` |" in pages["reference/events.md"]
