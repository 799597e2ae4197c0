# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nemo.spec import parse_telemetry
from ansible_collections.nimops.nim.plugins.module_utils._nemo.telemetry import telemetry_env

Json = dict[str, t.Any]

OFF = ["OTEL_SDK_DISABLED=true"]
ON = {
    "ENDPOINT": "OTEL_EXPORTER_OTLP_ENDPOINT=",
    "TRACES": "OTEL_TRACES_EXPORTER=otlp",
    "METRICS": "OTEL_METRICS_EXPORTER=otlp",
    "LOGS": "OTEL_LOGS_EXPORTER=otlp",
    "LEVEL": "OTEL_LOG_LEVEL=INFO",
    "URLS": "OTEL_PYTHON_EXCLUDED_URLS=health",
    "LOGGING": "OTEL_PYTHON_LOGGING_AUTO_INSTRUMENTATION_ENABLED=true",
}


@pytest.mark.parametrize("given", [None, {}, {"enabled": False, "logLevel": "DEBUG"}])
def test_telemetry_env_off(nemo: t.Any, given: Json | None) -> None:
    assert nemo.rows(telemetry_env(parse_telemetry(given))) == OFF


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        pytest.param({}, {}, id="defaults"),
        pytest.param(
            {
                "exporterOtlpEndpoint": "http://otel:4317",
                "exporterConfig": {
                    "tracesExporter": "console",
                    "metricsExporter": "none",
                    "logsExporter": "console",
                },
                "logLevel": "DEBUG",
                "disableLogging": True,
                "excludedUrls": ["a", "b"],
            },
            {
                "ENDPOINT": "OTEL_EXPORTER_OTLP_ENDPOINT=http://otel:4317",
                "TRACES": "OTEL_TRACES_EXPORTER=console",
                "METRICS": "OTEL_METRICS_EXPORTER=none",
                "LOGS": "OTEL_LOGS_EXPORTER=console",
                "LEVEL": "OTEL_LOG_LEVEL=DEBUG",
                "URLS": "OTEL_PYTHON_EXCLUDED_URLS=a,b",
                "LOGGING": "OTEL_PYTHON_LOGGING_AUTO_INSTRUMENTATION_ENABLED=false",
            },
            id="all given",
        ),
        pytest.param({"excludedUrls": []}, {"URLS": None}, id="no URL is excluded"),
        pytest.param({"disableLogging": False}, {}, id="logging explicitly on"),
    ],
)
def test_telemetry_env_on(nemo: t.Any, given: Json, wanted: Json) -> None:
    found = nemo.rows(telemetry_env(parse_telemetry({"enabled": True} | given)))
    assert [row.removesuffix("=") for row in found] == [
        row.removesuffix("=") for row in (ON | wanted).values() if row
    ]
