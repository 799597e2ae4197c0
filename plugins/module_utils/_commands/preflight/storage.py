# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Storage: claims, their classes and volumes."""

from __future__ import annotations

import typing as t

from ..._base.types import Fields, Json
from ..._engine.api_resources import ObjectKey as Key
from .check import Reporter
from .facts import ClusterFacts
from .namespace_limits import new_objects
from .pod_resources import ZERO, amounts_of, show
from .workloads import Planned, PodGroup, Rendered

CLAIM = "PersistentVolumeClaim"
_DEFAULT = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_NO_PROVISIONER = "kubernetes.io/no-provisioner"
_WAITS = "WaitForFirstConsumer"
_MANY = "ReadWriteMany"
_SINGLE = ("ReadWriteOnce", "ReadWriteOncePod")
_OF_ONE_NODE = {
    *("disk.csi.azure.com", "ebs.csi.aws.com", "kubernetes.io/aws-ebs"),
    *("kubernetes.io/azure-disk", "kubernetes.io/cinder", "kubernetes.io/gce-pd"),
    *("local.csi.openebs.io", "openebs.io/local", "pd.csi.storage.gke.io"),
    *("cinder.csi.openstack.org", "rancher.io/local-path", "topolvm.io"),
    *("docker.io/hostpath", "microk8s.io/hostpath", "kubevirt.io.hostpath-provisioner"),
}
"""Provisioners whose file systems only one node can mount."""


def check_claims(
    groups: t.Sequence[PodGroup], rendered: Rendered, facts: ClusterFacts
) -> list[Reporter]:
    """Check the claims that are created, and those that pods use."""
    reporters = [_check_new(item, facts) for item in new_objects(rendered, CLAIM)]
    for group in groups:
        reporter = Reporter(group.parent, "storage")
        for name in claims_of(group.spec):
            _check_used(reporter, group, name, rendered, facts)
        reporters.append(reporter)
    return reporters


def claims_of(spec: Fields) -> list[str]:
    """The names of the claims that a pod mounts."""
    found = [
        (volume.get("persistentVolumeClaim") or {}).get("claimName")
        for volume in spec.get("volumes") or []
    ]
    return [name for name in found if name]


def volume_affinities(group: PodGroup, facts: ClusterFacts) -> tuple[Json, ...]:
    """The node affinities of the bound volumes of a pod."""
    found = []
    for name in claims_of(group.spec):
        claim = facts.find(CLAIM, group.namespace, name) or {}
        volume = facts.find("PersistentVolume", "", volume_of(claim)) or {}
        required = ((volume.get("spec") or {}).get("nodeAffinity") or {}).get("required")
        if required:
            found.append(required)
    return tuple(found)


def volume_of(claim: Fields) -> str:
    """The name of the volume that a claim is bound to; empty if it is not."""
    return str((claim.get("spec") or {}).get("volumeName") or "")


def _check_used(
    reporter: Reporter, group: PodGroup, name: str, rendered: Rendered, facts: ClusterFacts
) -> None:
    live, made = (
        facts.find(CLAIM, group.namespace, name),
        rendered.find(CLAIM, group.namespace, name),
    )
    if live is None and made is None:
        if facts.is_missing(CLAIM, group.namespace, name):
            reporter.fail(
                f"{CLAIM} {name} does not exist in namespace {group.namespace}, and the pods of"
                f" {group.workload.kind} {group.workload.name} mount it",
                "create it, or let spec.storage create one",
            )
        return
    if live is not None:
        _check_live(reporter, name, live, facts)
    modes = set(((live or made or {}).get("spec") or {}).get("accessModes") or [])
    pods = group.count
    if pods > 1 and modes and modes <= set(_SINGLE):
        reporter.warn(
            f"{CLAIM} {name} is {', '.join(sorted(modes))}, so all {pods} pods of"
            f" {group.workload.kind} {group.workload.name} must run on one node",
            f"use a claim with volumeAccessMode {_MANY}",
        )


def _check_live(reporter: Reporter, name: str, live: Json, facts: ClusterFacts) -> None:
    phase = (live.get("status") or {}).get("phase")
    spec = live.get("spec") or {}
    if live["metadata"].get("deletionTimestamp"):
        reporter.fail(f"{CLAIM} {name} is being deleted", "wait until it is gone, or use another")
    elif phase == "Lost":
        reporter.fail(
            f"{CLAIM} {name} has lost its volume", "restore the volume, or use another claim"
        )
    elif phase == "Bound":
        reporter.ok(f"{CLAIM} {name} is bound")
    elif _class_mode(spec.get("storageClassName"), facts) == _WAITS:
        reporter.ok(f"{CLAIM} {name} waits for its first pod")
    else:
        reporter.warn(f"{CLAIM} {name} is not bound", "see its events: kubectl describe pvc")


