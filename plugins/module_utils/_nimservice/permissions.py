# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Refuses a NIMService that the operator forbids, by the rules of `_components/policy.py`."""

from __future__ import annotations

import typing as t

from .._base.errors import NAME_RESERVED, NimError
from .._components.certificates import cert_config_map
from .._components.nim_metadata import CACHE_NAMES
from .._components.policy import (
    INGRESS_ANNOTATIONS,
    POD_LABELS,
    host_path_faults,
    key_faults,
    refuse,
    root_user_faults,
)
from .app import NIMServiceApp
from .expose.routing import annotations_given

_KSERVE_GROUPS = ("serving.kserve.io", "autoscaling.knative.dev", "serving.knative.dev")
"""Annotations that tell KServe and Knative how to run the pods."""


def refuse_forbidden(app: NIMServiceApp) -> None:
    """NimError if the name is reserved, or the spec contains what the operator forbids."""
    if app.name in CACHE_NAMES:
        raise NimError(
            f"metadata.name: {app.name} is the name of an object that the NIMCaches of a"
            " namespace share: recreate the NIMService with another name",
            reason=NAME_RESERVED,
        )
    refuse(
        [
            *host_path_faults(app.observed, "spec.storage.hostPath", app.spec.host_path),
            *root_user_faults(app.observed, app.spec.fields, cert_config_map(app.spec.fields)),
            *_annotation_faults(app),
            *_label_faults(app),
        ]
    )


def _annotation_faults(app: NIMServiceApp) -> list[str]:
    """Faults of annotations on Ingresses and routes; KServe copies those of an InferenceService."""
    ours = app.standard_annotations.keys()
    if app.spec.is_kserve:
        general = app.spec.annotations.keys() - ours
        keys = {key for key in general if key.partition("/")[0] not in _KSERVE_GROUPS}
        return key_faults(app.observed, INGRESS_ANNOTATIONS, "spec.annotations", keys)
    return [
        fault
        for field, given in annotations_given(app).items()
        for fault in key_faults(app.observed, INGRESS_ANNOTATIONS, field, set(given) - ours)
    ]


def _label_faults(app: NIMServiceApp) -> list[str]:
    """Our labels override the user's, so the user's labels with our keys have no effect."""
    ours = app.standard_labels.keys()
    given: dict[str, t.Iterable[str] | None] = {"spec.labels": app.spec.labels}
    if not app.spec.is_kserve:
        given["spec.expose.service.labels"] = app.spec.expose.service.get("labels")
    return [
        fault
        for field, labels in given.items()
        for fault in key_faults(app.observed, POD_LABELS, field, set(labels or ()) - ours)
    ]
