# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Custom resources in users' notation."""

from __future__ import annotations

import pytest

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
