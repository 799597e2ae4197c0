# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""KServe's controller of InferenceServices."""

from __future__ import annotations

from typing import Any

from .base import Neighbor, Place, Webhook

_NAME = "kserve-controller-manager"
_NAMESPACE = "kserve"
# A label that KServe gives its pods: their webhook does not apply to others.
_OF_SERVICE = {
    "matchExpressions": [{"key": "serving.kserve.io/inferenceservice", "operator": "Exists"}]
}


def _arguments(place: Place) -> list[str]:
    return [
        f"--kubeconfig={place.kubeconfig}",
        f"--webhook-port={place.port()}",
        f"--webhook-cert-dir={place.folder}",
    ]


def _objects(_: Place) -> list[dict[str, Any]]:
    """Return the namespace, and the Deployment that the program replaces."""
    labels = {"control-plane": _NAME}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": _NAMESPACE}},
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": _NAME, "namespace": _NAMESPACE, "labels": labels},
            "spec": {
                "replicas": 0,
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"containers": [{"name": "manager", "image": _NAME}]},
                },
            },
        },
    ]


KSERVE = Neighbor(
    "kserve",
    {_NAME: _arguments},
    definitions={
        "github.com/kserve/kserve": [
            f"config/crd/full/serving.kserve.io_{plural}.yaml"
            for plural in ("clusterservingruntimes", "servingruntimes", "trainedmodels")
        ],
    },
    webhooks=(
        Webhook(
            "inferenceservice.kserve-webhook-server.defaulter",
            "mutate-serving-kserve-io-v1beta1-inferenceservice",
            "serving.kserve.io",
            "inferenceservices",
            mutates=True,
            versions=("v1beta1",),
        ),
        Webhook(
            "inferenceservice.kserve-webhook-server.pod-mutator",
            "mutate-pods",
            "",
            "pods",
            mutates=True,
            operations=("CREATE",),
            selector=_OF_SERVICE,
        ),
        Webhook(
            "inferenceservice.kserve-webhook-server.validator",
            "validate-serving-kserve-io-v1beta1-inferenceservice",
            "serving.kserve.io",
            "inferenceservices",
            versions=("v1beta1",),
        ),
    ),
    objects=_objects,
    manifests=("config/configmap/inferenceservice.yaml",),
)
