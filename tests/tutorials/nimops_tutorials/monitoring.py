# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Substitutes for the charts of Prometheus and of prometheus-adapter."""

from __future__ import annotations

import contextlib
import re
import threading
from pathlib import Path

import yaml
from nimops_adapter import run_adapter
from nimops_harness.errors import HarnessError
from nimops_monitors import write_settings
from nimops_prometheus import Prometheus, run_prometheus

from .stage import Stage

NAMESPACE, SERVICE = "monitoring", "prometheus-operated"
PERIOD = 1.0


def start_prometheus(stage: Stage, _text: str) -> str:
    """Start a Prometheus that follows what the cluster describes; its namespace is to create."""
    folder = stage.sandbox.folder / "prometheus"
    folder.mkdir(exist_ok=True)
    write_settings(folder, None)
    client = stage.things.enter_context(run_prometheus(folder))
    stage.prometheus_port = int(client.url.rpartition(":")[2])
    end = threading.Event()
    thread = threading.Thread(target=follow, args=(stage, folder, client, end), daemon=True)
    thread.start()
    stage.things.callback(thread.join)
    stage.things.callback(end.set)
    return f"kubectl create namespace {NAMESPACE}"


def follow(stage: Stage, folder: Path, client: Prometheus, end: threading.Event) -> None:
    """Do the work of the Prometheus operator."""
    while not end.wait(PERIOD):
        port = stage.operator.metrics.port if stage.operator else None
        with contextlib.suppress(HarnessError, OSError):  # the cluster changes, or ends
            if write_settings(folder, port):
                client.reload()


def start_adapter(stage: Stage, text: str) -> str:
    """Start prometheus-adapter with the values that the command names."""
    found = re.search(r"--values (\S+)", text)
    assert found is not None
    rules = yaml.safe_load((stage.work / found[1]).read_text())["rules"]["custom"]
    folder = stage.sandbox.folder / "adapter"
    folder.mkdir(exist_ok=True)
    url = f"http://127.0.0.1:{stage.prometheus_port}"
    stage.things.enter_context(run_adapter(folder, rules, url))
    return "true"


def stop_monitoring(stage: Stage, _text: str) -> str:
    """Stop both."""
    stage.things.close()
    return "true"
