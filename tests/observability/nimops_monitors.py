# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The part of the Prometheus operator: its objects in the cluster become settings of Prometheus."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from nimops_harness.cluster import kubectl

Json = dict[str, Any]

OPERATOR = {"app.kubernetes.io/name": "nimops"}
"""Labels of our operator, which runs beside the cluster."""


def list_items(kind: str) -> list[Json]:
    """All objects of a kind."""
    text = kubectl("get", kind, "--all-namespaces", "--output", "json")
    items: list[Json] = json.loads(text)["items"]
    return items


def write_settings(folder: Path, operator_port: int | None, pending: str = "") -> bool:
    """Write prometheus.yaml and rules.yaml of what the cluster has; whether they have changed.

    operator_port: of its metrics, on loopback. pending: how long each alert is pending instead.
    """
    monitors = list_items("servicemonitors.monitoring.coreos.com")
    services = list_items("services")
    jobs = [job for it in monitors for job in make_jobs(it, services, operator_port)]
    settings = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": ["rules.yaml"],
        "scrape_configs": jobs,
    }
    groups = [
        group
        for item in list_items("prometheusrules.monitoring.coreos.com")
        for group in item["spec"]["groups"]
    ]
    for rule in (rule for group in groups for rule in group["rules"] if pending and "for" in rule):
        rule["for"] = pending
    texts = {"prometheus.yaml": settings, "rules.yaml": {"groups": groups}}
    changed = False
    for name, content in texts.items():
        file, text = folder / name, yaml.safe_dump(content)
        if not file.exists() or file.read_text() != text:
            file.write_text(text)
            changed = True
    return changed


def make_jobs(monitor: Json, services: list[Json], operator_port: int | None) -> Iterator[Json]:
    """A scrape of each endpoint of a ServiceMonitor, with the labels that the operator adds."""
    namespace = monitor["metadata"]["namespace"]
    wanted = monitor["spec"]["selector"]["matchLabels"].items()
    targets: list[Json]
    for number, endpoint in enumerate(monitor["spec"]["endpoints"]):
        if OPERATOR.items() <= wanted:
            port = f"127.0.0.1:{operator_port}"
            targets = [{"targets": [port] if operator_port else [], "labels": {}}]
        else:
            targets = [
                {"targets": [address], "labels": {"service": service["metadata"]["name"]}}
                for service in services
                if service["metadata"]["namespace"] == namespace
                and wanted <= (service["metadata"].get("labels") or {}).items()
                and (address := find_address(service, endpoint["port"]))
            ]
        for target in targets:
            target["labels"]["namespace"] = namespace
        yield {
            "job_name": f"{namespace}/{monitor['metadata']['name']}/{number}",
            "honor_labels": endpoint.get("honorLabels", False),
            "metrics_path": endpoint.get("path", "/metrics"),
            "fallback_scrape_protocol": "PrometheusText0.0.4",
            "static_configs": targets,
        }


def find_address(service: Json, name: str) -> str:
    """Where a Service answers at the port with this name; empty if it has none."""
    spec = service["spec"]
    numbers = [port["port"] for port in spec["ports"] if port.get("name") == name]
    return f"{spec['clusterIP']}:{numbers[0]}" if numbers else ""
