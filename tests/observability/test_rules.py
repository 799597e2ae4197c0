# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The rules of config/monitoring, by promtool, and the page of each alert, without a cluster."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from kubectl_nim.app import make_root
from nimops_programs import build

ROOT = Path(__file__).resolve().parents[2]
RULES = [ROOT / f"config/monitoring/{name}.yaml" for name in ("recording", "alerts")]
CASES = Path(__file__).parent / "rules"
REPOSITORY = yaml.safe_load((ROOT / "release/publisher.yaml").read_text())["repository"]
PAGES = ROOT / "docs/operate/runbooks"
SCRAPE = Path(__file__).parent / "scrapes/operator.prom"
REFERENCE = "metric names should be written in 'snake_case' not 'camelCase'"
"""what promtool says of the names of NVIDIA's NIM Operator"""
SEVERITIES = {"critical", "warning"}


@pytest.fixture(scope="module")
def promtool() -> str:
    return build("promtool")


def read_rules(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(path.read_text())["spec"]
    return loaded


def list_alerts() -> dict[str, dict[str, Any]]:
    rules = [rule for group in read_rules(RULES[1])["groups"] for rule in group["rules"]]
    return {rule["alert"]: rule for rule in rules}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The rules as Prometheus reads them, with the summary only, and the cases beside them."""
    for path in RULES:
        rules = read_rules(path)
        for rule in (rule for group in rules["groups"] for rule in group["rules"]):
            if "annotations" in rule:
                rule["annotations"] = {"summary": rule["annotations"]["summary"]}
        (tmp_path / path.name).write_text(yaml.safe_dump(rules))
    for path in CASES.iterdir():
        (tmp_path / path.name).write_text(path.read_text())
    return tmp_path


def run(*command: str, folder: Path, **settings: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, **settings
    )


def test_rules_are_valid(promtool: str, tmp_path: Path) -> None:
    for path in RULES:
        (tmp_path / path.name).write_text(yaml.safe_dump(read_rules(path)))
    names = [path.name for path in RULES]
    done = run(promtool, "check", "rules", "--lint=all", "--lint-fatal", *names, folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", sorted(path.name for path in CASES.iterdir()))
def test_rules_do_what_the_cases_expect(promtool: str, folder: Path, name: str) -> None:
    done = run(promtool, "test", "rules", name, folder=folder)
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_alert_has_a_case_that_fires_and_one_that_stays_silent() -> None:
    found: dict[str, set[bool]] = {name: set() for name in list_alerts()}
    for path in CASES.iterdir():
        for group in yaml.safe_load(path.read_text())["tests"]:
            for case in group.get("alert_rule_test", []):
                found[case["alertname"]].add(bool(case.get("exp_alerts")))
    assert {name: {False, True} for name in found} == found


def test_each_recorded_series_of_services_has_a_case() -> None:
    text = (CASES / "recording.yml").read_text()
    groups = read_rules(RULES[0])["groups"]
    names = {rule["record"] for group in groups for rule in group["rules"]}
    # Quantiles and windows of the same series differ in a number only.
    stems = {re.sub(r"(:p|ratio_rate)\w+$", r"\1", name) for name in names if "nim_" in name}
    inputs = {"namespace_service:nim_first_tokens:", "namespace_service:nim_first_tokens_in_time:"}
    missing = {stem for stem in stems if stem not in text and not stem.startswith(tuple(inputs))}
    assert not missing


def test_each_alert_has_a_severity_texts_and_its_page() -> None:
    wrong = {}
    for name, rule in list_alerts().items():
        notes = rule["annotations"]
        url = f"{REPOSITORY}/tree/main/{PAGES.relative_to(ROOT)}/{name}.md"
        if not (
            rule["labels"]["severity"] in SEVERITIES
            and notes.keys() == {"summary", "description", "runbook_url"}
            and notes["runbook_url"] == url
        ):
            wrong[name] = rule
    assert not wrong
    pages = {path.stem for path in PAGES.glob("*.md")} - {"README"}
    assert pages == list_alerts().keys()


def test_each_page_has_its_sections() -> None:
    for name in list_alerts():
        headings = re.findall(r"(?m)^#+ .+$", (PAGES / f"{name}.md").read_text())
        assert headings == [f"# {name}", "## Meaning", "## Diagnosis", "## Remedy"], name


def test_index_is_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "hack/generate_monitoring.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def read_commands() -> Iterator[tuple[str, str]]:
    """Page and command of each command in a console or in the text."""
    for path in sorted(PAGES.glob("*.md")):
        for found in re.findall(r"(?m)^\$ (.+)$|`(kubectl [^`]+)`", path.read_text()):
            yield path.stem, next(filter(None, found))


COMMANDS = sorted(set(read_commands()))
OURS = [pair for pair in COMMANDS if pair[1].startswith("kubectl nim ")]
KUBECTL = [pair for pair in COMMANDS if pair not in OURS]


@pytest.mark.parametrize(("page", "command"), OURS)
def test_commands_of_kubectl_nim_parse(page: str, command: str) -> None:
    assert page
    arguments = shlex.split(command)[2:]
    with click.Context(make_root()) as context:
        inner: click.Command | None = context.command
        while isinstance(inner, click.Group):
            _name, inner, arguments = inner.resolve_command(context, arguments)
        assert inner is not None
        values = inner.make_context("nim", arguments, parent=context).params
        for argument in inner.params:
            if "KIND/NAME" in (argument.make_metavar(context) or ""):
                assert all("/" in value for value in values[argument.name or ""])


def test_commands_of_kubectl_parse(tmp_path: Path) -> None:
    """Each is executed against an address where nothing listens: it gets as far as the request."""
    kubectl = build("kubectl")
    config = tmp_path / "config"
    config.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: a\nusers: [{name: a, user: {}}]\n"
        "clusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}]\n"
        "contexts: [{name: a, context: {cluster: a, user: a}}]\n"
    )
    environ = {**os.environ, "KUBECONFIG": str(config)}
    wrong = {}
    for page, command in KUBECTL:
        words = shlex.split(command)
        assert words[0] == "kubectl", page
        done = run(kubectl, *words[1:], "--request-timeout=5s", folder=ROOT, env=environ)
        if "refused" not in done.stderr or "unknown" in done.stderr:
            wrong[page, command] = done.stderr
    assert KUBECTL
    assert not wrong


def test_metrics_of_the_operator_are_well_formed(promtool: str) -> None:
    """Only the names that NVIDIA's NIM Operator chose are not."""
    done = run(promtool, "check", "metrics", folder=ROOT, input=SCRAPE.read_text())
    lines = (done.stdout + done.stderr).splitlines()
    kinds = ("nimCache", "nimPipeline", "nimService")
    assert sorted(lines) == [f"{kind}_status_total {REFERENCE}" for kind in kinds]


def test_the_adapter_offers_the_metric_of_the_sample() -> None:
    """The rule of the document, as prometheus-adapter applies it, on the names that are recorded."""
    page = (ROOT / "docs/operate/monitoring.md").read_text()
    blocks = [yaml.safe_load(text) for text in re.findall(r"(?s)```yaml\n(.*?)```", page)]
    [rule] = next(block["rules"]["custom"] for block in blocks if "rules" in block)
    series = re.fullmatch(r'\{__name__=~"(.+)"\}', rule["seriesQuery"])
    assert series
    groups = read_rules(RULES[0])["groups"]
    names = {rule["record"] for group in groups for rule in group["rules"]}
    found = {name for name in names if re.fullmatch(series[1], name)}
    replacement = rule["name"]["as"].replace("$", "\\")
    offered = {re.sub(rule["name"]["matches"], replacement, name) for name in found}
    sample = yaml.safe_load((ROOT / "config/samples/nimservice_autoscaling.yaml").read_text())
    wanted = {
        item["object"]["metric"]["name"] for item in sample["spec"]["scale"]["hpa"]["metrics"]
    }
    assert wanted <= offered
    assert len(offered) == len(found)


def test_the_monitor_of_the_operator_keeps_the_labels_of_resources() -> None:
    monitor = yaml.safe_load((ROOT / "config/prometheus/monitor.yaml").read_text())
    assert [item["honorLabels"] for item in monitor["spec"]["endpoints"]] == [True]
