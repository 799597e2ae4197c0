# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""References between objects: of pods to ServiceAccounts, of RoleBindings to Roles, and so on.

Fields are found by their names at any depth, so pod templates need no list of kinds, and foreign
custom resources are covered like built-in types. `tests/unit/plugins/module_utils/test_foreign.py`
fails if a rendered child refers to another child by a field that is unknown here.
"""

from __future__ import annotations

import typing as t

from .._base.types import Fields
from .api_resources import ObjectKey, identity, object_identity

ManifestT = t.TypeVar("ManifestT", bound=Fields)

_NAMES = {
    "claimName": "PersistentVolumeClaim",
    "resourceClaimName": "ResourceClaim",
    "resourceClaimTemplateName": "ResourceClaimTemplate",
    "runtimeClassName": "RuntimeClass",
    "secretName": "Secret",
    "serviceAccount": "ServiceAccount",
    "serviceAccountName": "ServiceAccount",
    "serviceName": "Service",
    "subdomain": "Service",
    # of a NIMService or a NIMCache
    "authSecret": "Secret",
    "pullSecret": "Secret",
}
"""Fields whose value is the name of an object."""

_OBJECTS = {
    "backendRef": "Service",
    "backendRefs": "Service",
    "bearerTokenSecret": "Secret",
    "certConfig": "ConfigMap",
    "clientSecret": "Secret",
    "configMap": "ConfigMap",
    "configMapKeyRef": "ConfigMap",
    "configMapRef": "ConfigMap",
    "credentials": "Secret",
    "dataSource": "PersistentVolumeClaim",
    "dataSourceRef": "PersistentVolumeClaim",
    "endpointPickerRef": "Service",
    "imagePullSecrets": "Secret",
    "nimCache": "NIMCache",
    "nodeExpandSecretRef": "Secret",
    "nodePublishSecretRef": "Secret",
    "nodeStageSecretRef": "Secret",
    "password": "Secret",
    "pullSecrets": "Secret",
    "pvc": "PersistentVolumeClaim",
    "resourceClaimTemplate": "ResourceClaimTemplate",
    "secret": "Secret",
    "secretKeyRef": "Secret",
    "secretRef": "Secret",
    "service": "Service",
    "username": "Secret",
}
"""Fields that contain the `name` of an object, or a list of these, with its default kind."""

_FREE = frozenset(
    ("annotations", "data", "labels", "metadata", "nodeSelector", "selector", "stringData")
)
"""Fields with arbitrary keys, which refer to nothing; `find_references` handles labels."""

_SELECTOR = "spec.selector"
_TEMPLATES = ("template", "leaderTemplate", "workerTemplate")


class Reference(t.NamedTuple):
    """The target of a reference, and the field that contains it."""

    target: ObjectKey
    path: str


def references_of(manifest: Fields) -> t.Iterator[Reference]:
    """All references of an object, except those to its owners.

    A reference without a namespace is to the namespace of the object.
    """
    namespace = identity(manifest).namespace
    for key, value in manifest.items():
        if key not in ("apiVersion", "kind") and key not in _FREE:
            yield from _walk(key, value, key, namespace)


def find_references(manifests: t.Sequence[Fields]) -> dict[ObjectKey, dict[ObjectKey, str]]:
    """The references between these objects: object → target → one field that refers to it.

    Label selectors count: a Service refers to the workload whose pods it selects, a ServiceMonitor
    to the Service. A ComputeDomain creates the claim template that it names, so a reference to the
    template is one to the ComputeDomain.
    """
    keys = {identity(item): item for item in manifests}
    makers = {
        reference.target: key
        for key, item in keys.items()
        if key.kind == "ComputeDomain"
        for reference in references_of(item)
    }
    found: dict[ObjectKey, dict[ObjectKey, str]] = {}
    for key, item in keys.items():
        named: dict[ObjectKey, str] = {}
        for reference in (*references_of(item), *_selected(item, manifests)):
            target = makers.get(reference.target, reference.target)
            if target in keys and target != key:
                named.setdefault(target, reference.path)
        found[key] = named
    return found


def find_blocked(
    manifests: t.Sequence[Fields], refused: t.Collection[ObjectKey]
) -> dict[ObjectKey, tuple[ObjectKey, str]]:
    """The objects that refer to refused ones, directly or indirectly, with target and field.

    Each comes after its target. An object that selects pods by labels is harmless while their
    workload is missing, or ours.
    """
    references = find_references(manifests)
    blocked: dict[ObjectKey, tuple[ObjectKey, str]] = {}
    count = -1
    while count < len(blocked):
        count = len(blocked)
        for key, named in references.items():
            if key in refused or key in blocked:
                continue
            for target, path in named.items():
                if target in refused or (target in blocked and path != _SELECTOR):
                    blocked[key] = target, path
                    break
    return blocked


def find_needed(manifests: t.Sequence[Fields]) -> dict[ObjectKey, list[ObjectKey]]:
    """The objects to write before each object: its direct and indirect references.

    A Service inside the cluster may precede its pods; objects that expose it wait for both, unless
    the workload already exists.
    """
    known = {identity(item) for item in manifests if "uid" in item["metadata"]}
    references = {
        key: [item for item, path in named.items() if path != _SELECTOR or item not in known]
        for key, named in find_references(manifests).items()
    }
    return {
        key: [] if _is_inner_service(item) else _reach(references, key)
        for item in manifests
        for key in (identity(item),)
    }


def _is_inner_service(manifest: Fields) -> bool:
    way = (manifest.get("spec") or {}).get("type") or "ClusterIP"
    return manifest["kind"] == "Service" and way == "ClusterIP"


def _reach(
    references: t.Mapping[ObjectKey, t.Iterable[ObjectKey]], key: ObjectKey
) -> list[ObjectKey]:
    """The direct and indirect references of an object, nearest first."""
    found: list[ObjectKey] = []
    left = list(references[key])
    while left:
        target = left.pop(0)
        if target not in found and target != key:
            found.append(target)
            left += references[target]
    return found


def in_order(
    manifests: t.Sequence[ManifestT], needed: t.Mapping[ObjectKey, t.Iterable[ObjectKey]]
) -> list[ManifestT]:
    """The objects, each after the objects that it needs, otherwise in the given order."""
    left = {identity(item): item for item in manifests}
    ordered: list[ManifestT] = []

    def take(key: ObjectKey) -> None:
        item = left.pop(key, None)
        if item is not None:
            for target in needed.get(key, ()):
                take(target)
            ordered.append(item)

    for key in list(left):
        take(key)
    return ordered


def _walk(key: str, value: t.Any, path: str, namespace: str) -> t.Iterator[Reference]:
    if isinstance(value, str):
        kind = "Secret" if key == "pullSecrets" else _NAMES.get(key)
        if value and kind:
            yield Reference(object_identity(kind, namespace, value), path)
    elif isinstance(value, dict):
        yield from _named(key, value, path, namespace)
        for below, item in value.items():
            if below not in _FREE:
                yield from _walk(below, item, f"{path}.{below}", namespace)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _walk(key, item, f"{path}[{index}]", namespace)


def _named(key: str, value: Fields, path: str, namespace: str) -> t.Iterator[Reference]:
    """The reference in a map with a `name`, if the map or the field determines the kind."""
    name, kind = value.get("name"), value.get("kind") or _OBJECTS.get(key)
    if isinstance(name, str) and name and isinstance(kind, str):
        given = value.get("namespace")
        target = given if isinstance(given, str) and given else namespace
        yield Reference(object_identity(kind, target, name), f"{path}.name")


def _selected(manifest: Fields, others: t.Sequence[Fields]) -> t.Iterator[Reference]:
    """The references of an object by label selectors."""
    is_monitor = manifest["kind"] == "ServiceMonitor"
    if not is_monitor and manifest["kind"] not in ("InferencePool", "Service"):
        return
    given = (manifest.get("spec") or {}).get("selector") or {}
    wanted = given.get("matchLabels") or {} if manifest["kind"] != "Service" else given
    for other in others:
        labelled = [other] if is_monitor and other["kind"] == "Service" else []
        labelled += [] if is_monitor else _templates(other.get("spec"))
        if wanted and any(_has_labels(item, wanted) for item in labelled):
            yield Reference(identity(other), _SELECTOR)


def _templates(spec: t.Any) -> list[Fields]:
    """The pod templates of a workload."""
    if not isinstance(spec, dict):
        return []
    holders = (spec, spec.get("leaderWorkerTemplate") or {})
    found = (holder.get(name) for holder in holders for name in _TEMPLATES)
    return [item for item in found if isinstance(item, dict)]


def _has_labels(item: Fields, wanted: Fields) -> bool:
    labels = (item.get("metadata") or {}).get("labels") or {}
    return wanted.items() <= labels.items()
