# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The commands ask, logs and wait on a real API server, with only the documented permissions."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import model_server
import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.ask.command import AskCommand
from ansible_collections.nimops.nim.plugins.module_utils._commands.command import Command
from ansible_collections.nimops.nim.plugins.module_utils._commands.logs.command import LogsCommand
from ansible_collections.nimops.nim.plugins.module_utils._commands.wait.command import WaitCommand
from nimops_harness.cluster import kubectl

Json = dict[str, Any]
MODEL = model_server.DEFAULT_MODEL
ASK = ["get nimservices.apps.nvidia.com", "list services", "get,create services/proxy"]
LOGS = ["get nimservices.apps.nvidia.com", "list pods", "get pods/log"]
WAIT = ["get,list nimservices.apps.nvidia.com"]


class Console:
    """Collects what a command prints."""

    is_dry = wants_diff = False
    find_filters = name_command = None

    def __init__(self, client: Any) -> None:
        self.data: list[str] = []
        self.messages: list[str] = []
        self.print_data, self.print_message = self.data.append, self.messages.append
        self.connect = lambda _arguments: client

    def run(self, command: type[Command], **options: Any) -> Json:
        defaults = {name: option.get("default") for name, option in command.spec.items()}
        return command(self).act(defaults | options)  # type: ignore[arg-type]


def apply(*items: Json) -> None:
    kubectl(
        "apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    )


@pytest.fixture
def service(namespace: str) -> Iterator[str]:
    """A NIMService without an operator, with a Service and a simulated pod, and a model server."""
    names = {"name": "llm", "namespace": namespace}
    spec = {
        "image": {"repository": "registry.example/llm", "tag": "1"},
        "storage": {"emptyDir": {}},
        "expose": {"service": {"port": 8000}},
    }
    api = "apps.nvidia.com/v1alpha1"
    apply({"apiVersion": api, "kind": "NIMService", "metadata": names, "spec": spec})
    live = json.loads(kubectl("-n", namespace, "get", "nimservice", "llm", "-o", "json"))
    owner = {"apiVersion": api, "kind": "NIMService", "name": "llm", "controller": True}
    owned = {"ownerReferences": [owner | {"uid": live["metadata"]["uid"]}]}
    labels = {"labels": {"app.kubernetes.io/part-of": "nim-service"}}
    ports = [{"name": "api", "port": 8000}]
    apply(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": names | owned | labels,
            "spec": {"selector": {"app": "llm"}, "ports": ports},
        },
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": names | {"labels": {"app": "llm"}},
            "spec": {"containers": [{"name": "llm-ctr", "image": "registry.example/llm:1"}]},
        },
    )
    kubectl("-n", namespace, "wait", "pod/llm", "--for=condition=Ready", "--timeout=30s")
    models = model_server.Models(MODEL)
    proxy = model_server.start_proxy(models)
    models.replace([json.loads(kubectl("-n", namespace, "get", "service", "llm", "-o", "json"))])
    yield "llm"
    models.replace([])
    if proxy:
        proxy.shutdown()
        proxy.server_close()
    kubectl(
        "-n", namespace, "delete", "nimservice/llm", "service/llm", "pod/llm", "--ignore-not-found"
    )


def test_ask_minimal_permissions(act_as: Callable[..., Any], namespace: str, service: str) -> None:
    console = Console(act_as("asker", ASK, []))
    deadline = time.monotonic() + 20
    result: Json = {"failed": True}
    while result.get("failed") and time.monotonic() < deadline:  # until the Service has endpoints
        result = console.run(AskCommand, name=service, namespace=namespace)
    assert result.get("msg") is None
    assert console.data == [f"This is a simulated answer of {MODEL}."]
    assert result["server"] == f"Service {namespace}/llm"
    assert result["streamed"]


def test_ask_forbidden(act_as: Callable[..., Any], namespace: str, service: str) -> None:
    console = Console(act_as("listener", ASK[:2], []))
    result = console.run(AskCommand, name=service, namespace=namespace)
    assert result["exit_code"] == 2
    assert "must allow get on services/proxy" in result["msg"]


def test_logs_minimal_permissions(act_as: Callable[..., Any], namespace: str, service: str) -> None:
    console = Console(act_as("reader", LOGS, []))
    console.run(LogsCommand, resource=service, namespace=namespace, tail=2, all_pods=True)
    (text,) = console.data
    assert [line.partition(" ")[0] for line in text.splitlines()] == ["[llm]", "[llm]"]


def test_wait_minimal_permissions(act_as: Callable[..., Any], namespace: str, service: str) -> None:
    console = Console(act_as("waiter", WAIT, []))
    options = {"namespace": namespace, "timeout": 1, "resources": [f"nimservice/{service}"]}
    assert console.run(WaitCommand, **options)["exit_code"] == 2
    condition = {"type": "Ready", "status": "True", "reason": "Ready", "message": ""}
    stamped = condition | {"lastTransitionTime": "2026-01-01T00:00:00Z"}
    status = {"status": {"state": "Ready", "observedGeneration": 1, "conditions": [stamped]}}
    kubectl(
        "-n", namespace, "patch", "nimservice", service, "--subresource=status", "--type=merge",
        "--patch", json.dumps(status),
    )  # fmt: skip
    assert console.run(WaitCommand, **options)["exit_code"] == 0
    assert console.data == ["nimservice/llm: Ready condition met"]
