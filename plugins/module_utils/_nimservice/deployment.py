# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The Deployment that serves the model."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.desired import Manifest
from ansible_collections.nimops.nim.plugins.module_utils._common.dra.pod_claims import (
    build_pod_claims,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.meta import Labels
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._common.pods import (
    group_id,
    pull_secrets,
    seccomp,
    user_id,
    without_empty,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.autoscaling import (
    choose_replicas,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.containers import (
    build_containers,
    build_init_containers,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.dra import pod_claims
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.features import (
    Resource,
    name_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.metadata import (
    OPERATOR_VERSION_LABEL,
    build,
    nim_annotations,
    selector_labels,
    service_labels,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.store import Store
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.volumes import build_volumes

_AS_GIVEN = (
    "schedulerName",
    "priorityClassName",
    "runtimeClassName",
    "nodeSelector",
    "tolerations",
    "affinity",
)


def build_deployment(cr: Resource, observed: Observed, store: Store) -> Manifest:
    """The Deployment. NimError if the profile's GPU count cannot be read."""
    live = observed.object("Deployment", name_of(cr))
    replicas = choose_replicas(cr, live)
    spec: dict[str, t.Any] = {
        "strategy": {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": 0},
        },
        "selector": {"matchLabels": selector_labels(cr)},
        "template": {
            "metadata": {
                "labels": _pod_labels(cr, observed, live),
                "annotations": nim_annotations(cr),
            },
            "spec": _pod_spec(cr, observed, store),
        },
    }
    if replicas is not None:
        spec["replicas"] = replicas
    return build(cr, "Deployment", service_labels(cr, observed), nim_annotations(cr), spec=spec)


def _pod_labels(cr: Resource, observed: Observed, live: Manifest | None) -> Labels:
    """The labels of the pods.

    Pods keep the operator version they were made by: a new release of the operator must not
    restart models that take many minutes to load.
    """
    labels = {**service_labels(cr, observed), **selector_labels(cr)}
    template = ((live or {}).get("spec") or {}).get("template") or {}
    made_by = ((template.get("metadata") or {}).get("labels") or {}).get(OPERATOR_VERSION_LABEL)
    return labels if made_by is None else {**labels, OPERATOR_VERSION_LABEL: made_by}


def _pod_spec(cr: Resource, observed: Observed, store: Store) -> dict[str, t.Any]:
    spec = cr["spec"]
    return without_empty(
        {
            **{field: spec.get(field) for field in _AS_GIVEN},
            "serviceAccountName": name_of(cr),
            "imagePullSecrets": pull_secrets(dict.fromkeys(spec["image"].get("pullSecrets") or ())),
            "securityContext": {
                "runAsUser": user_id(spec),
                "runAsGroup": group_id(spec),
                "fsGroup": group_id(spec),
                **seccomp(observed.orchestrator),
            },
            "initContainers": build_init_containers(cr, observed, store),
            "containers": build_containers(cr, observed, store),
            "volumes": build_volumes(cr, store),
            "resourceClaims": build_pod_claims(pod_claims(cr)),
        }
    )
