# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The Deployment that serves the model."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.desired import Manifest
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.autoscaling import (
    choose_replicas,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.features import (
    Resource,
    name_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.metadata import (
    build,
    nim_annotations,
    service_labels,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.part import Part
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.pod import build_template
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.probes import build_probes
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.store import Store
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.strategy import build_strategy
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.workload import (
    container_of,
    deployment_of,
    live_template,
    selector_labels,
)


def build_deployment(cr: Resource, observed: Observed, store: Store) -> Manifest:
    """The Deployment. NimError if the profile's GPU count cannot be read."""
    replicas = choose_replicas(cr, observed.object("Deployment", name_of(cr)))
    part = Part(container_of(cr), live_template(cr, observed), build_probes(cr))
    spec: dict[str, t.Any] = {
        "strategy": build_strategy(cr, observed),
        "selector": {"matchLabels": selector_labels(deployment_of(cr))},
        "template": build_template(cr, observed, store, part),
    }
    if replicas is not None:
        spec["replicas"] = replicas
    return build(cr, "Deployment", service_labels(cr, observed), nim_annotations(cr), spec=spec)
