# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""KEDA, which creates autoscalers, serves their metrics, and scales to and from zero itself."""

from __future__ import annotations

from .base import Api, Neighbor, Place
from .metrics import serving


def _operator(place: Place) -> list[str]:
    return [
        f"--kubeconfig={place.kubeconfig}",
        f"--metrics-service-bind-address=127.0.0.1:{place.port('operator')}",
        f"--cert-dir={place.folder}",
        "--metrics-bind-address=0",
        "--health-probe-bind-address=0",
        "--enable-webhook-patching=false",
        "--enable-apiservice-patching=false",
    ]


def _metrics(place: Place) -> list[str]:
    return [
        *serving(place, "external"),
        f"--kubeconfig={place.kubeconfig}",
        f"--lister-kubeconfig={place.kubeconfig}",
        f"--metrics-service-address=127.0.0.1:{place.port('operator')}",
        f"--cert-dir={place.client}",
    ]


_VARIABLES = {"WATCH_NAMESPACE": "", "KEDA_CLUSTER_OBJECT_NAMESPACE": "kube-system"}

KEDA = Neighbor(
    "keda",
    {"keda-operator": _operator, "keda-metrics-apiserver": _metrics},
    environs={"keda-operator": _VARIABLES, "keda-metrics-apiserver": _VARIABLES},
    apis=(Api("external.metrics.k8s.io", "v1beta1", "external"),),
    definitions={
        "github.com/kedacore/keda/v2": [
            "config/crd/bases/eventing.keda.sh_*.yaml",
            "config/crd/bases/keda.sh_*.yaml",
        ]
    },
)
