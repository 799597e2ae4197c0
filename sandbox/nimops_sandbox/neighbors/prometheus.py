# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Prometheus, which scrapes the metrics of simulated pods, and the targets of files."""

from __future__ import annotations

from typing import Any

from .base import Neighbor, Place

WEB = "web"


def url_of(place: Place) -> str:
    """Return the address of the Prometheus of an instance."""
    return f"http://127.0.0.1:{place.ports.neighbor('prometheus', WEB)}"


def _files(place: Place) -> dict[str, Any]:
    trust = {"ca_file": str(place.ca)}
    configuration = {
        "global": {"scrape_interval": "2s", "scrape_timeout": "2s", "evaluation_interval": "2s"},
        # POST /-/reload reads new files with rules; those with targets are watched.
        "rule_files": [str(place.folder / "rules/*.yaml")],
        "scrape_configs": [
            {
                "job_name": "pods",
                "tls_config": trust,
                "http_sd_configs": [
                    {
                        "url": f"https://127.0.0.1:{place.ports.kwok}/discovery/prometheus",
                        "refresh_interval": "5s",
                        "tls_config": trust,
                    }
                ],
            },
            {
                "job_name": "files",
                "tls_config": trust,
                "fallback_scrape_protocol": "PrometheusText0.0.4",
                "file_sd_configs": [{"files": [str(place.folder / "targets/*.yaml")]}],
            },
        ],
    }
    # The folders exist from the start.
    return {
        "prometheus.yaml": configuration,
        "url": url_of(place),
        "targets/none.yaml": [],
        "rules/none.yaml": {"groups": []},
    }


def _arguments(place: Place) -> list[str]:
    return [
        f"--config.file={place.folder / 'prometheus.yaml'}",
        f"--storage.tsdb.path={place.folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{place.port(WEB)}",
        "--web.enable-lifecycle",
        # `promtool push metrics` sets a metric.
        "--web.enable-remote-write-receiver",
        # A pushed metric stays.
        "--query.lookback-delta=1h",
        "--log.level=warn",
    ]


PROMETHEUS = Neighbor("prometheus", {"prometheus": _arguments}, files=_files, is_metering=True)
