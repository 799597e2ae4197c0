# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The HorizontalPodAutoscaler, and who decides how many replicas there are."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.desired import Manifest
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._common.pods import without_empty
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.features import (
    Resource,
    hpa,
    is_autoscaled,
    name_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.metadata import (
    build,
    nim_annotations,
    service_labels,
)


def build_autoscaler(cr: Resource, observed: Observed) -> Manifest:
    """The HorizontalPodAutoscaler of `spec.scale.hpa`."""
    given = hpa(cr)
    metrics = sorted(given.get("metrics") or [], key=lambda metric: str(metric["type"]))
    spec = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name_of(cr)},
        "minReplicas": _min_replicas(cr),
        "maxReplicas": given.get("maxReplicas") or 0,
        **without_empty({"metrics": metrics, "behavior": given.get("behavior")}),
    }
    annotations = nim_annotations(cr, (cr["spec"].get("scale") or {}).get("annotations"))
    labels = service_labels(cr, observed)
    return build(cr, "HorizontalPodAutoscaler", labels, annotations, spec=spec)


def choose_replicas(cr: Resource, live: Manifest | None) -> int | None:
    """The Deployment's `spec.replicas` to apply; None to leave the field to others.

    Without autoscaling, `spec.replicas` counts. Where neither it nor a live Deployment says
    anything, the API server's default does, or the autoscaler's minimum.

    Otherwise the pods that run must stay. A field that we applied once, or that is taken over from
    the reference, falls back to 1 when we stop applying it, unless somebody else owns it too. So it
    is applied with its live value until the autoscaler or `kubectl scale` has written it: those
    write through the scale subresource, and from then on the field is theirs.
    """
    given = cr["spec"].get("replicas")
    if not is_autoscaled(cr) and given is not None:
        return int(given)
    if live is None:
        return _min_replicas(cr) if is_autoscaled(cr) else None
    if _is_scaled_by_others(live):
        return None
    value = int((live.get("spec") or {}).get("replicas", 1))
    # An autoscaler never touches a Deployment of no replicas: ours to wake what we put to sleep.
    return value or (_min_replicas(cr) if is_autoscaled(cr) else 0)


def _min_replicas(cr: Resource) -> int:
    return int(hpa(cr).get("minReplicas") or 1)


def _is_scaled_by_others(live: t.Mapping[str, t.Any]) -> bool:
    """Whether the replica count was written through the scale subresource."""
    return any(
        entry.get("subresource") == "scale"
        and "f:replicas" in ((entry.get("fieldsV1") or {}).get("f:spec") or {})
        for entry in live["metadata"].get("managedFields") or []
    )
