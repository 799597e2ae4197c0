# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The Deployment that serves the model."""

from __future__ import annotations

from dataclasses import replace

from ..._base.types import Json, Manifest
from ..._builders import deployment
from ..._builders.replicas import record_replicas
from ..._builders.rollout import build_strategy, lacks_pods
from ..._engine.reads import Read
from .app import NIMServiceApp
from .model_store import Store
from .pod.probes import model_probes
from .pod.running import Form, keep_running
from .pod.template import build_template
from .pod.variant import PodVariant
from .scaling import count_replicas, scaling_of
from .unready_pods import pods_read
from .workload import container_of, deployment_of, live_template, selector_labels


def build_deployment(app: NIMServiceApp, store: Store) -> Manifest:
    """Build the Deployment; NimError if the profile's GPU count is invalid."""
    live, selector = app.live(*deployment_of(app)), selector_labels(deployment_of(app))
    pods = app.observed.get(pods_read(app, deployment_of(app)).key) or []
    variant = PodVariant(container_of(app), live_template(app), model_probes(app.spec))

    def build(form: Form) -> Json:
        return build_template(app, store, replace(variant, **form._asdict()))

    running = keep_running(app, store, live_template(app), build)
    return deployment.build_deployment(
        app,
        running.pods,
        selector,
        replicas=count_replicas(app, live),
        strategy=build_strategy(live, pods),
        annotations={
            **app.annotations,
            **running.annotations,
            **record_replicas(app, scaling_of(app, live)),
        },
    )


def strategy_reads(app: NIMServiceApp) -> list[Read]:
    """The read of the pods while the Deployment lacks some."""
    deployment = deployment_of(app)
    return [pods_read(app, deployment)] if lacks_pods(app.live(*deployment)) else []
