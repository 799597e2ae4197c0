# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Pod templates in objects that we write: their paths and labels."""

from __future__ import annotations

import typing as t

from .._base.types import Manifest

Path = tuple[str, ...]

_KINDS = frozenset({"Deployment", "InferenceService", "Job", "LeaderWorkerSet", "Pod"})
_SCALING = frozenset(
    {
        "deploymentStrategy",
        "maxReplicas",
        "minReplicas",
        "scaleMetric",
        "scaleMetricType",
        "scaleTarget",
    }
)
"""Fields of a predictor that do not affect its pods."""

_LWS, _KSERVE, _KNATIVE = "leaderworkerset.sigs.k8s.io", "serving.kserve.io", "serving.knative.dev"
_ADDED: dict[str, dict[str, tuple[str, ...]]] = {
    "Deployment": {"pod-template-hash": ("*",)},
    "InferenceService": {
        "app": ("isvc.{0}", "isvc.{0}-predictor", "{0}-predictor-*"),
        "component": ("predictor",),
        f"{_KSERVE}/inferenceservice": ("{0}",),
        **{
            f"{_KNATIVE}/{name}": ("{0}-predictor*",)
            for name in ("configuration", "revision", "service")
        },
    },
    "Job": {"job-name": ("{0}",), "batch.kubernetes.io/job-name": ("{0}",)},
    "LeaderWorkerSet": {
        "apps.kubernetes.io/pod-index": ("*",),
        "controller-revision-hash": ("*",),
        "statefulset.kubernetes.io/pod-name": ("{0}-*",),
        f"{_LWS}/name": ("{0}",),
        **{
            f"{_LWS}/{name}": ("*",)
            for name in ("group-index", "group-key", "template-revision-hash", "worker-index")
        },
    },
}
"""Labels that controllers add, with patterns of their values; {0} is the name of the object.

Labels with UIDs are omitted: no foreign selector contains them.
"""


def templates_of(manifest: Manifest) -> list[Path]:
    """The paths of an object's pod templates; () for a pod."""
    if manifest["kind"] not in _KINDS:
        return []
    return list(_find(manifest, ()))


def _find(item: t.Any, path: Path) -> t.Iterator[Path]:
    if not isinstance(item, dict):
        return
    if isinstance(item.get("containers"), list):
        yield path[:-1] if path[-1] == "spec" else path
        return
    for key, value in item.items():
        yield from _find(value, (*path, key))


def at(item: t.Any, path: Path) -> Manifest:
    """The map at a path; empty if there is none."""
    for key in path:
        item = item.get(key) if isinstance(item, dict) else None
    return item if isinstance(item, dict) else {}


def replaced(item: Manifest, path: Path, value: Manifest) -> Manifest:
    """The item with another value at a path."""
    if not path:
        return value
    return {**item, path[0]: replaced(item[path[0]], path[1:], value)}


def pod_of(template: Manifest) -> Manifest:
    """The pod spec of a template; the template of an InferenceService is a pod spec itself."""
    return template if "containers" in template else template["spec"]


def with_pod(template: Manifest, pod: Manifest) -> Manifest:
    """The template with another pod spec."""
    return pod if "containers" in template else {**template, "spec": pod}


def without_scaling(template: Manifest) -> Manifest:
    """The part of a template whose changes restart the pods."""
    return {key: value for key, value in template.items() if key not in _SCALING}


def given_labels(manifest: Manifest, path: Path) -> dict[str, str]:
    """The labels that an object sets on its pods at this path."""
    template = at(manifest, path)
    found = [(template.get("metadata") or {}).get("labels")]
    if manifest["kind"] == "InferenceService":
        found = [manifest["metadata"].get("labels"), template.get("labels")]
    return {key: str(value) for labels in found for key, value in (labels or {}).items()}


def possible_labels(manifest: Manifest, path: Path) -> dict[str, tuple[str, ...]]:
    """The labels of the pods and patterns of their values, including labels from controllers."""
    name = manifest["metadata"]["name"]
    added = {
        key: tuple(item.format(name) for item in patterns)
        for key, patterns in _ADDED.get(manifest["kind"], {}).items()
    }
    for key, value in given_labels(manifest, path).items():
        added[key] = (value, *added.get(key, ()))
    return added
