# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._nim.service.scraping import build_scraping


def test_build_scraping(make):
    monitor = {
        "additionalLabels": {"app.kubernetes.io/part-of": "mine", "release": "r"},
        "annotations": {"a": "1"},
        "interval": "30s",
    }
    spec = {
        "expose": {"service": {"grpcPort": 81, "metricsPort": 82}},
        "metrics": {"enabled": True, "serviceMonitor": monitor},
    }
    made = build_scraping(make.app(spec, operator={"version": "7"}))
    assert made["metadata"]["labels"]["app.kubernetes.io/part-of"] == "mine"
    assert made["metadata"]["labels"]["release"] == "r"
    assert made["metadata"]["annotations"]["a"] == "1"
    assert made["spec"] == {
        "namespaceSelector": {"matchNames": ["ns"]},
        "selector": {
            "matchLabels": {"app.kubernetes.io/instance": "llm", "app.kubernetes.io/name": "llm"}
        },
        "endpoints": [
            {"path": "/v1/metrics", "port": "api", "interval": "30s"},
            {"path": "/metrics", "port": "metrics", "interval": "30s"},
        ],
    }
