# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The HorizontalPodAutoscaler, and the replica count of a workload."""

from __future__ import annotations

import typing as t

from .._base.types import Fields, Manifest
from .._engine.desired import Child
from .app import App
from .pod import without_empty

_UNKNOWN = "another program"
_WITHOUT_PODS = {"External", "Object"}
"""Types of metrics that exist without pods."""


def build_autoscaler(
    app: App, given: Fields, annotations: t.Mapping[str, str] | None = None
) -> Manifest:
    """The HorizontalPodAutoscaler of the Deployment with the custom resource's name.

    ``given``: the user's `minReplicas`, `maxReplicas`, `metrics` and `behavior`.
    """
    metrics = sorted(given.get("metrics") or [], key=lambda metric: str(metric["type"]))
    spec = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": app.name},
        "minReplicas": min_replicas(given),
        "maxReplicas": given.get("maxReplicas") or 0,
        **without_empty({"metrics": metrics, "behavior": given.get("behavior")}),
    }
    annotations = app.annotations_with(annotations)
    return app.child("HorizontalPodAutoscaler", spec, annotations=annotations)


def keep_aimed(app: App, children: t.Iterable[Child]) -> list[Child]:
    """The children, without an autoscaler while this resource has no workload for it.

    Otherwise it would scale a workload of that name with another owner.
    """
    children = list(children)
    made = {(child.manifest["kind"], child.manifest["metadata"]["name"]) for child in children}

    def is_aimed(child: Child) -> bool:
        target = (child.manifest.get("spec") or {}).get("scaleTargetRef")
        if target is None:
            return True
        names = target["kind"], target["name"]
        return names in made or app.controls(app.live(*names))

    return [child for child in children if is_aimed(child)]


def choose_replicas(
    live: Manifest | None, given: int | None, autoscaler: Fields | None = None
) -> int | None:
    """The `spec.replicas` of a workload to apply; None to leave the field to its manager.

    Without an ``autoscaler``, ``given`` applies. If neither it nor a live workload has a value, the
    API server's default applies, or the autoscaler's minimum, but at least 1: since Kubernetes
    1.37, an autoscaler ignores a workload with 0 replicas that it did not scale down.

    Otherwise the running pods must stay. A field that we once applied, or adopted from the
    reference operator, falls back to 1 when we stop applying it, unless another manager also owns
    it. So we apply its live value until the autoscaler or `kubectl scale` writes it: they write
    through the scale subresource and then own the field.
    """
    if autoscaler is None and given is not None:
        return int(given)
    least = None if autoscaler is None else max(min_replicas(autoscaler), 1)
    if live is None:
        return least
    if scaled_by(live):
        return None
    # An autoscaler ignores a workload with 0 replicas: we scaled it down, so we scale it up.
    return count_live(live) or least or 0


def condition_of(scaler: Manifest, kind: str) -> Fields | None:
    """A condition in the status of an autoscaler; None without it."""
    conditions = (scaler.get("status") or {}).get("conditions") or []
    return next((it for it in conditions if it.get("type") == kind), None)


def min_replicas(given: Fields) -> int:
    """The minimum number of replicas that an autoscaler keeps.

    Without pods, only metrics that do not come from pods can start one.
    """
    least = given.get("minReplicas")
    types = {metric.get("type") for metric in given.get("metrics") or []}
    return 0 if least == 0 and types & _WITHOUT_PODS else int(least or 1)


def count_live(live: Manifest) -> int:
    """The replica count of a live workload; the API server's default is 1."""
    return int((live.get("spec") or {}).get("replicas", 1))


def targets(autoscaler: Manifest, live: Manifest) -> bool:
    """Whether a HorizontalPodAutoscaler targets a live workload."""
    target = (autoscaler.get("spec") or {}).get("scaleTargetRef") or {}
    if (target.get("kind"), target.get("name")) != (live["kind"], live["metadata"]["name"]):
        return False
    groups = [_group_of(item.get("apiVersion")) for item in (target, live)]
    return "" in groups or groups[0] == groups[1]


def _group_of(version: t.Any) -> str:
    return str(version or "").rpartition("/")[0]


def scaled_by(live: Manifest) -> str:
    """The manager that wrote the replica count through the scale subresource; empty if none.

    The API server records no manager of a count of 0, removes the former owner, and then does not
    record those of later counts either.
    """
    entries = live["metadata"].get("managedFields") or []
    owners = [
        it for it in entries if "f:replicas" in ((it.get("fieldsV1") or {}).get("f:spec") or {})
    ]
    if entries and not owners:
        return _UNKNOWN
    return next(
        (str(it.get("manager") or _UNKNOWN) for it in owners if it.get("subresource") == "scale"),
        "",
    )
