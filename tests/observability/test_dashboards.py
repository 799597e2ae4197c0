# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Every query of every panel and variable returns data on a real Prometheus with scrapes and rules.

scrapes/operator.prom was recorded from a running operator. What others serve is in exporters.yaml:
names, labels and bounds as their sources document them, with made values.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from nimops_exporters import attach, read_exporters, read_recorded, write
from nimops_programs import build
from nimops_prometheus import Prometheus, run_prometheus, wait_for

ROOT = Path(__file__).resolve().parents[2]
MONITORING = ROOT / "config/monitoring"
BOARDS = {
    path.stem: json.loads(path.read_text())
    for path in sorted((MONITORING / "dashboards").glob("*.json"))
}
RULES = ("recording", "alerts")
NAMESPACE, NAME = "gitops", "llm"
"""of the operator that was recorded"""
EXPORTERS = read_exporters()
SERVERS = ("vllm", "nim", "trtllm", "triton", "triton-trtllm")
"""The columns of the table of series in the document; the last two share one."""
CHOICES = {"namespace": NAMESPACE, "service": NAME, "node": "gpu-1", "job": "nimops-metrics"}
OPERATOR = {"namespace": "nimops-system", "job": "nimops-metrics", "pod": "nimops-1"}
STEP, BEFORE = 15, 900
"""seconds: between samples, and how long they reach into the past. Rules write only what is newer."""
IS_COUNTER = re.compile(r"(_total|_bucket|_count|_sum|_success|_failure)$")


def service_of(exporter: str) -> str:
    """The Service of a model server; the newest vLLM is behind the one that dashboards show."""
    return NAME if exporter == "vllm" else exporter


def list_samples() -> Iterator[tuple[str, dict[str, str], float]]:
    """All scrapes, as Prometheus stores them."""
    for sample in read_recorded("operator"):
        yield attach(sample, OPERATOR, honor=True)
    for exporter in EXPORTERS:
        service = service_of(exporter.name)
        target = {"namespace": NAMESPACE, "service": service, "job": service, "pod": f"{service}-1"}
        for sample in exporter.samples():
            yield attach(sample, target, exporter.honor)


def write_history(path: Path, now: int) -> None:
    """Write the scrapes as OpenMetrics, each repeated; counters grow by a tenth each time."""
    series: dict[str, list[str]] = {}
    for sample in list_samples():
        metric, _labels, value = sample
        for at in range(now - BEFORE, now, STEP):
            grown = value * (1 + (at - now + BEFORE) / STEP / 10)
            shown = grown if IS_COUNTER.search(metric) else value
            series.setdefault(metric, []).append(write(sample, shown, at))
    # The samples of a metric stay together.
    lines = [line for name in sorted(series) for line in series[name]]
    path.write_text("\n".join([*lines, "# EOF", ""]))


def read_rules(name: str) -> dict[str, Any]:
    rules: dict[str, Any] = yaml.safe_load((MONITORING / f"{name}.yaml").read_text())["spec"]
    return rules


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """A Prometheus with the history, which has evaluated the rules three times."""
    folder = tmp_path_factory.mktemp("prometheus")
    write_history(folder / "history.txt", int(time.time()))
    blocks = ["tsdb", "create-blocks-from", "openmetrics", "history.txt", "data"]
    subprocess.run([build("promtool"), *blocks], cwd=folder, check=True, capture_output=True)
    for name in RULES:
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(read_rules(name)))
    settings = {
        "global": {"evaluation_interval": "1s"},
        "rule_files": [f"{name}.yaml" for name in RULES],
    }
    (folder / "prometheus.yaml").write_text(yaml.safe_dump(settings))
    with run_prometheus(folder) as client:
        late = "namespace_service:nim_first_tokens_late:ratio_rate3d"
        wait_for(lambda: client.query(late) and client.query("ALERTS"), 90, "rules have results")
        yield client


def substitute(text: str) -> str:
    text = text.replace("$__rate_interval", "5m")
    for name, value in CHOICES.items():
        text = text.replace(f"${name}", value)
    assert "$" not in text, text
    return text


