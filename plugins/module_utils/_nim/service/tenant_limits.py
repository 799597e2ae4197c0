# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Refusal of NIMServices that the operator forbids, by `_builders/tenant_limits.py`."""

from __future__ import annotations

from ..._builders.expose import annotation_violations, label_violations
from ..._builders.name_rules import check_not_reserved
from ..._builders.tenant_limits import (
    INGRESS_ANNOTATIONS,
    host_path_violations,
    key_violations,
    refuse,
    root_user_violations,
)
from .app import NIMServiceApp

_KSERVE_GROUPS = ("serving.kserve.io", "autoscaling.knative.dev", "serving.knative.dev")
"""Groups of annotations that configure KServe and Knative."""


def refuse_forbidden(app: NIMServiceApp) -> None:
    """NimError if the name is reserved, or the spec contains what the operator forbids."""
    check_not_reserved(app.resource)
    refuse(
        [
            *host_path_violations(app, "spec.storage.hostPath", app.spec.storage.host_path),
            *root_user_violations(app, app.spec.user),
            *_annotation_violations(app),
            *label_violations(app, None if app.spec.is_kserve else app.spec.expose),
        ]
    )


def _annotation_violations(app: NIMServiceApp) -> list[str]:
    """Faults of annotations on Ingresses and routes; KServe copies those of an InferenceService."""
    if not app.spec.is_kserve:
        return annotation_violations(app, app.spec.expose)
    general = app.spec.annotations.keys() - app.standard_annotations.keys()
    keys = {key for key in general if key.partition("/")[0] not in _KSERVE_GROUPS}
    return key_violations(app.observed, INGRESS_ANNOTATIONS, "spec.annotations", keys)
