# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The servers of resource and custom metrics, by which autoscalers scale."""

from __future__ import annotations

from typing import Any

from .base import Api, Neighbor, Place
from .prometheus import url_of

RULES = "rules.yaml"


def serving(place: Place, purpose: str) -> list[str]:
    """Return the arguments of a server of an aggregated API."""
    return [
        "--bind-address=127.0.0.1",
        f"--secure-port={place.port(purpose)}",
        f"--tls-cert-file={place.folder / 'tls.crt'}",
        f"--tls-private-key-file={place.folder / 'tls.key'}",
        f"--authentication-kubeconfig={place.kubeconfig}",
        f"--authorization-kubeconfig={place.kubeconfig}",
    ]


def _resource(place: Place) -> list[str]:
    return [
        *serving(place, "resource"),
        f"--kubeconfig={place.kubeconfig}",
        # kwok answers as the kubelets of simulated nodes.
        f"--kubelet-certificate-authority={place.ca}",
        "--kubelet-use-node-status-port",
        "--kubelet-preferred-address-types=InternalIP",
        "--metric-resolution=10s",
        "--kubelet-request-timeout=5s",
    ]


def _rule(owner: str) -> dict[str, Any]:
    """Return the rule that makes each series with this label a metric of those objects."""
    return {
        "seriesQuery": f'{{namespace!="",{owner}!="",__name__!~"^container_.*"}}',
        "resources": {
            "overrides": {it: {"resource": it} for it in ("namespace", owner)},
        },
        "name": {"matches": "", "as": ""},
        "metricsQuery": "sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)",
    }


def _files(_place: Place) -> dict[str, Any]:
    return {RULES: {"rules": [_rule("pod"), _rule("service")]}}


def _custom(place: Place) -> list[str]:
    return [
        *serving(place, "custom"),
        f"--lister-kubeconfig={place.kubeconfig}",
        f"--prometheus-url={url_of(place)}",
        f"--config={place.folder / RULES}",
        # A new series is served at once, and one that was pushed stays.
        "--metrics-relist-interval=2s",
        "--metrics-max-age=1h",
    ]


METRICS = Neighbor(
    "metrics",
    {"metrics-server": _resource, "prometheus-adapter": _custom},
    is_metering=True,
    apis=(
        Api("metrics.k8s.io", "v1beta1", "resource"),
        Api("custom.metrics.k8s.io", "v1beta2", "custom"),
    ),
    files=_files,
)