def list_queries(board: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for panel in board["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], substitute(target["expr"])


@pytest.mark.parametrize("name", BOARDS)
def test_each_query_returns_data(prometheus: Prometheus, name: str) -> None:
    queries = list(list_queries(BOARDS[name]))
    assert queries
    empty = [(title, query) for title, query in queries if not prometheus.query(query)]
    assert empty == []


@pytest.mark.parametrize("name", BOARDS)
def test_each_variable_has_the_value_that_the_queries_use(
    prometheus: Prometheus, name: str
) -> None:
    for variable in BOARDS[name]["templating"]["list"][1:]:
        found = re.fullmatch(r"label_values\((.+), (\w+)\)", variable["query"]["query"])
        assert found, variable
        series = prometheus.get("api/v1/series", **{"match[]": substitute(found[1])})
        assert CHOICES[variable["name"]] in {item.get(found[2]) for item in series}


def list_expressions() -> Iterator[tuple[str, str]]:
    """All expressions of rules and dashboards, with their place."""
    for name in RULES:
        for rule in (rule for group in read_rules(name)["groups"] for rule in group["rules"]):
            yield rule.get("record") or rule["alert"], rule["expr"]
    for name, board in BOARDS.items():
        for title, query in list_queries(board):
            yield f"{name}: {title}", query


def list_selectors(node: Any) -> Iterator[tuple[str, str]]:
    """Metric and selector of each series that a parsed expression names, also behind `or`."""
    if isinstance(node, list):
        for item in node:
            yield from list_selectors(item)
    elif isinstance(node, dict):
        if node.get("type") in ("vectorSelector", "matrixSelector"):
            matchers = [
                f"{it['name']}{it['type']}{json.dumps(it['value'])}" for it in node["matchers"]
            ]
            yield node["name"], f"{{{','.join(matchers)}}}"
        yield from list_selectors(list(node.values()))


def test_each_selector_finds_a_series(prometheus: Prometheus) -> None:
    """Each name, label and value that a rule or a dashboard asks for is recorded or documented."""
    missing, used = {}, set()
    for place, expression in list_expressions():
        for metric, selector in list_selectors(
            prometheus.get("api/v1/parse_query", query=expression)
        ):
            used.add(metric)
            if not prometheus.query(f"last_over_time({selector}[20m])"):
                missing[place, selector] = expression
    assert not missing
    used |= {re.sub(r"_(bucket|count)$", "", name) for name in used}
    assert {name for exporter in EXPORTERS for name in exporter.metrics} <= used


def test_each_server_has_the_series_of_the_document(prometheus: Prometheus) -> None:
    """A cell of the table is empty if the server has no such metric."""
    page = (ROOT / "docs/operate/monitoring.md").read_text()
    rows = re.findall(r"(?m)^\|( `namespace_service:.+)\|$", page)
    assert len(rows) > 6
    columns = dict(zip(SERVERS, (1, 2, 3, 4, 4), strict=True))
    wrong, seen = set(), set()
    for cells in ([cell.strip() for cell in row.split("|")] for row in rows):
        [record] = re.findall(r"^`([^`]+)`", cells[0])
        for server, column in columns.items():
            found = bool(prometheus.query(f'{record}{{service="{service_of(server)}"}}'))
            seen.add((record, column, found))
            if found and not cells[column]:
                wrong.add((record, server))
        for column in range(1, 5):
            if cells[column] and (record, column, True) not in seen:
                wrong.add((record, cells[column]))
    assert not wrong


def test_sources_are_stated() -> None:
    assert len({exporter.name for exporter in EXPORTERS}) == len(EXPORTERS)
    assert [it.name for it in EXPORTERS if not it.source.startswith("https://")] == []


def test_the_query_of_the_document_for_keda_returns_one_number(prometheus: Prometheus) -> None:
    page = (ROOT / "docs/operate/monitoring.md").read_text()
    [query] = re.findall(r"(?m)^ +query: (.+)$", page)
    labels = f'namespace="{NAMESPACE}", service="{NAME}"'
    assert len(prometheus.query(re.sub(r'namespace="[^"]+", service="[^"]+"', labels, query))) == 1


def test_dashboards_are_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "hack/generate_dashboards.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_panels_do_not_overlap() -> None:
    for name, board in BOARDS.items():
        seen: set[tuple[int, int]] = set()
        for panel in board["panels"]:
            place = panel["gridPos"]
            assert place["x"] + place["w"] <= 24, name
            cells = {
                (place["x"] + x, place["y"] + y)
                for x in range(place["w"])
                for y in range(place["h"])
            }
            assert not seen & cells, (name, panel["title"])
            seen |= cells


def test_dashboards_have_different_names_and_panels_different_numbers() -> None:
    assert len({board["uid"] for board in BOARDS.values()}) == len(BOARDS)
    for board in BOARDS.values():
        numbers = [panel["id"] for panel in board["panels"]]
        assert len(numbers) == len(set(numbers))


def test_kustomization_lists_all_dashboards() -> None:
    content = yaml.safe_load((MONITORING / "kustomization.yaml").read_text())
    [maps] = content["configMapGenerator"]
    assert sorted(maps["files"]) == [f"dashboards/{name}.json" for name in BOARDS]
