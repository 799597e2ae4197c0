#!/usr/bin/env python3
# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Write the dashboards of Grafana, config/monitoring/dashboards/, from the tables below.

--check writes nothing and exits 1 if a file would change.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from generated_files import make_parser, update

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "config/monitoring/dashboards"
WIDTH = 24
"""columns of Grafana's grid"""
SOURCE = {"type": "prometheus", "uid": "${datasource}"}


@dataclass(frozen=True)
class Panel:
    """A panel. queries: expression and legend; those of a table have no legend.

    unit: one of Grafana's, such as `s`. kind: `timeseries`, `stat`, or `table` of current series.
    """

    title: str
    queries: Sequence[tuple[str, str]]
    unit: str = "short"
    kind: str = "timeseries"
    width: int = 8
    note: str = ""

    @property
    def height(self) -> int:
        return 4 if self.kind == "stat" else 8


@dataclass(frozen=True)
class Board:
    """A dashboard. variables: query by name. rows: panels by title."""

    uid: str
    title: str
    note: str
    variables: dict[str, str]
    rows: dict[str, Sequence[Panel]]


def _stat(title: str, query: str, legend: str = "", unit: str = "short", width: int = 6) -> Panel:
    return Panel(title, [(query, legend)], unit, "stat", width)


def _plot(title: str, query: str, legend: str, unit: str = "short", width: int = 8) -> Panel:
    return Panel(title, [(query, legend)], unit, width=width)


def _table(title: str, query: str, width: int = 12, note: str = "") -> Panel:
    return Panel(title, [(query, "")], kind="table", width=width, note=note)


def _series(name: str) -> str:
    return f'namespace_service:{name}{{namespace=~"$namespace", service=~"$service"}}'


def _dcgm(name: str) -> str:
    """The metric of the service's GPUs: Prometheus renames labels that its target has as well."""
    places = (("exported_namespace", "exported_pod"), ("namespace", "pod"))
    return " or ".join(
        f'{name}{{{namespace}=~"$namespace", {pod}=~"($service)-.+"}}' for namespace, pod in places
    )


def _quantiles(name: str) -> list[tuple[str, str]]:
    return [(_series(f"{name}:{at}"), at) for at in ("p50", "p95", "p99")]


_NAMESPACE = "label_values(nimops_resource_info, namespace)"
_NAMED = "{{kind}} {{namespace}}/{{name}}"
_STATES = "Ready|ready|ignored|disabled"
_CONTROLLER = 'controller=~".+-v1(alpha1)?-controller"'
_JOB = 'job=~"$job"'

FLEET = Board(
    "nimops-fleet",
    "nimops / Fleet",
    "All resources: what serves, what does not, and why.",
    {"namespace": _NAMESPACE},
    {
        "Now": [
            _stat(
                "Ready",
                'sum(nimops_resource_state{namespace=~"$namespace|", state=~"Ready|ready"})',
            ),
            _stat(
                "Not Ready",
                f'sum(nimops_resource_state{{namespace=~"$namespace|", state!~"{_STATES}"}})',
            ),
            _stat(
                "GPUs requested",
                'sum(namespace:nimops_gpus_requested:sum{namespace=~"$namespace"})',
            ),
            _stat("GPUs ready", 'sum(namespace:nimops_gpus_ready:sum{namespace=~"$namespace"})'),
            _table(
                "Not Ready",
                f'nimops_resource_state{{namespace=~"$namespace|", state!~"{_STATES}"}} == 1',
            ),
            _table(
                "Why",
                'nimops_resource_condition{namespace=~"$namespace|",'
                ' type=~"Stalled|Reconciling|Ready|Failed"} == 1',
            ),
            _table(
                "Alerts",
                'ALERTS{alertname=~"(NIM|Nimops|GPU).+", namespace=~"$namespace|"}',
                WIDTH,
            ),
        ],
        "Over time": [
            _plot(
                "Resources by state",
                'sum by (kind, state) (nimops_resource_state{namespace=~"$namespace|"}) > 0',
                "{{kind}} {{state}}",
            ),
            _plot(
                "GPUs requested",
                'sum by (namespace) (namespace:nimops_gpus_requested:sum{namespace=~"$namespace"})',
                "{{namespace}}",
            ),
            _plot(
                "Time to Ready, 90 %",
                "histogram_quantile(0.9, sum by (kind, le) (nimops_time_to_ready_seconds_bucket))",
                "{{kind}}",
                "s",
            ),
            _plot(
                "Requests per second",
                'namespace_service:nim_requests:rate5m{namespace=~"$namespace"}',
                "{{namespace}}/{{service}}",
                "reqps",
            ),
            _plot(
                "Generated tokens per second",
                'namespace_service:nim_generation_tokens:rate5m{namespace=~"$namespace"}',
                "{{namespace}}/{{service}}",
            ),
            _plot(
                "Time to first token, 95 %",
                'namespace_service:nim_time_to_first_token_seconds:p95{namespace=~"$namespace"}',
                "{{namespace}}/{{service}}",
                "s",
            ),
        ],
        "Models": [
            _table("Resources", 'nimops_resource_info{namespace=~"$namespace|"}', WIDTH),
        ],
    },
)

