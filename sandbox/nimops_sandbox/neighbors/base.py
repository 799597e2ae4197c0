# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The description of a neighbor, a controller of another project, and its webhooks."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..ports import NEIGHBORS, Ports
from ..thirdparty import Files
from ..tools import NEIGHBOR_TOOLS, Tool

WEBHOOK = "webhook"


@dataclass(frozen=True)
class Place:
    """Where an instance runs a neighbor.

    directory: of the instance. folder: with the neighbor's files, and the sandbox's certificate as
    tls.crt and tls.key, and its authority's as ca.crt.
    """

    name: str
    directory: Path
    ports: Ports

    @property
    def folder(self) -> Path:
        return self.directory / "neighbors" / self.name

    @property
    def kubeconfig(self) -> Path:
        return self.directory / "kubeconfig"

    @property
    def ca(self) -> Path:
        """The certificate of the authority that signs the API server's and the neighbors'."""
        return self.directory / "pki/ca.crt"

    @property
    def client(self) -> Path:
        """A folder with a client's certificate as tls.crt and tls.key."""
        return self.folder / "client"

    def port(self, purpose: str = WEBHOOK) -> int:
        return self.ports.neighbor(self.name, purpose)


@dataclass(frozen=True)
class Webhook:
    """An admission webhook that the controller serves at `path`, for one resource."""

    name: str
    path: str
    group: str
    resource: str
    mutates: bool = False
    operations: tuple[str, ...] = ("CREATE", "UPDATE")
    versions: tuple[str, ...] = ("v1",)
    selector: dict[str, Any] | None = None


@dataclass(frozen=True)
class Api:
    """An aggregated API that a program serves at the neighbor's port for `purpose`."""

    group: str
    version: str
    purpose: str


@dataclass(frozen=True)
class Neighbor:
    """How an instance runs the programs of a project.

    programs: the arguments of each, in start order. definitions: globs by module that its go.mod
    pins, of resource definitions that only the neighbor needs. files: the content of its files, by
    name; JSON, which is YAML, for anything but text. objects: to apply before it starts.
    manifests: globs in its module, of objects to apply after those. environs: variables of a
    program's environment. is_metering: whether it reads the metrics of simulated pods. runner: a
    program of the sandbox that runs the only one, whose path and arguments it gets.
    """

    name: str
    programs: Mapping[str, Callable[[Place], list[str]]]
    definitions: Files = field(default_factory=dict)
    webhooks: tuple[Webhook, ...] = ()
    apis: tuple[Api, ...] = ()
    files: Callable[[Place], dict[str, Any]] = lambda _: {}
    objects: Callable[[Place], list[dict[str, Any]]] = lambda _: []
    manifests: tuple[str, ...] = ()
    environs: Mapping[str, dict[str, str]] = field(default_factory=dict)
    is_metering: bool = False
    runner: str = ""

    @property
    def tool(self) -> Tool:
        return NEIGHBOR_TOOLS[self.name]

    @property
    def purposes(self) -> tuple[str, ...]:
        """The names of its ports, which all listen when it serves."""
        return NEIGHBORS[self.name]


def webhook_configurations(neighbor: Neighbor, place: Place) -> list[dict[str, Any]]:
    """Return the objects that register the webhooks at their port of loopback."""
    items = []
    for mutates, word in ((True, "Mutating"), (False, "Validating")):
        hooks = [_registration(it, place) for it in neighbor.webhooks if it.mutates == mutates]
        if hooks:
            items.append(
                {
                    "apiVersion": "admissionregistration.k8s.io/v1",
                    "kind": f"{word}WebhookConfiguration",
                    "metadata": {"name": f"{neighbor.name}-{word.lower()}-webhook-configuration"},
                    "webhooks": hooks,
                }
            )
    return items


def api_registrations(neighbor: Neighbor, place: Place) -> list[dict[str, Any]]:
    """Return the objects that register the aggregated APIs at their ports of loopback."""
    return [item for api in neighbor.apis for item in _api_objects(api, place)]


def _api_objects(api: Api, place: Place) -> list[dict[str, Any]]:
    service = {"name": f"sandbox-{place.name}-{api.purpose}", "namespace": "kube-system"}
    port = place.port(api.purpose)
    return [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": service,
            "spec": {
                "type": "ExternalName",
                "externalName": "127.0.0.1",
                "ports": [{"port": port}],
            },
        },
        {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": f"{api.version}.{api.group}"},
            "spec": {
                "group": api.group,
                "version": api.version,
                "groupPriorityMinimum": 100,
                "versionPriority": 100,
                # The certificate is that of an address, not of a Service.
                "insecureSkipTLSVerify": True,
                "service": {**service, "port": port},
            },
        },
    ]


def _registration(webhook: Webhook, place: Place) -> dict[str, Any]:
    rule = {
        "apiGroups": [webhook.group],
        "apiVersions": list(webhook.versions),
        "operations": list(webhook.operations),
        "resources": [webhook.resource],
    }
    return {
        "name": webhook.name,
        "admissionReviewVersions": ["v1"],
        "clientConfig": {
            "url": f"https://127.0.0.1:{place.port()}/{webhook.path}",
            "caBundle": base64.b64encode(place.ca.read_bytes()).decode(),
        },
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "rules": [rule],
        **({"objectSelector": webhook.selector} if webhook.selector else {}),
    }
