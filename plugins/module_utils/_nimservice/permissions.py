# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Refuses a NIMService that the operator forbids, by the rules of `_components/policy.py`."""

from __future__ import annotations

from .._base.errors import NAME_RESERVED, NimError
from .._components.certificates import cert_config_map
from .._components.expose import annotation_faults, label_faults
from .._components.nim_metadata import CACHE_NAMES
from .._components.policy import (
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
