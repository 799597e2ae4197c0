# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The Deployment and its pod template."""

from __future__ import annotations

from .._base.types import Fields, Json, Manifest
from .._engine.metadata import Labels
from .app import OPERATOR_VERSION_ANNOTATION, App
from .pod import without_empty
from .rollout import ROLLING_UPDATE


def build_deployment(
    app: App,
    template: Fields,
    selector: Labels,
    *,
    replicas: int | None = None,
    strategy: Fields | None = None,
    name: str = "",
    annotations: Labels | None = None,
) -> Manifest:
    """A Deployment; with ``replicas`` None, the field is left to its manager."""
    spec: Json = {
        "strategy": ROLLING_UPDATE if strategy is None else strategy,
        "selector": {"matchLabels": selector},
        "template": template,
    }
    if replicas is not None:
        spec["replicas"] = replicas
    given = app.annotations if annotations is None else annotations
    if version := app.observed.operator_version:
        given = {**given, OPERATOR_VERSION_ANNOTATION: version}
    return app.child("Deployment", spec, name=name, annotations=given)


def pod_template(
    app: App,
    pod: Fields,
    selector: Labels,
    live: Manifest | None = None,
    annotations: Labels | None = None,
) -> Json:
    """The template of pods that a Service selects by ``selector``; ``live``: their workload."""
    running = ((live or {}).get("spec") or {}).get("template") or {}
    metadata = {
        "labels": app.pod_labels(selector, running),
        "annotations": app.annotations if annotations is None else annotations,
    }
    return {"metadata": without_empty(metadata), "spec": pod}
