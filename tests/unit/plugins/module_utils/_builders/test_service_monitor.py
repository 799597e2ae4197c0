# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._builders.service_monitor import (
    build_service_monitor,
)

NAME = "app.kubernetes.io/name"


def test_build_service_monitor(app: t.Any) -> None:
    given = {
        "interval": "30s",
        "scrapeTimeout": "",
        "additionalLabels": {NAME: "mine", "release": "r"},
        "annotations": {"a": "monitor", "b": "monitor"},
    }
    paths = {"api": "/v1/metrics", "metrics": "/metrics"}
    made = build_service_monitor(app(annotations={"a": "spec"}), paths, given)
    assert made["spec"] == {
        "namespaceSelector": {"matchNames": ["ns"]},
        "selector": {"matchLabels": {"app.kubernetes.io/instance": "a", NAME: "a"}},
        "endpoints": [
            {"path": "/v1/metrics", "port": "api", "interval": "30s"},
            {"path": "/metrics", "port": "metrics", "interval": "30s"},
        ],
    }
    labels = made["metadata"]["labels"]
    assert (labels[NAME], labels["release"]) == ("mine", "r"), "Prometheus selects by them"
    assert made["metadata"]["annotations"] == {"a": "spec", "b": "monitor"}


def test_build_service_monitor_defaults(app: t.Any) -> None:
    toy = app()
    made = build_service_monitor(toy, {"api": "/m"}, {})
    assert made["spec"]["endpoints"] == [{"path": "/m", "port": "api"}]
    assert made["metadata"]["labels"] == toy.labels
