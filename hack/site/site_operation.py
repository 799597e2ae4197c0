# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Pages of the reference: metrics, alerts, and conditions with their reasons."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
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
_REASON = re.compile(r"[A-Z][A-Za-z0-9]+[a-z]")

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


class Names:
    """The texts of constants in a folder of Python sources, by module and name."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.trees = {path: ast.parse(path.read_text()) for path in sorted(folder.rglob("*.py"))}
        self._constants = {path: dict(_assigned(tree)) for path, tree in self.trees.items()}
        self._all: dict[str, set[str]] = defaultdict(set)
        for found in self._constants.values():
            for name, value in found.items():
                self._all[name].add(value)

    def texts_of(self, node: ast.expr, path: Path) -> list[str]:
        """The texts that an expression can be, as far as they are constants."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return [node.value]
        if isinstance(node, ast.IfExp):
            return [*self.texts_of(node.body, path), *self.texts_of(node.orelse, path)]
        if isinstance(node, ast.BoolOp):
            return [text for value in node.values for text in self.texts_of(value, path)]
        if isinstance(node, ast.Name):
            own = self._constants[path].get(node.id)
            known = self._all.get(node.id, set())
            return [own] if own else sorted(known) if len(known) == 1 else []
        return []


def _assigned(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in tree.body:
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            pairs = [(target, node.value)]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(target.elts, node.value.elts, strict=False))
            for name, value in pairs:
                if isinstance(name, ast.Name) and isinstance(value, ast.Constant):
                    yield name.id, str(value.value)


def find_conditions(names: Names) -> dict[str, set[str]]:
    """Return the types of conditions that the code sets, and the parts that set them."""
    found: dict[str, set[str]] = defaultdict(set)
    for path, call in _calls(names):
        name = getattr(call.func, "attr", getattr(call.func, "id", ""))
        position = {"set_condition": 0, "warn": 0, "fail": 0, "condition": 0, "_choose": 2}
        if name in position and len(call.args) > position[name] + 1:
            for text in names.texts_of(call.args[position[name]], path):
                if re.fullmatch(r"[A-Z][A-Za-z_]+", text):
                    found[text].add(_part(names.folder, path))
    return found


def find_reasons(names: Names) -> dict[str, set[str]]:
    """Return the reasons of conditions that the code names, and the parts that name them."""
    found: dict[str, set[str]] = defaultdict(set)
    for path, call in _calls(names):
        name = getattr(call.func, "attr", getattr(call.func, "id", ""))
        given = [item.value for item in call.keywords if item.arg in ("reason", "waiting_reason")]
        if name in ("set_condition", "_choose") and len(call.args) > 2:
            given.append(call.args[-2] if name == "_choose" else call.args[2])
        if name == "warn" and len(call.args) > 2:
            given.append(call.args[1])
        if name in ("Verdict", "Missing") and len(call.args) > 1:
            given.append(call.args[1])
        for node in given:
            _add(found, names, node, path)
    for path, tree in names.trees.items():
        for item in ast.walk(tree):
            if isinstance(item, ast.Assign) and isinstance(item.value, ast.Tuple):
                [target, *_more] = item.targets
                if getattr(target, "attr", "") in ("stalled", "reconciling") and item.value.elts:
                    _add(found, names, item.value.elts[0], path)
    return found


def _add(found: dict[str, set[str]], names: Names, node: ast.expr, path: Path) -> None:
    for text in names.texts_of(node, path):
        if _REASON.fullmatch(text):
            found[text].add(_part(names.folder, path))


def _calls(names: Names) -> Iterator[tuple[Path, ast.Call]]:
    for path, tree in names.trees.items():
        if "_commands" not in path.parts:
            for node in ast.walk(tree):
                if isinstance(node, ast.Call):
                    yield path, node


def _part(folder: Path, path: Path) -> str:
    return "/".join(part.strip("_") for part in path.relative_to(folder).parts[:-1])


def write_conditions(names: Names) -> str:
    """Return the page of types and reasons of conditions."""
    text = (
        "# Conditions and reasons\n\n[Troubleshooting](../user/troubleshooting.md) has the reasons"
        " with their fixes.\n"
    )
    types = {"Reconciling": {"engine"}, "Stalled": {"engine"}, **find_conditions(names)}
    parts = (("type", types), ("reason", find_reasons(names)))
    for what, found in parts:
        rows = [
            (code(name), ", ".join(code(part) for part in sorted(found[name])))
            for name in sorted(found, key=str.lower)
        ]
        text += f"\n## {what.capitalize()}s\n\n{table((what, 'set by'), rows)}"
    return text


def make_operation_pages(root: Path) -> dict[str, str]:
    """Return the pages of a checkout."""
    return {
        "reference/metrics.md": write_metrics(read_metrics(root)),
        "reference/alerts.md": write_alerts(yaml.safe_load((root / ALERTS).read_text())),
        "reference/conditions.md": write_conditions(Names(root / "plugins/module_utils")),
    }
