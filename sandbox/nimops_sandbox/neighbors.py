# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Neighbors: controllers of other projects that an instance runs if SANDBOX_WITH names them."""

from __future__ import annotations

import base64
import json
import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import thirdparty
from .gocache import GoCache
from .ports import Ports
from .tools import NEIGHBOR_TOOLS, Tool

# A label that LWS gives its pods: their webhooks do not apply to others.
_OF_GROUP = {
    "matchExpressions": [{"key": "leaderworkerset.sigs.k8s.io/name", "operator": "Exists"}]
}


@dataclass(frozen=True)
class Webhook:
    """An admission webhook that the controller serves at `path`, for one resource."""

    name: str
    path: str
    group: str
    resource: str
    mutates: bool = False
    operations: tuple[str, ...] = ("CREATE", "UPDATE")
    selector: dict[str, Any] | None = None


@dataclass(frozen=True)
class Neighbor:
    """How an instance runs a controller.

    definitions: globs in its module, of resource definitions that only the controller needs.
    arguments: of its program, for the folder with its files. configuration: the content of
    config.yaml in that folder.
    """

    name: str
    definitions: tuple[str, ...]
    webhooks: tuple[Webhook, ...]
    arguments: Callable[[Path], list[str]]
    configuration: Callable[[Path, int], dict[str, Any]]

    @property
    def tool(self) -> Tool:
        return NEIGHBOR_TOOLS[self.name]

    @property
    def program(self) -> str:
        return next(iter(self.tool.packages))


def _lws_configuration(folder: Path, port: int) -> dict[str, Any]:
    return {
        "apiVersion": "config.lws.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        # The certificate is the sandbox's.
        "internalCertManagement": {"enable": False},
        "webhook": {"host": "127.0.0.1", "port": port, "certDir": str(folder)},
        "metrics": {"bindAddress": "0"},
        "health": {"healthProbeBindAddress": "0"},
    }


_TABLE = (
    Neighbor(
        "lws",
        ("config/crd/bases/disaggregatedset.x-k8s.io_disaggregatedsets.yaml",),
        (
            Webhook(
                "mleaderworkerset.kb.io",
                "mutate-leaderworkerset-x-k8s-io-v1-leaderworkerset",
                "leaderworkerset.x-k8s.io",
                "leaderworkersets",
                mutates=True,
            ),
            Webhook(
                "mpod.kb.io",
                "mutate--v1-pod",
                "",
                "pods",
                mutates=True,
                operations=("CREATE",),
                selector=_OF_GROUP,
            ),
            Webhook(
                "vleaderworkerset.kb.io",
                "validate-leaderworkerset-x-k8s-io-v1-leaderworkerset",
                "leaderworkerset.x-k8s.io",
                "leaderworkersets",
            ),
            Webhook("vpod.kb.io", "validate--v1-pod", "", "pods", selector=_OF_GROUP),
        ),
        lambda folder: [f"--config={folder / 'config.yaml'}", "--zap-devel=false"],
        _lws_configuration,
    ),
)
BY_NAME = {neighbor.name: neighbor for neighbor in _TABLE}


def programs_of(names: Iterable[str]) -> tuple[str, ...]:
    """Return the controllers' programs, which are named after their projects."""
    return tuple(BY_NAME[name].program for name in names)


def ports_of(program: str, ports: Ports) -> list[int]:
    """Return the ports that a controller's program listens on; none for another program."""
    return [ports.neighbor(it.name) for it in _TABLE if it.program == program]


def command_lines(directory: Path, names: Iterable[str]) -> dict[str, list[str]]:
    """Return program and arguments of each controller, by program."""
    kubeconfig = f"--kubeconfig={directory / 'kubeconfig'}"
    return {
        it.program: [
            str(directory / "bin" / it.program),
            kubeconfig,
            *it.arguments(_folder(directory, it.name)),
        ]
        for it in map(BY_NAME.__getitem__, names)
    }


def provide_definitions(cache: GoCache, names: Iterable[str]) -> list[Path]:
    """Return the files with the resource definitions that only these controllers need."""
    return [
        path
        for it in map(BY_NAME.__getitem__, names)
        for path in thirdparty.provide_files(
            cache, it.tool.source, {it.tool.versioned: it.definitions}
        )
    ]


def write_files(directory: Path, ports: Ports, name: str) -> Path:
    """Write configuration and certificate of a controller; return the file of its webhooks."""
    folder, pki, port = _folder(directory, name), directory / "pki", ports.neighbor(name)
    folder.mkdir(parents=True, exist_ok=True)
    for link, target in (("tls.crt", "server.crt"), ("tls.key", "server.key")):
        if not (folder / link).is_symlink():  # the controller watches them
            (folder / link).symlink_to(pki / target)
    neighbor, webhooks = BY_NAME[name], folder / "webhooks.yaml"
    _write_json(folder / "config.yaml", neighbor.configuration(folder, port))
    _write_json(webhooks, webhook_configurations(neighbor, port, (pki / "ca.crt").read_bytes()))
    return webhooks


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def webhook_configurations(neighbor: Neighbor, port: int, ca: bytes) -> dict[str, Any]:
    """Return a list of the objects that register the webhooks at this port of loopback."""
    items = []
    for mutates, word in ((True, "Mutating"), (False, "Validating")):
        hooks = [_registration(it, port, ca) for it in neighbor.webhooks if it.mutates == mutates]
        if hooks:
            items.append(
                {
                    "apiVersion": "admissionregistration.k8s.io/v1",
                    "kind": f"{word}WebhookConfiguration",
                    "metadata": {"name": f"{neighbor.name}-{word.lower()}-webhook-configuration"},
                    "webhooks": hooks,
                }
            )
    return {"apiVersion": "v1", "kind": "List", "items": items}


def _registration(webhook: Webhook, port: int, ca: bytes) -> dict[str, Any]:
    rule = {
        "apiGroups": [webhook.group],
        "apiVersions": ["v1"],
        "operations": list(webhook.operations),
        "resources": [webhook.resource],
    }
    return {
        "name": webhook.name,
        "admissionReviewVersions": ["v1"],
        "clientConfig": {
            "url": f"https://127.0.0.1:{port}/{webhook.path}",
            "caBundle": base64.b64encode(ca).decode(),
        },
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "rules": [rule],
        **({"objectSelector": webhook.selector} if webhook.selector else {}),
    }


def _folder(directory: Path, name: str) -> Path:
    return directory / "neighbors" / name


def _write_json(path: Path, content: dict[str, Any]) -> None:
    """Write it as JSON, which is also YAML."""
    path.write_text(json.dumps(content, indent=1) + "\n")
