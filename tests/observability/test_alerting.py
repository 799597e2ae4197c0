# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""docs/operate/monitoring.md, followed: a real Prometheus scrapes the operator and model servers.

The Prometheus operator is missing here. `nimops_monitors` does its part. Commands, rules of
prometheus-adapter and names are read from the page.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from nimops_adapter import run_adapter
from nimops_harness.cluster import kubectl
from nimops_harness.runtime import ContainedOperator
from nimops_monitors import find_address, write_settings
from nimops_prometheus import Prometheus, run_prometheus, wait_for

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/operate/monitoring.md").read_text()
SERVED = "meta-llama-3-2-1b-instruct"
ALERT = 'ALERTS{alertname="NIMResourceNotReady", namespace="alert"}'
SCALED = "llama-3-2-1b-autoscaling"
SECONDS = 120
QUESTIONS = 20


def read_section(title: str) -> str:
    """The text below a heading, up to the next one."""
    return re.split(r"(?m)^#+ ", PAGE.partition(f"# {title}\n")[2])[0]


def read_steps() -> dict[str, list[str]]:
    """The commands of each step of the first section, by the first words of the step."""
    section = read_section("From install to the first alert")
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


def find_server(name: str) -> str:
    """Where a model server of the namespace nim listens."""
    service = json.loads(kubectl("--namespace", "nim", "get", "service", name, "-o", "json"))
    return find_address(service, "api")


def discover(name: str, folder: Path, operator: ContainedOperator) -> None:
    """Write the settings of Prometheus once a service has its ServiceMonitor, with short waits."""
    kubectl("-n", "nim", "wait", f"servicemonitor/{name}", "--for=create", "--timeout=60s")
    write_settings(folder, operator.metrics.port, pending="4s")


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
    for name in ("apps_v1alpha1_nimcache", "apps_v1alpha1_nimservice"):
        kubectl("--namespace", "nim", "apply", "--filename", str(samples / f"{name}.yaml"))
    ready = ("wait", f"nimservice/{SERVED}", "--for=condition=Ready", "--timeout=180s")
    kubectl("--namespace", "nim", *ready)
    follow([command for words in list(STEPS)[:3] for command in STEPS[words]])
    return operator


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The settings of Prometheus."""
    return tmp_path_factory.mktemp("prometheus")


@pytest.fixture(scope="module")
def prometheus(installed: ContainedOperator, folder: Path) -> Iterator[Prometheus]:
    discover(SERVED, folder, installed)
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


def keep_asking(address: str) -> None:
    """Ask a model questions in the background, each again after its answer."""
    question = json.dumps({"model": "acme/tiny-llm", "messages": []}).encode()

    def ask() -> None:
        request = urllib.request.Request(f"http://{address}/v1/chat/completions", question)
        while True:
            # A server that starts to hang closes connections first.
            with (
                contextlib.suppress(OSError, http.client.HTTPException),
                urllib.request.urlopen(request, timeout=600) as answer,
            ):
                answer.read()
            time.sleep(0.5)

    for _number in range(QUESTIONS):
        threading.Thread(target=ask, daemon=True).start()


def test_autoscaler_scales_by_the_rules_of_prometheus_adapter(
    prometheus: Prometheus, installed: ContainedOperator, folder: Path, tmp_path: Path
) -> None:
    """The adapter, its rules and the sample, and a real HorizontalPodAutoscaler."""
    section = read_section("With prometheus-adapter")
    [block] = re.findall(r"(?s)```yaml\n(.*?)```", section)
    apply, read = re.findall(r"(?m)^\$ (.+)$", section)

    def value() -> str:
        done = subprocess.run(read, shell=True, capture_output=True, text=True, check=False)
        return str(json.loads(done.stdout)["items"][0]["value"]) if not done.returncode else ""

    def replicas() -> int:
        found = kubectl("--namespace", "nim", "get", f"nimservice/{SCALED}", "--output", "json")
        return int(json.loads(found).get("status", {}).get("availableReplicas", 0))

    with run_adapter(tmp_path, yaml.safe_load(block)["rules"]["custom"], prometheus.url):
        follow([apply])
        wait_for(lambda: replicas() == 1, SECONDS, "the service of the sample is Ready")
        discover(SCALED, folder, installed)
        prometheus.reload()
        wait_for(lambda: value() == "0", SECONDS, "the adapter serves the metric")
        behave = (f"service/{SCALED}", "sandbox.nimops/model=hang")
        kubectl("--namespace", "nim", "annotate", *behave)
        keep_asking(find_server(SCALED))
        wait_for(lambda: int(value() or 0) > 8, SECONDS, "the adapter serves the load")
        wait_for(lambda: replicas() > 1, SECONDS, "one replica has eight questions at most")
