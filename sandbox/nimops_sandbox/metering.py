# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The metrics of simulated pods: what kwok answers as their kubelets, and as their model servers.

Annotations of a pod set its values; the README describes them.
"""

from __future__ import annotations

from typing import Any

PATH = "/metrics/nodes/{nodeName}/metrics/resource"
"""The path of a node's metrics, to which an annotation in objects/nodes.yaml leads."""
CPU, MEMORY, WAITING = (f"sandbox.nimops/{it}" for it in ("cpu", "memory", "waiting"))
_OF_POD = {"namespace": "pod.metadata.namespace", "pod": "pod.metadata.name"}


def _annotated(name: str, default: str) -> str:
    """Return an expression for a quantity that an annotation sets."""
    value = f'pod.metadata.annotations["{name}"]'
    return f'"{name}" in pod.metadata.annotations ? Quantity({value}) : Quantity("{default}")'


def _metric(name: str, dimension: str, kind: str, value: str) -> dict[str, Any]:
    labels = {} if dimension == "node" else dict(_OF_POD)
    if dimension == "container":
        labels["container"] = "container.name"
    return {
        "name": name,
        "help": name,
        "dimension": dimension,
        "kind": kind,
        "value": value,
        "labels": [{"name": key, "value": text} for key, text in labels.items()],
    }


_METRICS = [
    _metric("container_start_time_seconds", "container", "gauge", "pod.SinceSecond()"),
    _metric(
        "container_cpu_usage_seconds_total",
        "container",
        "counter",
        'pod.CumulativeUsage("cpu", container.name)',
    ),
    _metric(
        "container_memory_working_set_bytes",
        "container",
        "gauge",
        'pod.Usage("memory", container.name)',
    ),
    _metric("node_cpu_usage_seconds_total", "node", "counter", 'node.CumulativeUsage("cpu")'),
    _metric("node_memory_working_set_bytes", "node", "gauge", 'node.Usage("memory")'),
    _metric("num_requests_waiting", "pod", "gauge", _annotated(WAITING, "0")),
]
# Kind, name and spec.
DOCUMENTS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("Metric", "resource", {"path": PATH, "metrics": _METRICS}),
    (
        "ClusterResourceUsage",
        "every-pod",
        {
            "usages": [
                {
                    "usage": {
                        "cpu": {"expression": _annotated(CPU, "1m")},
                        "memory": {"expression": _annotated(MEMORY, "1Mi")},
                    }
                }
            ]
        },
    ),
)
