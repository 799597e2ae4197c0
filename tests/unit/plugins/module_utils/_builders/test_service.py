# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._builders.expose import parse_expose
from ansible_collections.nimops.nim.plugins.module_utils._builders.service import build_service

NAME = "app.kubernetes.io/name"


def test_build_service(app: t.Any) -> None:
    given = {
        "type": "NodePort",
        "labels": {NAME: "mine", "l": "1"},
        "annotations": {"a": "service", "b": "service"},
    }
    ports = {"api": 9000, "grpc": 9001}
    expose = parse_expose({"service": given})
    made = build_service(app(annotations={"a": "spec"}), ports, {"app": "a"}, expose, "front")
    assert made["metadata"]["name"] == "front"
    assert made["spec"] == {
        "type": "NodePort",
        "selector": {"app": "a"},
        "ports": [
            {"name": "api", "port": 9000, "protocol": "TCP", "targetPort": "api"},
            {"name": "grpc", "port": 9001, "protocol": "TCP", "targetPort": "grpc"},
        ],
    }
    labels = made["metadata"]["labels"]
    assert (labels[NAME], labels["l"]) == ("a", "1")
    assert made["metadata"]["annotations"] == {"a": "spec", "b": "service"}


@pytest.mark.parametrize("given", [{}, {"type": "", "labels": None, "annotations": None}])
def test_build_service_defaults(app: t.Any, given: t.Any) -> None:
    toy = app()
    made = build_service(toy, {"api": 80}, {"app": "a"}, parse_expose({"service": given}))
    assert (made["metadata"]["name"], made["spec"]["type"]) == ("a", "ClusterIP")
    assert made["metadata"]["labels"] == toy.labels
