# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Every query of every panel and variable returns data on a real Prometheus with scrapes and rules.

operator.prom was recorded from a running operator. The others have the names and labels that the
projects document.
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
from nimops_programs import build
from nimops_prometheus import Prometheus, run_prometheus, wait_for

ROOT = Path(__file__).resolve().parents[2]
MONITORING = ROOT / "config/monitoring"
BOARDS = {
    path.stem: json.loads(path.read_text())
    for path in sorted((MONITORING / "dashboards").glob("*.json"))
}
SCRAPES = Path(__file__).parent / "scrapes"
NAME = "llama-3-2-1b-emptydir"
TARGETS = {
    "operator": 'namespace="nimops-system",job="nimops-metrics",pod="nimops-1"',
    "fleet": 'namespace="nimops-system",job="nimops-metrics",pod="nimops-1"',
    "model": f'namespace="nim",service="{NAME}",job="{NAME}",pod="{NAME}-1"',
    "dcgm": 'namespace="gpu-operator",service="nvidia-dcgm-exporter",pod="dcgm-1"',
    "cluster": 'job="kube-state-metrics"',
}
"""labels that Prometheus adds to a scrape; those of the scrape win, as with honorLabels"""
CHOICES = {"namespace": "nim", "service": NAME, "node": "gpu-1", "job": "nimops-metrics"}
STEP, BEFORE = 15, 900
"""seconds: between samples, and how long they reach into the past. Rules write only what is newer."""
IS_COUNTER = re.compile(r"(_total|_bucket|_count|_sum)$")
SAMPLE = re.compile(r"^([\w:]+)(?:\{(.*)\})? (\S+)$")


def write_history(path: Path, now: int) -> None:
    """Write the scrapes as OpenMetrics, each repeated; counters grow by a tenth each time."""
    series: dict[str, list[str]] = {}
    for name, added in TARGETS.items():
        for line in (SCRAPES / f"{name}.prom").read_text().splitlines():
            if not (found := SAMPLE.match(line)):
                continue
            metric, labels, value = found[1], found[2] or "", float(found[3])
            own = set(re.findall(r"(\w+)=", labels))
            more = [part for part in added.split(",") if part.partition("=")[0] not in own]
            text = f"{metric}{{{','.join(filter(None, [labels, *more]))}}}"
            for at in range(now - BEFORE, now, STEP):
                grown = value * (1 + (at - now + BEFORE) / STEP / 10)
                shown = grown if IS_COUNTER.search(metric) else value
                series.setdefault(metric, []).append(f"{text} {shown} {at}")
    # The samples of a metric stay together.
    lines = [line for name in sorted(series) for line in series[name]]
    path.write_text("\n".join([*lines, "# EOF", ""]))


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """A Prometheus with the history, which has evaluated the rules three times."""
    folder = tmp_path_factory.mktemp("prometheus")
    write_history(folder / "history.txt", int(time.time()))
    blocks = ["tsdb", "create-blocks-from", "openmetrics", "history.txt", "data"]
    subprocess.run([build("promtool"), *blocks], cwd=folder, check=True, capture_output=True)
    for name in ("recording", "alerts"):
        content = yaml.safe_load((MONITORING / f"{name}.yaml").read_text())
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(content["spec"]))
    settings = {
        "global": {"evaluation_interval": "1s"},
        "rule_files": ["recording.yaml", "alerts.yaml"],
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


def test_the_query_of_the_document_for_keda_returns_one_number(prometheus: Prometheus) -> None:
    page = (ROOT / "docs/operate/monitoring.md").read_text()
    [query] = re.findall(r"(?m)^ +query: (.+)$", page)
    assert len(prometheus.query(re.sub(r'service="[^"]+"', f'service="{NAME}"', query))) == 1


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