_RESOURCE = 'namespace=~"$namespace", name=~"$service"'
_PODS = 'namespace=~"$namespace", pod=~"($service)-.+"'
SERVICE = Board(
    "nimops-service",
    "nimops / Service",
    "One service: traffic, latency, its pods and its GPUs.",
    {
        "namespace": _NAMESPACE,
        "service": (
            'label_values(nimops_resource_info{kind="NIMService", namespace=~"$namespace"}, name)'
        ),
    },
    {
        "State": [
            _table("State", f"nimops_resource_state{{{_RESOURCE}}} == 1", 8),
            _plot(
                "Replicas",
                f"nimops_replicas{{{_RESOURCE}}}",
                "{{type}}",
            ),
            _plot(
                "GPUs",
                f"nimops_gpus{{{_RESOURCE}}}",
                "{{device}} {{type}}",
            ),
        ],
        "Traffic": [
            _plot("Requests per second", _series("nim_requests:rate5m"), "{{service}}", "reqps"),
            _plot(
                "Failed requests",
                _series("nim_request_errors:ratio_rate5m"),
                "{{service}}",
                "percentunit",
            ),
            Panel(
                "Queue",
                [
                    (_series("nim_requests_waiting:sum"), "waiting"),
                    (_series("nim_requests_running:sum"), "running"),
                ],
            ),
            Panel(
                "Tokens per second",
                [
                    (_series("nim_generation_tokens:rate5m"), "generated"),
                    (_series("nim_prompt_tokens:rate5m"), "prompt"),
                ],
            ),
            _plot(
                "Prompt tokens per request",
                f"{_series('nim_prompt_tokens:rate5m')} / {_series('nim_requests:rate5m')}",
                "{{service}}",
            ),
            _plot(
                "KV cache",
                _series("nim_kv_cache_usage:avg_ratio"),
                "{{service}}",
                "percentunit",
            ),
        ],
        "Latency": [
            Panel("Time to first token", _quantiles("nim_time_to_first_token_seconds"), "s"),
            Panel("Time between tokens", _quantiles("nim_inter_token_latency_seconds"), "s"),
            Panel(
                "First tokens that are late",
                [
                    (_series(f"nim_first_tokens_late:ratio_rate{at}"), at)
                    for at in ("5m", "1h", "6h", "3d")
                ],
                "percentunit",
                note="The objective allows 5 %.",
            ),
        ],
        "Pods": [
            _table("Phase", f"kube_pod_status_phase{{{_PODS}}} == 1", 12),
            _plot(
                "Restarts",
                f"sum by (pod) (increase(kube_pod_container_status_restarts_total{{{_PODS}}}[1h]))",
                "{{pod}}",
                width=12,
            ),
        ],
        "GPUs": [
            _plot("Utilization", _dcgm("DCGM_FI_DEV_GPU_UTIL"), "{{Hostname}} {{gpu}}", "percent"),
            _plot(
                "Memory in use",
                _dcgm("DCGM_FI_DEV_FB_USED"),
                "{{Hostname}} {{gpu}}",
                "decmbytes",
            ),
            _plot("Power", _dcgm("DCGM_FI_DEV_POWER_USAGE"), "{{Hostname}} {{gpu}}", "watt"),
            _plot("Temperature", _dcgm("DCGM_FI_DEV_GPU_TEMP"), "{{Hostname}} {{gpu}}", "celsius"),
            _plot(
                "Clock",
                _dcgm("DCGM_FI_DEV_SM_CLOCK"),
                "{{Hostname}} {{gpu}}",
            ),
            _plot(
                "Xid errors",
                _dcgm("DCGM_FI_DEV_XID_ERRORS"),
                "{{Hostname}} {{gpu}}",
            ),
        ],
    },
)