def _class_mode(name: str | None, facts: ClusterFacts) -> str:
    found = {item["metadata"]["name"]: item for item in facts.items("StorageClass")}
    return str((found.get(name or "") or {}).get("volumeBindingMode") or "")


def _check_new(item: Planned, facts: ClusterFacts) -> Reporter:
    reporter = Reporter(item.parent, "storage")
    spec, key = item.manifest.get("spec") or {}, item.key
    if not facts.lists_known("StorageClass"):
        return reporter
    classes = {it["metadata"]["name"]: it for it in facts.items("StorageClass")}
    name = spec.get("storageClassName")
    if name is None:
        name = next((it for it, found in classes.items() if _is_default(found)), None)
    if name and name not in classes and not _volume_for(spec, name, facts):
        shown = ", ".join(sorted(classes))
        reporter.fail(
            f"{CLAIM} {key.name}: the StorageClass {name} does not exist",
            f"set storageClass in spec.storage.pvc to one of: {shown}"
            if shown
            else "install a storage provisioner",
        )
        return reporter
    found = classes.get(name or "") or {}
    if not found or found.get("provisioner") == _NO_PROVISIONER:
        _check_static(reporter, key, spec, name or "", facts, found)
    else:
        _check_class(reporter, key, spec, found)
    return reporter


def _check_class(reporter: Reporter, key: Key, spec: Json, found: Json) -> None:
    name, provisioner = found["metadata"]["name"], str(found.get("provisioner"))
    if _MANY in (spec.get("accessModes") or []) and provisioner in _OF_ONE_NODE:
        reporter.fail(
            f"{CLAIM} {key.name}: the provisioner {provisioner} of StorageClass {name} does not"
            f" support {_MANY}",
            "use a StorageClass of a shared file system, or volumeAccessMode ReadWriteOnce",
        )
        return
    waits = ", when the first pod starts" if found.get("volumeBindingMode") == _WAITS else ""
    reporter.ok(f"{CLAIM} {key.name}: {provisioner} of StorageClass {name} provisions it{waits}")


def _check_static(
    reporter: Reporter, key: Key, spec: Json, name: str, facts: ClusterFacts, found: Json
) -> None:
    """A claim that no provisioner serves binds to a volume that exists."""
    where = (
        f"StorageClass {name} has no provisioner" if found else "there is no default StorageClass"
    )
    if spec.get("storageClassName") == "":
        where = "it requests no StorageClass"
    if not facts.lists_known("PersistentVolume"):
        reporter.warn(
            f"{CLAIM} {key.name}: {where}, and the volumes are not known",
            "set storageClass in spec.storage.pvc to a class with a provisioner",
        )
    elif _volume_for(spec, name, facts):
        reporter.ok(f"{CLAIM} {key.name}: an available PersistentVolume suits it")
    else:
        size = amounts_of((spec.get("resources") or {}).get("requests")).get("storage", ZERO)
        modes = ", ".join(spec.get("accessModes") or [])
        reporter.fail(
            f"{CLAIM} {key.name}: {where}, and no available PersistentVolume has {show(size)} and"
            f" {modes}",
            "set storageClass in spec.storage.pvc, or create a volume",
        )


def _volume_for(spec: Json, name: str, facts: ClusterFacts) -> Json | None:
    size = amounts_of((spec.get("resources") or {}).get("requests")).get("storage", ZERO)
    modes = set(spec.get("accessModes") or [])
    for volume in facts.items("PersistentVolume"):
        given = volume.get("spec") or {}
        has_room = amounts_of(given.get("capacity")).get("storage", ZERO) >= size
        is_free = (volume.get("status") or {}).get("phase") == "Available"
        if (
            is_free
            and has_room
            and (given.get("storageClassName") or "") == name
            and modes <= set(given.get("accessModes") or [])
        ):
            return volume
    return None


def _is_default(found: Json) -> bool:
    annotations = found["metadata"].get("annotations") or {}
    return any(annotations.get(name) == "true" for name in _DEFAULT)
