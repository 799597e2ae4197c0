# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Custom resources in users' notation, and a program that runs commands."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client

API = "apps.nvidia.com/v1alpha1"


def service(name="llm", **spec):
    return {
        "apiVersion": API,
        "kind": "NIMService",
        "metadata": {"name": name, "namespace": "nim"},
        "spec": {
            "image": {"repository": "registry.example/llm", "tag": "1"},
            "storage": {"emptyDir": {}},
            "expose": {"service": {"port": 8000}},
            "inferencePlatform": "standalone",
            "replicas": 1,
            **spec,
        },
    }


def cache(name="models", **model):
    source = {
        "ngc": {
            "modelPuller": "registry.example/llm:1",
            "pullSecret": "pull",
            "authSecret": "auth",
            "model": model,
        }
    }
    pvc = {"create": True, "size": "10Gi", "volumeAccessMode": "ReadWriteOnce"}
    return {
        "apiVersion": API,
        "kind": "NIMCache",
        "metadata": {"name": name, "namespace": "nim"},
        "spec": {"source": source, "storage": {"pvc": pvc}},
    }


@pytest.fixture
def make_service():
    return service


@pytest.fixture
def make_cache():
    return cache


class Program:
    """Runs commands on a cluster, in the namespace nim, and keeps what they print."""

    wants_diff = is_dry = False

    def __init__(self, cluster, client):
        self.cluster, self._client = cluster, client
        self.data, self.messages = [], []
        self.print_data, self.print_message = self.data.append, self.messages.append
        self.variables = {}

    def connect(self, _arguments):
        return self._client

    def find_filters(self):
        return None

    def add_operator(self):
        """An operator that serves all namespaces."""
        metadata = {"name": "nimops", "namespace": "nimops-system"}
        metadata["labels"] = {"app.kubernetes.io/name": "nimops"}
        spec = {"replicas": 1, "template": {"spec": {"containers": []}}}
        path = "/apis/apps/v1/namespaces/nimops-system/deployments/nimops"
        self.cluster.put(path, {"kind": "Deployment", "metadata": metadata, "spec": spec})

    @staticmethod
    def name_command(command, **_options):
        return f"kubectl nim {command}"

    @staticmethod
    def name_option(key, value):
        return f"--{key}={value}"

    def __call__(self, command, *, is_dry=False, **arguments):
        self.is_dry = is_dry
        defaults = {name: option.get("default") for name, option in command.spec.items()}
        return command(self).act(defaults | {"namespace": "nim"} | arguments)


@pytest.fixture
def run(cluster, tmp_path):
    return Program(cluster, Client(cluster.kubeconfig(tmp_path)))


@pytest.fixture
def denied(answer):
    return answer(403, {"message": "forbidden"})


@pytest.fixture
def invalid(answer):
    return answer(422, {"message": "spec.replicas: Invalid value"})
