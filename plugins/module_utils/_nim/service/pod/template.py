# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The pod template, which all workloads share."""

from __future__ import annotations

import typing as t

from ...._builders.pod import pull_secrets, seccomp, without_empty
from ...._engine.metadata import Labels
from ...dra.pod_claims import build_pod_claims
from ..app import NIMServiceApp
from ..dra import pod_claims
from ..model_store import Store
from ..workload import selector_labels, workload_of
from . import drain
from .containers import build_containers, build_init_containers
from .variant import PodVariant
from .volumes import build_volumes


def build_template(app: NIMServiceApp, store: Store, variant: PodVariant) -> dict[str, t.Any]:
    """Build the template of a variant; NimError if the GPU count or a claim is invalid."""
    labels: Labels = {}
    if variant.is_selected:
        labels = app.pod_labels(selector_labels(workload_of(app)), variant.live)
    return {
        "metadata": without_empty({"labels": labels, "annotations": app.annotations}),
        "spec": _build_spec(app, store, variant),
    }


def _build_spec(app: NIMServiceApp, store: Store, variant: PodVariant) -> dict[str, t.Any]:
    spec = app.spec
    return without_empty(
        {
            **spec.scheduling,
            **drain.pod_fields(app, variant.drain),
            "serviceAccountName": app.name,
            "imagePullSecrets": pull_secrets(dict.fromkeys(spec.image.pull_secrets)),
            "securityContext": {
                "runAsUser": spec.user,
                "runAsGroup": spec.group,
                "fsGroup": spec.group,
                **seccomp(app.observed.orchestrator),
            },
            "initContainers": build_init_containers(app, store, variant),
            "containers": build_containers(app, store, variant),
            "volumes": [*build_volumes(app, store), *variant.volumes],
            "resourceClaims": build_pod_claims(pod_claims(app)),
        }
    )