_CACHES = 'namespace=~"$namespace", kind=~"NIMCache|NIMBuild"'
_CLAIMS = 'namespace=~"$namespace"'
CACHES = Board(
    "nimops-caches",
    "nimops / Caches",
    "Downloads and builds of models, and their volumes.",
    {"namespace": 'label_values(nimops_resource_info{kind="NIMCache"}, namespace)'},
    {
        "Now": [
            _table("State", f"nimops_resource_state{{{_CACHES}}} == 1"),
            _plot(
                "Time in the state",
                f"time() - nimops_resource_state_since_seconds{{{_CACHES}}}",
                _NAMED,
                "s",
                width=12,
            ),
            _plot(
                "Caches by state",
                f"sum by (state) (nimops_resource_state{{{_CACHES}}}) > 0",
                "{{state}}",
            ),
            _plot(
                "Profiles",
                f"sum by (name, type) (nimops_cache_profiles{{{_CLAIMS}}})",
                "{{name}} {{type}}",
            ),
            _plot(
                "Time to Ready, 90 %",
                "histogram_quantile(0.9, sum by (le, kind)"
                ' (nimops_time_to_ready_seconds_bucket{kind=~"NIMCache|NIMBuild"}))',
                "{{kind}}",
                "s",
            ),
        ],
        "Volumes": [
            _plot(
                "Used",
                f"1 - kubelet_volume_stats_available_bytes{{{_CLAIMS}}}"
                f" / kubelet_volume_stats_capacity_bytes{{{_CLAIMS}}}",
                "{{namespace}}/{{persistentvolumeclaim}}",
                "percentunit",
                width=12,
            ),
            _plot(
                "Free",
                f"kubelet_volume_stats_available_bytes{{{_CLAIMS}}}",
                "{{namespace}}/{{persistentvolumeclaim}}",
                "bytes",
                width=12,
            ),
        ],
    },
)

