# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The objects that resources become, and their pods."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ..._base.types import Json
from ..._builders.pod import has_ended
from ..._builders.pod_templates import at, given_labels, pod_of, templates_of
from ..._engine.api_resources import ObjectKey as Key
from ..._engine.api_resources import identity
from ..._engine.label_selector import selector_of

_LWS = "leaderworkerset.sigs.k8s.io/name"
_KSERVE = "serving.kserve.io/inferenceservice"
_PARTS = {"leaderTemplate": " (leaders)", "workerTemplate": " (workers)"}
_FINITE = ("Job", "Pod")


@dataclass(frozen=True)
class Planned:
    """An object that a resource (``parent``) becomes.

    ``live``: the existing object. ``restarts``: whether its pods are replaced.
    """

    parent: Key
    manifest: Json
    live: Json | None = None
    restarts: bool = False

    @property
    def key(self) -> Key:
        """Its identity."""
        return identity(self.manifest)


@dataclass
class Rendered:
    """The given resources and everything that they become.

    ``refused``: messages of the API server about resources, ``problems`` and ``notes``: see
    `SimulationResult`; all by resource. ``absent``: resources of our kinds that are referred to,
    and exist neither in the cluster nor among the given ones.
    """

    resources: dict[Key, Json]
    planned: list[Planned] = field(default_factory=list)
    refused: dict[Key, str] = field(default_factory=dict)
    problems: dict[Key, list[str]] = field(default_factory=dict)
    notes: dict[Key, list[str]] = field(default_factory=dict)
    absent: set[Key] = field(default_factory=set)

    def find(self, kind: str, namespace: str, name: str) -> Json | None:
        """A rendered object."""
        key = Key(kind, namespace, name)
        return next((item.manifest for item in self.planned if item.key == key), None)


@dataclass(frozen=True)
class PodGroup:
    """Equal pods of a workload.

    ``part``: of the workload, for display. ``runs_to_completion``: the pods end, such as those of a
    Job. ``per_node``: one for each matching node. ``existing``: live pods that belong to it.
    ``is_replaced``: other pods take their place; with ``surges``, each of these ends after a new
    one is ready.
    """

    parent: Key
    workload: Key
    labels: t.Mapping[str, str]
    spec: Json
    count: int
    part: str = ""
    runs_to_completion: bool = False
    per_node: bool = False
    existing: tuple[Json, ...] = ()
    is_replaced: bool = False
    surges: bool = False

    @property
    def namespace(self) -> str:
        """The namespace of the pods."""
        return self.workload.namespace

    @property
    def new(self) -> int:
        """The number of pods that must still be scheduled."""
        if self.is_replaced:
            return 1 if self.surges else self.count
        return max(self.count - sum(map(_is_scheduled, self.existing)), 0)

    @property
    def released(self) -> tuple[Json, ...]:
        """The live pods whose capacity the new ones get."""
        return self.existing if self.is_replaced and not self.surges else ()


def pod_groups(planned: t.Iterable[Planned], pods: t.Iterable[Json] = ()) -> list[PodGroup]:
    """The pods of rendered objects, with the live ``pods`` that belong to them."""
    live = [pod for pod in pods if not has_ended(pod)]
    return [group for item in planned for group in _groups_of(item, live)]


def _groups_of(item: Planned, pods: list[Json]) -> t.Iterator[PodGroup]:
    manifest = item.manifest
    kind, paths = manifest["kind"], templates_of(manifest)
    if kind == "DaemonSet":
        paths = [("spec", "template")]
    existing = [pod for pod in pods if _belongs(pod, item)]
    for path in paths:
        template = manifest if kind == "Pod" else at(manifest, path)
        count = _count(item, path)
        mine, existing = existing[:count], existing[count:]
        yield PodGroup(
            item.parent,
            item.key,
            given_labels(manifest, path) if kind in _LABELLED else _labels(template),
            pod_of(template),
            count,
            part=_PARTS.get(path[-1], "") if path else "",
            runs_to_completion=kind in _FINITE,
            per_node=kind == "DaemonSet",
            existing=tuple(mine),
            is_replaced=item.restarts and bool(mine),
            surges=_surges(manifest),
        )


_LABELLED = ("Deployment", "InferenceService", "Job", "LeaderWorkerSet", "Pod")


def _surges(manifest: Json) -> bool:
    """Whether a rollout starts new pods before old ones end."""
    strategy = (manifest.get("spec") or {}).get("strategy") or {}
    if manifest["kind"] != "Deployment" or strategy.get("type") == "Recreate":
        return False
    surge = (strategy.get("rollingUpdate") or {}).get("maxSurge", "25%")
    return surge not in (0, "0", "0%")


def _labels(template: Json) -> dict[str, str]:
    return dict((template.get("metadata") or {}).get("labels") or {})


def _belongs(pod: Json, item: Planned) -> bool:
    """Whether a live pod belongs to an existing workload."""
    kind, namespace, name = item.key
    metadata = pod["metadata"]
    if item.live is None or metadata.get("namespace") != namespace:
        return False
    labels = metadata.get("labels") or {}
    if kind == "Pod":
        return bool(metadata["name"] == name)
    if kind == "LeaderWorkerSet":
        return labels.get(_LWS) == name
    if kind == "InferenceService":
        return labels.get(_KSERVE) == name
    if kind == "Job":
        return name in (labels.get("job-name"), labels.get("batch.kubernetes.io/job-name"))
    selector = selector_of((item.live.get("spec") or {}).get("selector") or None)
    return bool(selector and selector.selects(labels))


def _count(item: Planned, path: tuple[str, ...]) -> int:
    """The number of pods of a template."""
    kind, spec = item.manifest["kind"], item.manifest.get("spec") or {}
    live = (item.live or {}).get("spec") or {}
    if kind == "Job":
        return 0 if _is_complete(item.live) else int(spec.get("parallelism", 1))
    if kind == "InferenceService":
        predictor = spec.get("predictor") or {}
        return int(predictor.get("minReplicas", 1))
    if kind in ("Pod", "DaemonSet"):
        return 1
    replicas = int(_first(spec.get("replicas"), live.get("replicas"), 1))
    if kind != "LeaderWorkerSet":
        return replicas
    group = spec.get("leaderWorkerTemplate") or {}
    size = int(group.get("size", 1))
    if "leaderTemplate" not in group:
        return replicas * size
    return replicas if path[-1] == "leaderTemplate" else replicas * (size - 1)


def _first(*values: t.Any) -> t.Any:
    return next(value for value in values if value is not None)


def _is_complete(job: Json | None) -> bool:
    conditions = ((job or {}).get("status") or {}).get("conditions") or []
    return any(
        item.get("type") == "Complete" and item.get("status") == "True" for item in conditions
    )


def _is_scheduled(pod: Json) -> bool:
    return bool((pod.get("spec") or {}).get("nodeName"))
