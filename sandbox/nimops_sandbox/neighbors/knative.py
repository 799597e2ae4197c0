# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Knative Serving."""

from __future__ import annotations

from typing import Any

from .base import Neighbor, Place

_PROGRAM = "knative-serving"
_NAMESPACE = "knative-serving"
# Images that no container engine pulls: Knative does not resolve their tags.
_REGISTRIES = ("registry.example", "nvcr.io", "index.docker.io")
# Knative's controllers write the rules and the certificate of these.
_WEBHOOKS = {
    "webhook.serving.knative.dev": "Mutating",
    "validation.webhook.serving.knative.dev": "Validating",
}
_OF_SETTINGS = "config.webhook.serving.knative.dev"


def _arguments(place: Place) -> list[str]:
    return [f"--kubeconfig={place.kubeconfig}", f"--webhook-port={place.port()}"]


def _objects(place: Place) -> list[dict[str, Any]]:
    port = place.port()
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": _NAMESPACE}},
        _config_map("config-network", {"ingress-class": "sandbox.ingress.networking.knative.dev"}),
        _config_map(
            "config-deployment",
            {
                "queue-sidecar-image": "registry.example/knative/queue-proxy",
                "registries-skipping-tag-resolving": ",".join(_REGISTRIES),
            },
        ),
        {"apiVersion": "v1", "kind": "Secret", "metadata": _named("webhook-certs")},
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": _named("webhook"),
            "spec": {
                "type": "ExternalName",
                "externalName": "127.0.0.1",
                "ports": [{"port": port}],
            },
        },
        *(_webhook(name, word, port) for name, word in _WEBHOOKS.items()),
        _webhook(
            _OF_SETTINGS,
            "Validating",
            port,
            objectSelector={"matchLabels": {"app.kubernetes.io/name": "knative-serving"}},
        ),
        *_simulated(),
    ]


def _simulated() -> list[dict[str, Any]]:
    """Return the Service of the gateway, which the model server plays, and a simulated activator.

    Knative sends requests to a revision without pods to the activator, so it must have an address.
    """
    pods = {"app": "activator"}
    container = {"name": "activator", "image": "registry.example/knative/activator"}
    return [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {
                **_named("gateway"),
                "labels": {"app.kubernetes.io/part-of": "nim-service"},
            },
            "spec": {"ports": [{"name": "api", "port": 80, "targetPort": 8012}]},
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": _named("activator-service"),
            "spec": {
                "selector": pods,
                "ports": [
                    {"name": "http", "port": 80, "targetPort": 8012},
                    {"name": "http2", "port": 81, "targetPort": 8013},
                ],
            },
        },
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": _named("activator"),
            "spec": {
                "selector": {"matchLabels": pods},
                "template": {"metadata": {"labels": pods}, "spec": {"containers": [container]}},
            },
        },
    ]


def _named(name: str) -> dict[str, Any]:
    return {"name": name, "namespace": _NAMESPACE}


def _config_map(name: str, data: dict[str, str]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": _named(name), "data": data}


def _webhook(name: str, word: str, port: int, **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{word}WebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [
            {
                "name": name,
                "admissionReviewVersions": ["v1"],
                "clientConfig": {"service": {**_named("webhook"), "port": port}},
                "failurePolicy": "Fail",
                "sideEffects": "None",
                **more,
            }
        ],
    }


KNATIVE = Neighbor(
    "knative",
    {_PROGRAM: _arguments},
    definitions={
        "knative.dev/serving": ["config/core/300-resources/*.yaml"],
        "knative.dev/networking": [
            f"config/{name}.yaml"
            for name in ("certificate", "domain-claim", "ingress", "serverlessservice")
        ],
        "knative.dev/caching": ["config/image.yaml"],
    },
    objects=_objects,
    # Without those above.
    manifests=tuple(
        f"config/core/configmaps/{name}.yaml"
        for name in (
            "autoscaler",
            "defaults",
            "domain",
            "features",
            "gc",
            "leader-election",
            "logging",
            "observability",
        )
    ),
    environs={
        _PROGRAM: {
            "SYSTEM_NAMESPACE": _NAMESPACE,
            "CONFIG_LOGGING_NAME": "config-logging",
            "CONFIG_OBSERVABILITY_NAME": "config-observability",
        }
    },
)
