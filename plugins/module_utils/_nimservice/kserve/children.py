# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The children of a service that KServe runs."""

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._common.desired import Child
from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.features import (
    Resource,
    is_monitored,
    name_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.kserve.mode import (
    check_mode,
    deployment_mode,
    is_standard,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.kserve.predictor import (
    build_inference_service,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.monitoring import (
    build_service_monitor,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.store import Store


def kserve_children(cr: Resource, observed: Observed, store: Store) -> list[Child]:
    """The InferenceService, and what scrapes it.

    NimError if its mode cannot be told, or does not go with the spec.
    """
    if cr["spec"].get("multiNode"):
        raise NimError(
            "nimservice.spec.multiNode cannot be set when the inferencePlatform is KServe"
        )
    mode = deployment_mode(cr, observed)
    check_mode(cr, mode)
    children = [Child(build_inference_service(cr, observed, store, mode))]
    if is_standard(mode) and is_monitored(cr):
        children.insert(0, Child(build_service_monitor(cr, observed)))
    return children


def unscraped(cr: Resource) -> list[tuple[str, str]]:
    """The ServiceMonitor of a service on KServe that is not to be scraped."""
    return [] if is_monitored(cr) else [("ServiceMonitor", name_of(cr))]
