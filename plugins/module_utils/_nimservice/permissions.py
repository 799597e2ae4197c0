# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What a NIMService asks for that the operator may forbid: `_common/policy.py` says whether."""

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._common.certificates import cert_config_map
from ansible_collections.nimops.nim.plugins.module_utils._common.errors import (
    NAME_RESERVED,
    NimError,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.meta import CACHE_NAMES
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._common.policy import (
    INGRESS_ANNOTATIONS,
    POD_LABELS,
    host_path_faults,
    key_faults,
    refuse,
    root_user_faults,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.features import (
    Resource,
    has_grpc_route,
    has_http_route,
    has_ingress,
    is_kserve,
    legacy_ingress,
    name_of,
    router,
    service_spec,
    storage,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.metadata import (
    nim_annotations,
    standard_labels,
)

_KSERVE_GROUPS = ("serving.kserve.io", "autoscaling.knative.dev", "serving.knative.dev")
"""Annotations by which KServe and Knative are told how to run the pods."""


def refuse_forbidden(cr: Resource, observed: Observed) -> None:
    """NimError if the name is taken for good, or the spec has what the operator forbids."""
    if name_of(cr) in CACHE_NAMES:
        raise NimError(
            f"metadata.name: {name_of(cr)} is the name of an object that the NIMCaches of a"
            " namespace share: make the NIMService anew under another name",
            reason=NAME_RESERVED,
        )
    path = str(storage(cr).get("hostPath") or "")
    refuse(
        [
            *host_path_faults(observed, "spec.storage.hostPath", path),
            *root_user_faults(observed, cr["spec"], cert_config_map(cr["spec"])),
            *_annotation_faults(cr, observed),
            *_label_faults(cr, observed),
        ]
    )


def _annotation_faults(cr: Resource, observed: Observed) -> list[str]:
    """Of what is written on Ingresses and routes; KServe copies what an InferenceService has."""
    general = set(cr["spec"].get("annotations") or ()) - set(nim_annotations({"spec": {}}))
    if is_kserve(cr):
        keys = {key for key in general if key.partition("/")[0] not in _KSERVE_GROUPS}
        return key_faults(observed, INGRESS_ANNOTATIONS, "spec.annotations", keys)
    has_legacy = legacy_ingress(cr).get("enabled")
    has_routes = has_http_route(cr) or has_grpc_route(cr)
    found = []
    if has_ingress(cr) or has_routes:
        found += key_faults(observed, INGRESS_ANNOTATIONS, "spec.annotations", general)
    if has_legacy:
        field, given = "spec.expose.ingress.annotations", legacy_ingress(cr).get("annotations")
        found += key_faults(observed, INGRESS_ANNOTATIONS, field, given)
    if has_routes or (has_ingress(cr) and not has_legacy):
        field, given = "spec.expose.router.annotations", router(cr).get("annotations")
        found += key_faults(observed, INGRESS_ANNOTATIONS, field, given)
    return found


def _label_faults(cr: Resource, observed: Observed) -> list[str]:
    """Ours win over the user's, so theirs of the same key have no effect."""
    ours = standard_labels(cr, observed).keys()
    given = {"spec.labels": cr["spec"].get("labels")}
    if not is_kserve(cr):
        given["spec.expose.service.labels"] = service_spec(cr).get("labels")
    return [
        fault
        for field, labels in given.items()
        for fault in key_faults(observed, POD_LABELS, field, set(labels or ()) - ours)
    ]
