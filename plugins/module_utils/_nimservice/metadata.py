# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Labels, annotations and the frame that all children of a NIMService share."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.certificates import cert_config_map
from ansible_collections.nimops.nim.plugins.module_utils._common.desired import Manifest
from ansible_collections.nimops.nim.plugins.module_utils._common.meta import (
    MANAGED_BY,
    MANAGED_BY_LABEL,
    PARENT_HASH_ANNOTATION,
    Labels,
    merge_missing,
    owner_reference,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._common.resources import manifest
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.features import (
    Resource,
    name_of,
    namespace_of,
    storage,
)

OPERATOR_VERSION_LABEL = "app.kubernetes.io/operator-version"

_SCC_ANNOTATION = "openshift.io/required-scc"


def service_labels(cr: Resource, observed: Observed) -> Labels:
    """The labels of every child; the user's add to them and never replace them."""
    return merge_missing(standard_labels(cr, observed), cr["spec"].get("labels"))


def standard_labels(cr: Resource, observed: Observed) -> Labels:
    """The labels that every child has, whatever the user says."""
    name = name_of(cr)
    return {
        "app.kubernetes.io/name": name,
        "app.kubernetes.io/instance": name,
        OPERATOR_VERSION_LABEL: observed.operator_version,
        "app.kubernetes.io/part-of": "nim-service",
        MANAGED_BY_LABEL: MANAGED_BY,
    }


def pod_labels(
    cr: Resource, observed: Observed, selector: Labels, live: t.Mapping[str, t.Any]
) -> Labels:
    """The labels of pods that a Service finds by ``selector``; ``live`` is their template as it is.

    Pods keep the operator version they were made by: a new release of the operator must not
    restart models that take many minutes to load.
    """
    labels = {**service_labels(cr, observed), **selector}
    made_by = (live.get("metadata") or {}).get("labels", {}).get(OPERATOR_VERSION_LABEL)
    return labels if made_by is None else {**labels, OPERATOR_VERSION_LABEL: made_by}


def security_constraint(cr: Resource) -> str:
    """The OpenShift SCC that the pods need, which is also the one they are granted."""
    if cert_config_map(cr["spec"]):
        return "anyuid"
    return "hostmount-anyuid" if storage(cr).get("hostPath") else "nonroot"


def nim_annotations(cr: Resource, more: t.Mapping[str, str] | None = None) -> Labels:
    """The annotations of children and pods; ``more`` are a feature's own.

    The reference's hash of the custom resource is not among them: drift is seen by comparing, and
    a hash would rewrite every child at each change of the spec.
    """
    wanted = {_SCC_ANNOTATION: security_constraint(cr)}
    merged = merge_missing(merge_missing(wanted, cr["spec"].get("annotations")), more)
    return {key: value for key, value in merged.items() if key != PARENT_HASH_ANNOTATION}


def build(
    cr: Resource,
    kind: str,
    labels: Labels,
    annotations: Labels | None = None,
    *,
    name: str = "",
    **fields: t.Any,
) -> Manifest:
    """A child, named as the custom resource unless ``name`` says otherwise, and owned by it."""
    metadata = {
        "labels": labels,
        "annotations": annotations,
        "ownerReferences": [owner_reference(cr)],
    }
    return manifest(kind, name or name_of(cr), namespace_of(cr), metadata=metadata, **fields)
