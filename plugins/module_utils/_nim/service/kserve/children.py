# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The children of a service that KServe runs."""

from __future__ import annotations

from ...._base.errors import NimError
from ...._engine.desired import Child
from ...dra.validation import UNSUPPORTED
from ..app import NIMServiceApp
from ..model_store import Store
from ..scraping import build_scraping
from ..workload import live_template
from .mode import deployment_mode, is_knative, is_standard
from .predictor import build_inference_service


def kserve_children(app: NIMServiceApp, store: Store) -> list[Child]:
    """The InferenceService and its ServiceMonitor.

    NimError if its mode is unknown, or Knative would drop claims.
    """
    mode = deployment_mode(app)
    if is_knative(mode):
        _refuse_claims(app)
    children = [Child(build_inference_service(app, store, mode))]
    if is_standard(mode) and app.spec.is_monitored:
        children.insert(0, Child(build_scraping(app)))
    return children


def _refuse_claims(app: NIMServiceApp) -> None:
    """NimError if the pods would lack the claims of the spec, unless some already run so."""
    if app.spec.dra_resources and not live_template(app)["spec"].get("resourceClaims"):
        raise NimError(
            "spec.draResources: Knative drops resource claims, so the pods would have no devices:"
            " recreate the NIMService without them and with spec.resources, or with the annotation"
            " serving.kserve.io/deploymentMode: Standard",
            reason=UNSUPPORTED,
        )


def unscraped(app: NIMServiceApp) -> list[tuple[str, str]]:
    """The ServiceMonitor, if it is unwanted."""
    return [] if app.spec.is_monitored else [("ServiceMonitor", app.name)]
