# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Refuses a NIMService that the operator forbids, by the rules of `_builders/policy.py`."""

from __future__ import annotations

from ..._builders.expose import annotation_faults, label_faults
from ..._builders.names import check_not_reserved
from ..._builders.policy import (
    INGRESS_ANNOTATIONS,
    host_path_faults,
    key_faults,
    refuse,
    root_user_faults,
)
from .app import NIMServiceApp

_KSERVE_GROUPS = ("serving.kserve.io", "autoscaling.knative.dev", "serving.knative.dev")
"""Annotations that tell KServe and Knative how to run the pods."""


def refuse_forbidden(app: NIMServiceApp) -> None:
    """NimError if the name is reserved, or the spec contains what the operator forbids."""
    check_not_reserved(app.resource)
    refuse(
        [
            *host_path_faults(app.observed, "spec.storage.hostPath", app.spec.storage.host_path),
            *root_user_faults(app.observed, app.spec.user, app.spec.proxy.config_map),
            *_annotation_faults(app),
            *label_faults(app, None if app.spec.is_kserve else app.spec.expose),
        ]
    )


def _annotation_faults(app: NIMServiceApp) -> list[str]:
    """Faults of annotations on Ingresses and routes; KServe copies those of an InferenceService."""
    if not app.spec.is_kserve:
        return annotation_faults(app, app.spec.expose)
    general = app.spec.annotations.keys() - app.standard_annotations.keys()
    keys = {key for key in general if key.partition("/")[0] not in _KSERVE_GROUPS}
    return key_faults(app.observed, INGRESS_ANNOTATIONS, "spec.annotations", keys)
