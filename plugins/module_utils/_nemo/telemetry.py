# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""`spec.otel`: OpenTelemetry, as environment variables."""

from __future__ import annotations

import typing as t

from .._builders.env import EnvVar, env

_DEFAULT = "otlp"
_EXCLUDED_URLS = ("health",)


def telemetry_env(given: t.Mapping[str, t.Any] | None) -> list[EnvVar]:
    """The variables, in order; one that turns it off unless `enabled` is true."""
    otel = given or {}
    if not otel.get("enabled"):
        return env(OTEL_SDK_DISABLED="true")
    exporters = otel.get("exporterConfig") or {}
    excluded = otel.get("excludedUrls")
    urls = ",".join(_EXCLUDED_URLS if excluded is None else excluded)
    return [
        *env(
            OTEL_EXPORTER_OTLP_ENDPOINT=otel.get("exporterOtlpEndpoint") or "",
            OTEL_TRACES_EXPORTER=exporters.get("tracesExporter") or _DEFAULT,
            OTEL_METRICS_EXPORTER=exporters.get("metricsExporter") or _DEFAULT,
            OTEL_LOGS_EXPORTER=exporters.get("logsExporter") or _DEFAULT,
            OTEL_LOG_LEVEL=otel.get("logLevel") or "INFO",
        ),
        *(env(OTEL_PYTHON_EXCLUDED_URLS=urls) if urls else []),
        *env(
            OTEL_PYTHON_LOGGING_AUTO_INSTRUMENTATION_ENABLED=(
                "false" if otel.get("disableLogging") else "true"
            ),
        ),
    ]
