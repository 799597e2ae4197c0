# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Model servers as NVIDIA, vLLM and TensorRT-LLM make them, and a cluster with one."""

from __future__ import annotations

import json

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._commands.ask.command import AskCommand
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import api_path

EVENTS = {"Content-Type": "text/event-stream; charset=utf-8"}
JSON = {"Content-Type": "application/json"}
PROXY = "/api/v1/namespaces/nim/services/llm:8000/proxy"
SERVICE = api_path("NIMService", "nim", "llm")
DEFAULTS = {name: option.get("default") for name, option in AskCommand.spec.items()}


def stream_of(*events, end="data: [DONE]\n\n"):
    """The body of a stream."""
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events) + end


def words(*texts, key="delta", tokens=None):
    """The events of a generated text."""
    choices = [{"delta": {"content": text}} if key == "delta" else {key: text} for text in texts]
    events = [{"choices": [{"index": 0, **choice}]} for choice in choices]
    events.append(
        {"choices": [{"index": 0, key: {} if key == "delta" else "", "finish_reason": "stop"}]}
    )
    if tokens is not None:
        events.append({"choices": [], "usage": {"completion_tokens": tokens}})
    return events


class Nim:
    """A model server. ``routes``: path → answer, or a function that makes one of a request."""

    def __init__(self, answer):
        self.answer = answer
        self.model = "acme/llm"
        self.routes = {"/v1/models": lambda _request: answer(200, self.listed(), JSON)}

    def listed(self):
        return {"object": "list", "data": [{"id": self.model, "root": self.model}]}

    def add(self, path, body, status=200, headers=JSON):
        self.routes[path] = lambda _request: self.answer(status, body, headers)

    def add_stream(self, path, *events, **options):
        self.add(path, stream_of(*events, **options), headers=EVENTS)

    def respond(self, request):
        route = self.routes.get(request.path)
        return route(request) if route else self.answer(404, {"detail": "Not Found"}, JSON)


class Harness:
    """A console, and a cluster whose Service proxy leads to the model server."""

    is_dry = wants_diff = False
    find_filters = name_command = None

    def __init__(self, cluster, client, nim):
        self.cluster, self.client, self.nim = cluster, client, nim
        self.data, self.messages, self.stdin = [], [], ""
        self.print_data, self.print_message = self.data.append, self.messages.append
        self.asked = []
        self.proxy = PROXY
        self._respond = cluster.server.respond
        cluster.server.respond = self.respond

    def connect(self, _arguments):
        return self.client

    def read_stdin(self, _path):
        return self.stdin

    def respond(self, request):
        if not request.path.startswith(self.proxy):
            return self._respond(request)
        planned = self.cluster.refuse.get((request.method, request.path))
        if planned:
            return planned.pop(0)
        request.path = request.path.removeprefix(self.proxy)
        self.asked.append(request)
        return self.nim.respond(request)

    def put(self, kind, name, **fields):
        metadata = {"name": name, "namespace": "nim", "uid": f"uid-{kind}-{name}"}
        metadata |= fields.pop("metadata", {})
        item = {"kind": kind, "metadata": metadata, **fields}
        self.cluster.put(api_path(kind, "nim", name), item)
        return item

    def put_service(self, resource="llm", state="Ready", conditions=(), owner=None, **model):
        owners = {"ownerReferences": [{"controller": True, "uid": owner}]} if owner else {}
        status = {"state": state, "conditions": list(conditions), "model": model}
        made = self.put("NIMService", resource, metadata=owners, spec={}, status=status)
        ports = [{"name": "grpc", "port": 8001}, {"name": "api", "port": 8000}]
        uid = made["metadata"]["uid"]
        owners = {"ownerReferences": [{"controller": True, "uid": uid, "kind": "NIMService"}]}
        self.put(
            "Service", resource, metadata=owners, spec={"clusterIP": "10.0.0.1", "ports": ports}
        )

    def ask(self, name="llm", **options):
        return AskCommand(self).act(DEFAULTS | {"namespace": "nim", "name": name} | options)


@pytest.fixture
def nim(answer):
    return Nim(answer)


@pytest.fixture
def harness(cluster, tmp_path, nim):
    made = Harness(cluster, Client(cluster.kubeconfig(tmp_path)), nim)
    made.put_service()
    return made


@pytest.fixture
def make_words():
    return words


@pytest.fixture
def make_stream():
    return stream_of