_NODES = 'Hostname=~"$node"'
GPU = Board(
    "nimops-gpu",
    "nimops / GPU stack",
    "The GPU stack, driver upgrades, and the GPUs of each node.",
    {"node": "label_values(DCGM_FI_DEV_GPU_TEMP, Hostname)"},
    {
        "Stack": [
            _stat("ClusterPolicy ready", "max(gpu_operator_reconciliation_status)"),
            _stat("Nodes with GPUs", "max(gpu_operator_gpu_nodes_total)"),
            _stat("Automatic upgrades", "max(gpu_operator_driver_auto_upgrade_enabled)"),
            _stat("Failed upgrades", "max(gpu_operator_nodes_upgrades_failed)"),
            Panel(
                "Driver upgrades",
                [
                    (f"max(gpu_operator_nodes_upgrades_{state})", state.replace("_", " "))
                    for state in ("pending", "in_progress", "done", "failed")
                ],
                width=12,
            ),
            Panel(
                "GPUs",
                [
                    ('sum(kube_node_status_capacity{resource="nvidia_com_gpu"})', "present"),
                    ('sum(kube_node_status_allocatable{resource="nvidia_com_gpu"})', "allocatable"),
                    (
                        'sum(kube_pod_container_resource_requests{resource="nvidia_com_gpu"})',
                        "requested",
                    ),
                    ("sum(hostname:dcgm_gpus:count)", "seen by DCGM"),
                ],
                width=12,
            ),
        ],
        "Nodes": [
            _plot(
                "Utilization",
                f"avg by (Hostname) (DCGM_FI_DEV_GPU_UTIL{{{_NODES}}})",
                "{{Hostname}}",
                "percent",
            ),
            _plot(
                "Memory in use",
                f"sum by (Hostname) (DCGM_FI_DEV_FB_USED{{{_NODES}}})"
                f" / (sum by (Hostname) (DCGM_FI_DEV_FB_USED{{{_NODES}}})"
                f" + sum by (Hostname) (DCGM_FI_DEV_FB_FREE{{{_NODES}}}))",
                "{{Hostname}}",
                "percentunit",
            ),
            _plot(
                "Temperature, hottest GPU",
                f"max by (Hostname) (DCGM_FI_DEV_GPU_TEMP{{{_NODES}}})",
                "{{Hostname}}",
                "celsius",
            ),
            _plot(
                "Power",
                f"sum by (Hostname) (DCGM_FI_DEV_POWER_USAGE{{{_NODES}}})",
                "{{Hostname}}",
                "watt",
            ),
            _plot(
                "GPUs seen by DCGM",
                f"hostname:dcgm_gpus:count{{{_NODES}}}",
                "{{Hostname}}",
            ),
            _plot(
                "Xid errors",
                f"max by (Hostname, gpu) (DCGM_FI_DEV_XID_ERRORS{{{_NODES}}})",
                "{{Hostname}} {{gpu}}",
            ),
        ],
    },
)

OPERATOR = Board(
    "nimops-operator",
    "nimops / Operator",
    "The operator: reconciles, queues, writes, and its process.",
    {"job": 'label_values(workqueue_depth{name="nimservice-v1alpha1-controller"}, job)'},
    {
        "Reconciles": [
            _plot(
                "Reconciles per second",
                "sum by (controller, result) (rate(controller_runtime_reconcile_total"
                f"{{{_CONTROLLER}}}[$__rate_interval])) > 0",
                "{{controller}} {{result}}",
            ),
            _plot(
                "Failed reconciles",
                "sum by (controller) (increase(controller_runtime_reconcile_errors_total"
                f"{{{_CONTROLLER}}}[15m]))",
                "{{controller}}",
            ),
            _plot(
                "Duration, 95 %",
                "histogram_quantile(0.95, sum by (kind, le)"
                " (rate(nimops_reconcile_duration_seconds_bucket[$__rate_interval])))",
                "{{kind}}",
                "s",
            ),
            _plot(
                "Queue",
                f"sum by (name) (workqueue_depth{{{_CONTROLLER}}})",
                "{{name}}",
            ),
            _plot(
                "Longest time in the queue, 95 %",
                "histogram_quantile(0.95, sum by (name, le)"
                f" (rate(workqueue_queue_duration_seconds_bucket{{{_CONTROLLER}}}"
                "[$__rate_interval])))",
                "{{name}}",
                "s",
            ),
            _plot(
                "Workers",
                f"sum by (controller) (controller_runtime_active_workers{{{_CONTROLLER}}})",
                "{{controller}}",
            ),
        ],
        "Passes": [
            Panel(
                "Passes per second",
                [
                    ("sum by (kind) (rate(nimops_passes_total[$__rate_interval]))", "{{kind}}"),
                    (
                        "sum by (kind) (rate(nimops_forked_passes_total[$__rate_interval]))",
                        "{{kind}} forked",
                    ),
                ],
            ),
            _plot(
                "Objects written per second",
                "sum by (kind) (rate(nimops_writes_total[$__rate_interval]))",
                "{{kind}}",
            ),
            _plot(
                "Corrected drift",
                "sum by (kind) (increase(nimops_drift_corrected_total[30m]))",
                "{{kind}}",
            ),
        ],
        "Process": [
            _plot("Memory", f"process_resident_memory_bytes{{{_JOB}}}", "{{pod}}", "bytes"),
            _plot(
                "CPU",
                f"rate(process_cpu_seconds_total{{{_JOB}}}[$__rate_interval])",
                "{{pod}}",
            ),
            _plot(
                "Requests to the API server",
                "sum by (code, method)"
                f" (rate(rest_client_requests_total{{{_JOB}}}[$__rate_interval]))",
                "{{method}} {{code}}",
                "reqps",
            ),
        ],
    },
)

