# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Claims, classes and volumes."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.preflight.storage import (
    check_claims,
    claims_of,
    volume_affinities,
)

DEFAULT = {"storageclass.kubernetes.io/is-default-class": "true"}


def claim(mode="ReadWriteOnce", size="10Gi", **spec):
    given = {"accessModes": [mode], "resources": {"requests": {"storage": size}}, **spec}
    metadata = {"name": "models", "namespace": "nim"}
    return {"kind": "PersistentVolumeClaim", "metadata": metadata, "spec": given}


def storage_class(name="fast", provisioner="ebs.csi.aws.com", mode="Immediate", **annotations):
    metadata = {"name": name, "annotations": annotations}
    return {"metadata": metadata, "provisioner": provisioner, "volumeBindingMode": mode}


def volume(size="10Gi", name="", phase="Available", mode="ReadWriteOnce"):
    spec = {"capacity": {"storage": size}, "storageClassName": name, "accessModes": [mode]}
    return {"metadata": {"name": "v"}, "spec": spec, "status": {"phase": phase}}


STATIC = storage_class("static", "kubernetes.io/no-provisioner")
NEW = {
    "a class": (claim(storageClassName="fast"), [storage_class()], [], "ok", "provisions it"),
    "the default class": (claim(), [storage_class(**DEFAULT)], [], "ok", "StorageClass fast"),
    "its first pod": (
        claim(storageClassName="fast"),
        [storage_class(mode="WaitForFirstConsumer")],
        [],
        "ok",
        "when the first pod starts",
    ),
    "no such class": (claim(storageClassName="lost"), [storage_class()], [], "error", "lost"),
    "volumes without a class": (
        claim(storageClassName="lost"),
        [],
        [volume(name="lost")],
        "ok",
        "an available PersistentVolume",
    ),
    "no default": (claim(), [storage_class()], [], "error", "no default StorageClass"),
    "a volume": (claim(), [], [volume()], "ok", "an available PersistentVolume"),
    "a used volume": (claim(), [], [volume(phase="Bound")], "error", "no available"),
    "a small volume": (claim(), [], [volume("9Gi")], "error", "no available"),
    "a volume of one pod": (claim("ReadWriteMany"), [], [volume()], "error", "no available"),
    "a class without provisioner": (
        claim(storageClassName="static"),
        [STATIC],
        [volume(name="static")],
        "ok",
        "an available",
    ),
    "none of that class": (
        claim(storageClassName="static"),
        [STATIC],
        [volume()],
        "error",
        "StorageClass static has no provisioner",
    ),
    "empty class": (
        claim(storageClassName=""),
        [storage_class(**DEFAULT)],
        [],
        "error",
        "requests no StorageClass",
    ),
    "not to share": (
        claim("ReadWriteMany", storageClassName="fast"),
        [storage_class()],
        [],
        "error",
        "does not support ReadWriteMany",
    ),
    "volumes that may not be read": (claim(), [], None, "warning", "the volumes are not known"),
    "classes that may not be read": (claim(), None, [], None, ""),
}


@pytest.mark.parametrize("case", NEW)
def test_check_claims_new(make_rendered, make_facts, levels, case):
    item, classes, volumes, level, part = NEW[case]
    given = {"StorageClass": classes, "PersistentVolume": volumes}
    lists = {kind: items for kind, items in given.items() if items is not None}
    found = levels(check_claims([], make_rendered(item), make_facts(lists=lists)))
    assert [it for it, _text in found] == ([level] if level else [])
    assert part in "".join(text for _level, text in found)


def mounting(name="models"):
    return {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": name}}]}


def live(phase="Bound", mode="ReadWriteOnce", **metadata):
    found = claim(mode, storageClassName="late")
    return {
        **found,
        "metadata": {**found["metadata"], **metadata},
        "status": {"phase": phase},
    }


LIVE = {
    "bound": (live(), 1, ["ok"]),
    "lost": (live("Lost"), 1, ["error"]),
    "leaving": (live(deletionTimestamp="2026-01-01T00:00:00Z"), 1, ["error"]),
    "waiting": (live("Pending"), 1, ["ok"]),
    "two pods": (live(), 2, ["ok", "warning"]),
    "two pods that share": (live(mode="ReadWriteMany"), 2, ["ok"]),
    "none": (None, 1, ["error"]),
}


@pytest.mark.parametrize("case", LIVE)
def test_check_claims_used(make_group, make_rendered, make_facts, levels, case):
    item, count, wanted = LIVE[case]
    late = storage_class("late", mode="WaitForFirstConsumer")
    facts = make_facts(
        *([item] if item else []),
        absent=[] if item else [("PersistentVolumeClaim", "models")],
        lists={"StorageClass": [late]},
    )
    group = make_group(mounting(), count)
    found = levels(check_claims([group], make_rendered(), facts))
    assert [it for it, _text in found] == wanted


def test_check_claims_pending_without_reason(make_group, make_rendered, make_facts, levels):
    facts = make_facts(live("Pending"), lists={"StorageClass": []})
    ((level, _text),) = levels(check_claims([make_group(mounting())], make_rendered(), facts))
    assert level == "warning"


def test_check_claims_rendered_claim_is_not_missing(make_group, make_rendered, make_facts, levels):
    facts = make_facts(absent=[("PersistentVolumeClaim", "models")])
    found = levels(check_claims([make_group(mounting())], make_rendered(claim()), facts))
    assert found == []


def test_volume_affinities(make_group, make_facts):
    required = {"nodeSelectorTerms": []}
    bound = claim(volumeName="v")
    found = {
        "kind": "PersistentVolume",
        "metadata": {"name": "v"},
        "spec": {"nodeAffinity": {"required": required}},
    }
    group = make_group(mounting())
    assert volume_affinities(group, make_facts(bound, found)) == (required,)
    assert volume_affinities(group, make_facts(bound)) == ()
    assert claims_of(group.spec) == ["models"]
