# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""docs/operate/monitoring.md, followed: a real Prometheus scrapes the operator and a model server.

The Prometheus operator is missing here. The test does its part: it reads the rules and the
ServiceMonitor that the commands of the document created from the API server.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from nimops_harness.cluster import kubectl
from nimops_harness.runtime import ContainedOperator
from nimops_prometheus import Prometheus, run_prometheus, wait_for

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/operate/monitoring.md").read_text()
SERVED = "llama-3-2-1b-emptydir"
ALERT = 'ALERTS{alertname="NIMResourceNotReady", namespace="alert"}'
SECONDS = 120


def read_steps() -> dict[str, list[str]]:
    """The commands of each step of the first section, by the first words of the step."""
    section = PAGE.partition("## From install to the first alert\n")[2].partition("\n## ")[0]
    return {
        step.partition(":")[0].partition(".")[0].strip(): re.findall(r"(?m)^ +\$ (.+)$", step)
        for step in re.split(r"(?m)^\d\. ", section)[1:]
    }


STEPS = read_steps()


def follow(commands: list[str]) -> None:
    for command in commands:
        done = subprocess.run(
            command, shell=True, cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


def list_items(kind: str) -> list[dict[str, Any]]:
    text = kubectl("--namespace", "nimops-system", "get", kind, "--output", "json")
    items: list[dict[str, Any]] = json.loads(text)["items"]
    return items


def write_rules(folder: Path) -> None:
    """The rules of the cluster, evaluated each second, with short waits."""
    groups = []
    for item in list_items("prometheusrules.monitoring.coreos.com"):
        for group in item["spec"]["groups"]:
            for rule in (rule for rule in group["rules"] if "for" in rule):
                rule["for"] = "4s"
            groups.append(group)
    (folder / "rules.yaml").write_text(yaml.safe_dump({"groups": groups}))


def write_settings(folder: Path, operator: ContainedOperator) -> None:
    """Scrapes of the operator, as the ServiceMonitor describes them, and of a model server."""
    [monitor] = list_items("servicemonitors.monitoring.coreos.com")
    [endpoint] = monitor["spec"]["endpoints"]
    service = json.loads(kubectl("--namespace", "nim", "get", "service", SERVED, "-o", "json"))
    address = f"{service['spec']['clusterIP']}:{service['spec']['ports'][0]['port']}"
    settings = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": ["rules.yaml"],
        "scrape_configs": [
            {
                "job_name": "operator",
                "honor_labels": endpoint["honorLabels"],
                "metrics_path": endpoint["path"],
                "static_configs": [
                    {
                        "targets": [f"127.0.0.1:{operator.metrics.port}"],
                        "labels": {"namespace": "nimops-system"},
                    }
                ],
            },
            {
                "job_name": "models",
                "metrics_path": "/v1/metrics",
                "fallback_scrape_protocol": "PrometheusText0.0.4",
                "static_configs": [
                    {"targets": [address], "labels": {"namespace": "nim", "service": SERVED}}
                ],
            },
        ],
    }
    (folder / "prometheus.yaml").write_text(yaml.safe_dump(settings))


@pytest.fixture(scope="module")
def installed(
    operator: ContainedOperator, tmp_path_factory: pytest.TempPathFactory
) -> ContainedOperator:
    """The operator, with all that the section expects: kubectl nim, namespaces, NIMServices."""
    plugin = tmp_path_factory.mktemp("bin") / "kubectl-nim"
    plugin.write_text(f'#!/bin/sh\nexec {sys.executable} -m kubectl_nim "$@"\n')
    plugin.chmod(0o755)
    os.environ["PATH"] = f"{plugin.parent}{os.pathsep}{os.environ['PATH']}"
    for name in ("monitoring", "nimops-system", "nim"):
        item = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        kubectl("apply", "--filename", "-", stdin=json.dumps(item))
    samples = ROOT / "config/samples"
    for name in ("apps_v1alpha1_nimservice", "nimservice_emptydir"):
        kubectl("--namespace", "nim", "apply", "--filename", str(samples / f"{name}.yaml"))
    ready = ("wait", f"nimservice/{SERVED}", "--for=condition=Ready", "--timeout=180s")
    kubectl("--namespace", "nim", *ready)
    follow([command for words in list(STEPS)[:3] for command in STEPS[words]])
    return operator


@pytest.fixture(scope="module")
def prometheus(
    installed: ContainedOperator, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Prometheus]:
    folder = tmp_path_factory.mktemp("prometheus")
    write_rules(folder)
    write_settings(folder, installed)
    with run_prometheus(folder) as client:
        yield client


def test_an_alert_fires_and_resolves(prometheus: Prometheus) -> None:
    *create, remove = STEPS["See an alert"]
    follow(create)

    def states() -> set[str]:
        return {item["metric"]["alertstate"] for item in prometheus.query(ALERT)}

    wait_for(lambda: "firing" in states(), SECONDS, "the alert fires")
    [alert] = prometheus.query(ALERT)
    assert alert["metric"]["name"] == "meta-llama-3-2-1b-instruct"
    assert alert["metric"]["severity"] == "critical"
    follow([remove])
    wait_for(lambda: not states(), SECONDS, "the alert resolves")


def test_a_ready_service_raises_no_alert(prometheus: Prometheus) -> None:
    state = f'nimops_resource_state{{namespace="nim", name="{SERVED}", state="Ready"}} == 1'
    wait_for(lambda: prometheus.query(state), SECONDS, "Prometheus sees the state")
    assert prometheus.query(f'ALERTS{{namespace="nim", name="{SERVED}"}}') == []
    # Until the first scrape, the operator is absent.
    absent = 'ALERTS{alertname="NimopsOperatorAbsent"}'
    wait_for(lambda: not prometheus.query(absent), SECONDS, "the operator is not absent")


def test_questions_become_requests_of_the_service(prometheus: Prometheus) -> None:
    rate = f'namespace_service:nim_requests:rate5m{{namespace="nim", service="{SERVED}"}} > 0'

    def is_counted() -> bool:
        follow([f"kubectl nim ask {SERVED} 'Are you there?' -n nim"])
        return bool(prometheus.query(rate))

    wait_for(is_counted, SECONDS, "the requests are counted")
    late = rate.replace("requests:rate5m", "first_tokens_late:ratio_rate5m").replace("> 0", "== 0")
    wait_for(lambda: prometheus.query(late), SECONDS, "first tokens are counted")
