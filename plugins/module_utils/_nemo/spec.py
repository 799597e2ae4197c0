# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The common part of the parsed spec of NeMo services; each kind has a `spec.py` for the rest.

Each field is parsed in one of these modules, and nowhere else. A missing field that the CRD
requires is a KeyError.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from .._base.types import Fields
from .._builders.env import EnvVar
from .._builders.expose import Expose, parse_expose
from .._builders.image import Image, parse_image
from .._builders.pod import DEFAULT_GROUP, DEFAULT_USER
from .._builders.pvc import Claim
from .database import Database

_SCHEDULING = ("nodeSelector", "tolerations", "affinity")
_EXPORTER = "otlp"
_EXCLUDED_URLS = ("health",)


@dataclass(frozen=True)
class SecretKey:
    """A key in a Secret."""

    secret: str
    key: str


@dataclass(frozen=True)
class Telemetry:
    """The settings of an enabled `spec.otel`."""

    endpoint: str
    traces_exporter: str
    metrics_exporter: str
    logs_exporter: str
    log_level: str
    excluded_urls: t.Sequence[str]
    instruments_logging: bool


@dataclass(frozen=True, kw_only=True)
class Spec:
    """The fields of all NeMo kinds; unset fields without a default are None.

    ``scheduling``: pod fields under their Kubernetes names. ``autoscaler``, ``service_monitor``:
    None if not enabled. ``claim``: the claim that must exist before the Deployment.
    """

    image: Image
    command: t.Sequence[str] | None
    args: t.Sequence[str] | None
    env: list[EnvVar]
    resources: Fields | None
    scheduling: Fields
    user: int
    group: int
    replicas: int | None
    autoscaler: Fields | None
    autoscaler_annotations: t.Mapping[str, str] | None
    service_monitor: Fields | None
    database: Database | None
    expose: Expose
    claim: Claim | None = None


def shared_fields(resource: Fields, default_group: int = DEFAULT_GROUP) -> dict[str, t.Any]:
    """The arguments of a `Spec`, without its claim."""
    given = resource["spec"]
    scale, metrics = given.get("scale") or {}, given.get("metrics") or {}
    database = given.get("databaseConfig")
    return {
        "image": parse_image(given["image"]),
        "command": given.get("command"),
        "args": given.get("args"),
        "env": given.get("env") or [],
        "resources": given.get("resources"),
        "scheduling": {
            **{name: given.get(name) for name in _SCHEDULING},
            "runtimeClassName": given.get("runtimeClass"),
        },
        "user": _number_of(given, "userID", DEFAULT_USER),
        "group": _number_of(given, "groupID", default_group),
        "replicas": given.get("replicas"),
        "autoscaler": (scale.get("hpa") or {}) if scale.get("enabled") else None,
        "autoscaler_annotations": scale.get("annotations"),
        "service_monitor": (
            (metrics.get("serviceMonitor") or {}) if metrics.get("enabled") else None
        ),
        "database": parse_database(database) if database else None,
        "expose": parse_expose(given.get("expose") or {}),
    }


def parse_database(given: Fields) -> Database:
    """`spec.databaseConfig`."""
    credentials = given["credentials"]
    return Database(
        given_host=str(given["host"]),
        port=int(given.get("port") or 5432),
        name=str(given["databaseName"]),
        user=str(credentials["user"]),
        secret=str(credentials["secretName"]),
        key=text_of(credentials, "passwordKey", "password"),
    )


def parse_telemetry(given: Fields | None) -> Telemetry | None:
    """`spec.otel`; None unless `enabled` is true."""
    if not given or not given.get("enabled"):
        return None
    exporters = given.get("exporterConfig") or {}
    excluded = given.get("excludedUrls")
    return Telemetry(
        endpoint=given.get("exporterOtlpEndpoint") or "",
        traces_exporter=exporters.get("tracesExporter") or _EXPORTER,
        metrics_exporter=exporters.get("metricsExporter") or _EXPORTER,
        logs_exporter=exporters.get("logsExporter") or _EXPORTER,
        log_level=given.get("logLevel") or "INFO",
        excluded_urls=_EXCLUDED_URLS if excluded is None else excluded,
        instruments_logging=not given.get("disableLogging"),
    )


def endpoint_of(given: Fields, service: str) -> str:
    """The URL of another service, from the spec."""
    return str(given[service]["endpoint"])


def text_of(given: Fields, name: str, default: str) -> str:
    """A text field, or its default if it is absent; an empty text is kept."""
    value = given.get(name)
    return default if value is None else str(value)


def _number_of(given: Fields, name: str, default: int) -> int:
    value = given.get(name)
    return default if value is None else int(value)
