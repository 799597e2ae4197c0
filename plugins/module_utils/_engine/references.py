# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Which objects an object names: pods their ServiceAccount, a RoleBinding its Role, and so on.

The fields are found by their names wherever they are, so templates of pods need no list of the
kinds that have some, and custom resources of others are covered as Kubernetes' own types are.
`tests/unit/plugins/module_utils/test_foreign.py` fails if a child that we render names another
child by a field that is unknown here.
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
"""Fields whose text is the name of an object."""

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
"""Fields that hold the `name` of an object, or a list of such, and its kind if it says none."""

_FREE = frozenset(
    ("annotations", "data", "labels", "metadata", "nodeSelector", "selector", "stringData")
)
"""Fields whose keys are anybody's, and name nothing; `find_references` treats labels."""

_SELECTOR = "spec.selector"
_TEMPLATES = ("template", "leaderTemplate", "workerTemplate")


class Reference(t.NamedTuple):
    """An object that another one names, and the field that does."""

    target: ObjectKey
    path: str


def references_of(manifest: Fields) -> t.Iterator[Reference]:
    """All objects that an object names, but for its owners.

    An object of the same namespace is meant unless the reference says otherwise.
    """
    home = identity(manifest).namespace
    for key, value in manifest.items():
        if key not in ("apiVersion", "kind") and key not in _FREE:
            yield from _walk(key, value, key, home)


def find_references(manifests: t.Sequence[Fields]) -> dict[ObjectKey, dict[ObjectKey, str]]:
    """Which of these objects each of them refers to, and by which field; one of them is enough.

    Also by labels: a Service refers to the workload whose pods it selects, a ServiceMonitor to the
    Service. A claim template that a ComputeDomain names is made for it, so whatever names the
    template refers to the ComputeDomain.
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
    """Which of these objects refer to refused ones, directly or not: to which, and by which field.

    Each comes after the one that it refers to. What selects pods by labels is harmless while their
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
    """Which of these objects must be there before each of them, as it refers to them, or they do.

    A Service that only the cluster reaches may come before its pods; what shows it to others waits
    for both, unless the workload has been there before.
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
    """What an object refers to, directly or not, the nearest first."""
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
    """The objects, each after those that it needs; otherwise in the order given."""
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


def _walk(key: str, value: t.Any, path: str, home: str) -> t.Iterator[Reference]:
    if isinstance(value, str):
        kind = "Secret" if key == "pullSecrets" else _NAMES.get(key)
        if value and kind:
            yield Reference(object_identity(kind, home, value), path)
    elif isinstance(value, dict):
        yield from _named(key, value, path, home)
        for below, item in value.items():
            if below not in _FREE:
                yield from _walk(below, item, f"{path}.{below}", home)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _walk(key, item, f"{path}[{index}]", home)


def _named(key: str, value: Fields, path: str, home: str) -> t.Iterator[Reference]:
    """The object that a map names, if it says of which kind, or stands in a field of one kind."""
    name, kind = value.get("name"), value.get("kind") or _OBJECTS.get(key)
    if isinstance(name, str) and name and isinstance(kind, str):
        space = value.get("namespace")
        where = space if isinstance(space, str) and space else home
        yield Reference(object_identity(kind, where, name), f"{path}.name")


def _selected(manifest: Fields, others: t.Sequence[Fields]) -> t.Iterator[Reference]:
    """The others that an object selects by labels."""
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
    """The templates of the pods of a workload."""
    if not isinstance(spec, dict):
        return []
    holders = (spec, spec.get("leaderWorkerTemplate") or {})
    found = (holder.get(name) for holder in holders for name in _TEMPLATES)
    return [item for item in found if isinstance(item, dict)]


def _has_labels(item: Fields, wanted: t.Mapping[str, t.Any]) -> bool:
    labels = (item.get("metadata") or {}).get("labels") or {}
    return wanted.items() <= labels.items()
