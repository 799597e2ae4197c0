# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Pages of the reference: metrics, alerts, and conditions with their reasons."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from site_flow import Flow
from site_markdown import cell, code, table

PROXY = "packages/nimops-apiproxy/internal"
ALERTS = "config/monitoring/alerts.yaml"
VARIABLE_PLACES = ("plugins", "playbooks", "roles", "packages", "config/manager", "hack/image")
_NAME = r'(?:"(?P<name>[A-Za-z_]+)"|(?P<constant>[A-Za-z]\w*))'
_FAMILY = re.compile(
    rf"(?:family\{{|head\(out, |\t\{{){_NAME}, "
    r'"(?P<kind>gauge|counter|histogram)", "(?P<help>[^"]+)"'
)
_COUNTER = re.compile(r'\{"(?P<name>[a-z_]+_total)", "(?P<help>[^"]+)", func')
_CONSTANT = re.compile(r'(?m)^(?:const )?\t?(\w+)\s*=\s*"([a-z_]+)"$')
_VARIABLE = re.compile(r"\bNIMOPS_[A-Z_]*[A-Z]\b")
_REASON = re.compile(r"[A-Z][A-Za-z0-9]+")
_CONDITION = ("_engine/conditions.py", "condition")
"""The function that makes each condition."""
_EVENT = ("_engine/desired.py", "Event")
"""The class of each event."""
_VERDICT, _JUDGED = "_builders/verdict.py", ("nemo", "nim/service")
"""The reasons of refused objects, by kind, and the kinds that have them."""

Metric = tuple[str, str, str]
"""name, type and help text"""


# Metrics and alerts


def find_metrics(texts: Iterable[str]) -> list[Metric]:
    """Return the metrics that Go sources describe, by name."""
    joined = "\n".join(texts)
    names = dict(_CONSTANT.findall(joined))
    found = {}
    for match in _FAMILY.finditer(joined):
        if name := match["name"] or names.get(match["constant"]):
            found[name] = (name, match["kind"], match["help"])
    for match in _COUNTER.finditer(joined):
        found[match["name"]] = (match["name"], "counter", match["help"])
    return [found[name] for name in sorted(found)]


def read_metrics(root: Path) -> list[Metric]:
    """Return the metrics that nimops-apiproxy adds."""
    paths = sorted((root / PROXY).rglob("*.go"))
    return find_metrics(path.read_text() for path in paths if not path.stem.endswith("_test"))


def write_metrics(metrics: Iterable[Metric]) -> str:
    """Return the page of metrics."""
    rows = [(code(name), kind, cell(text)) for name, kind, text in metrics]
    return (
        "# Metrics with help texts\n\nnimops-apiproxy adds these metrics to those of the runtime."
        " [Metrics](../operate/metrics.md) has their labels, and the metrics of others.\n\n"
        + table(("metric", "type", "help"), rows)
    )


def write_alerts(rules: Mapping[str, Any]) -> str:
    """Return the page of alerts with their expressions. ``rules``: a PrometheusRule."""
    link = "[Runbooks](../operate/runbooks/README.md)"
    text = f"# Alerts with expressions\n\n{link} have what to do.\n"
    for group in rules["spec"]["groups"]:
        text += f"\n## {group['name']}\n"
        for rule in group["rules"]:
            name = rule["alert"]
            text += (
                f"\n### {name}\n\n{rule['labels']['severity']}, after {rule.get('for', '0s')};"
                f" [runbook](../operate/runbooks/{name}.md)\n\n"
                f"```promql\n{rule['expr'].strip()}\n```\n"
            )
    return text


# Environment


def find_variables(root: Path) -> set[str]:
    """Return the variables NIMOPS_… that code, tasks or manifests name."""
    return {
        name
        for place in VARIABLE_PLACES
        for path in (root / place).rglob("*")
        if path.suffix in (".py", ".go", ".yml", ".yaml", ".sh")
        and not path.stem.endswith("_test")
        and "tests" not in path.parts
        for name in _VARIABLE.findall(path.read_text())
    }


# Conditions and reasons


def read_flow(root: Path) -> Flow:
    """Return the sources of the operator; the commands of users report no conditions.

    The API server can refuse each kind of object that a kind with a verdict writes. A state is one
    that the same folder sets.
    """
    flow = Flow(root / "plugins/module_utils", without="_commands")
    access = flow.find_texts("_engine/kind.py", "Access", "uses", "kind")
    written = {kind for uses, kind, part in access if "write" in uses and part.startswith(_JUDGED)}
    for name in ("_REASONS", "_OTHERS"):
        written -= flow.find_items(_VERDICT, name)
    flow.given["Refusal", "kind"] = lambda _part: written
    states = flow.find_texts("_engine/status_builder.py", "set_field", "value", key="state")
    flow.given["StatusBuilder", "state"] = lambda part: [
        state
        for state, setter in states
        if part == setter or (part == "engine" and setter.startswith("nim/"))
    ]
    flow.unknown.clear()
    return flow


def find_conditions(flow: Flow) -> dict[str, set[str]]:
    """Return the types of conditions that the code sets, and the parts that set them."""
    return _by_name(flow.find_texts(*_CONDITION, "kind"))


def find_reasons(flow: Flow) -> dict[str, set[str]]:
    """Return the reasons of conditions that the code sets, and the parts that name them."""
    found = flow.find_texts(*_CONDITION, "reason")
    return _by_name(row for row in found if _REASON.fullmatch(row[0]))


def find_events(flow: Flow) -> list[tuple[str, str, str]]:
    """Return reason, type and part of each event that the code reports."""
    found = flow.find_texts(*_EVENT, "kind", "reason")
    return sorted(
        ((reason, kind, part) for kind, reason, part in found),
        key=lambda row: (row[0].lower(), row),
    )


def _by_name(rows: Iterable[tuple[str, ...]]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for name, part in rows:
        found[name].add(part)
    return found


def write_conditions(flow: Flow) -> str:
    """Return the page of types and reasons of conditions."""
    text = (
        "# Conditions and reasons\n\n[Troubleshooting](../user/troubleshooting.md) has the reasons"
        " with their fixes.\n"
    )
    parts = (("type", find_conditions(flow)), ("reason", find_reasons(flow)))
    for what, found in parts:
        rows = [
            (code(name), ", ".join(code(part) for part in sorted(found[name])))
            for name in sorted(found, key=str.lower)
        ]
        text += f"\n## {what.capitalize()}s\n\n{table((what, 'set by'), rows)}"
    return text


def write_events(flow: Flow) -> str:
    """Return the page of events."""
    rows = [(code(reason), kind, code(part)) for reason, kind, part in find_events(flow)]
    return (
        "# Events\n\nThe reasons of events on custom resources, and the part of the operator that"
        " names them. An event also repeats the reason of a condition when it changes:"
        " [troubleshooting](../user/troubleshooting.md) has the reasons with their fixes.\n\n"
        + table(("reason", "type", "named by"), rows)
    )


def make_operation_pages(root: Path) -> dict[str, str]:
    """Return the pages of a checkout."""
    flow = read_flow(root)
    return {
        "reference/metrics.md": write_metrics(read_metrics(root)),
        "reference/alerts.md": write_alerts(yaml.safe_load((root / ALERTS).read_text())),
        "reference/conditions.md": write_conditions(flow),
        "reference/events.md": write_events(flow),
    }
