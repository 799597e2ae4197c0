# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Templates of the pods that run the model: what all workloads share."""

from __future__ import annotations

import typing as t

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
    nim_annotations,
    pod_labels,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.part import Part
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.store import Store
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.volumes import build_volumes
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.workload import (
    selector_labels,
    workload_of,
)

_AS_GIVEN = (
    "schedulerName",
    "priorityClassName",
    "runtimeClassName",
    "nodeSelector",
    "tolerations",
    "affinity",
)


def build_template(cr: Resource, observed: Observed, store: Store, part: Part) -> dict[str, t.Any]:
    """The template of a part's pods.

    NimError if the profile's GPU count cannot be read, or a claim cannot be had.
    """
    labels: Labels = {}
    if part.is_selected:
        labels = pod_labels(cr, observed, selector_labels(workload_of(cr)), part.live)
    return {
        "metadata": without_empty({"labels": labels, "annotations": nim_annotations(cr)}),
        "spec": _build_spec(cr, observed, store, part),
    }


def _build_spec(cr: Resource, observed: Observed, store: Store, part: Part) -> dict[str, t.Any]:
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
            "initContainers": build_init_containers(cr, observed, store, part),
            "containers": build_containers(cr, observed, store, part),
            "volumes": [*build_volumes(cr, store), *part.volumes],
            "resourceClaims": build_pod_claims(pod_claims(cr, observed)),
        }
    )