BOARDS = {"fleet": FLEET, "service": SERVICE, "caches": CACHES, "gpu": GPU, "operator": OPERATOR}


def _target(at: int, query: tuple[str, str], kind: str) -> dict[str, Any]:
    expression, legend = query
    found = {"refId": chr(ord("A") + at), "expr": expression, "datasource": SOURCE}
    if kind == "table":
        return {**found, "format": "table", "instant": True}
    return {**found, "legendFormat": legend or "__auto", "instant": kind == "stat"}


def _transform(kind: str) -> list[dict[str, Any]]:
    """Leave out the columns that say nothing about a resource."""
    if kind != "table":
        return []
    hidden = ("Time", "Value", "__name__", "endpoint", "instance", "job", "container", "uid")
    return [{"id": "organize", "options": {"excludeByName": dict.fromkeys(hidden, True)}}]


def _panel(panel: Panel, number: int, x: int, y: int) -> dict[str, Any]:
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.note,
        "datasource": SOURCE,
        "gridPos": {"h": panel.height, "w": panel.width, "x": x, "y": y},
        "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
        "targets": [_target(at, query, panel.kind) for at, query in enumerate(panel.queries)],
        "transformations": _transform(panel.kind),
    }


def _panels(board: Board) -> list[dict[str, Any]]:
    """The panels of all rows, left to right, then down."""
    found: list[dict[str, Any]] = []
    y = 0
    for title, panels in board.rows.items():
        place = {"h": 1, "w": WIDTH, "x": 0, "y": y}
        row = {"id": len(found) + 1, "type": "row", "title": title, "gridPos": place, "panels": []}
        found.append({**row, "collapsed": False})
        x, y, height = 0, y + 1, 0
        for panel in panels:
            if x + panel.width > WIDTH:
                x, y, height = 0, y + height, 0
            found.append(_panel(panel, len(found) + 1, x, y))
            x, height = x + panel.width, max(height, panel.height)
        y += height
    return found


def _variables(board: Board) -> list[dict[str, Any]]:
    source = {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Source"}
    return [
        source,
        *(
            {
                "name": name,
                "type": "query",
                "datasource": SOURCE,
                "query": {"query": query, "refId": name},
                "definition": query,
                "refresh": 2,
                "sort": 1,
                "multi": True,
                "includeAll": True,
                "current": {"text": ["All"], "value": ["$__all"]},
            }
            for name, query in board.variables.items()
        ),
    ]


def render_board(board: Board) -> str:
    """The JSON text of a dashboard."""
    content = {
        "uid": board.uid,
        "title": board.title,
        "description": board.note,
        "tags": ["nimops"],
        "schemaVersion": 39,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "links": [
            {"type": "dashboards", "tags": ["nimops"], "title": "nimops", "includeVars": True}
        ],
        "templating": {"list": _variables(board)},
        "panels": _panels(board),
    }
    return json.dumps(content, indent=1) + "\n"


def main() -> int:
    """Write or check the files."""
    options = make_parser(__doc__ or "").parse_args()
    files = {FOLDER / f"{name}.json": render_board(board) for name, board in BOARDS.items()}
    return update(files, check=options.check)


if __name__ == "__main__":
    sys.exit(main())
