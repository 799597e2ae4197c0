# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Environment variables for OpenTelemetry."""

from __future__ import annotations

from .._builders.env import EnvVar, env
from .spec import Telemetry


def telemetry_env(given: Telemetry | None) -> list[EnvVar]:
    """The variables, in order; without telemetry, the one that turns it off."""
    if not given:
        return env(OTEL_SDK_DISABLED="true")
    urls = ",".join(given.excluded_urls)
    return [
        *env(
            OTEL_EXPORTER_OTLP_ENDPOINT=given.endpoint,
            OTEL_TRACES_EXPORTER=given.traces_exporter,
            OTEL_METRICS_EXPORTER=given.metrics_exporter,
            OTEL_LOGS_EXPORTER=given.logs_exporter,
            OTEL_LOG_LEVEL=given.log_level,
        ),
        *(env(OTEL_PYTHON_EXCLUDED_URLS=urls) if urls else []),
        *env(
            OTEL_PYTHON_LOGGING_AUTO_INSTRUMENTATION_ENABLED=(
                "true" if given.instruments_logging else "false"
            ),
        ),
    ]
