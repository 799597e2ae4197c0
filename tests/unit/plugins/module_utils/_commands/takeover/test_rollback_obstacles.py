# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._commands.takeover.rollback_obstacles import (
    find_obstacles,
)

HASH = {"nvidia.com/last-applied-hash": "1"}


def item(kind, name, namespace="nim", **annotations):
    metadata = {"name": name, "namespace": namespace, "annotations": annotations}
    return {"kind": kind, "metadata": metadata}


def pod(name, *templates):
    claims = [{"name": "c", "resourceClaimTemplateName": template} for template in templates]
    return {
        "metadata": {"name": name, "namespace": "nim"},
        "spec": {"resourceClaims": [*claims, {"name": "x", "resourceClaimName": "idle"}]},
    }


def test_find_obstacles_known_to_reference():
    kinds = ("ResourceClaimTemplate", "InferencePool", "ComputeDomain")
    found = find_obstacles([item(kind, "a", **HASH) for kind in kinds], [pod("p", "a")])
    assert (found.removable, found.kept) == ([], {})


def test_find_obstacles_removable():
    pool, idle = item("InferencePool", "pool"), item("ResourceClaimTemplate", "idle")
    elsewhere = item("ResourceClaimTemplate", "used", "other")
    others = [item("Deployment", "llm"), item("ConfigMap", "x")]
    found = find_obstacles([pool, idle, elsewhere, *others], [pod("p", "used"), {**pod("q")}])
    assert found.removable == [pool, idle, elsewhere]
    assert found.describe() == []


def test_find_obstacles_in_use():
    items = [item("ResourceClaimTemplate", "used"), item("ComputeDomain", "domain")]
    pods = [pod("p", "used"), pod("q", "used"), {"metadata": {"name": "r", "namespace": "nim"}}]
    found = find_obstacles(items, pods)
    assert found.removable == []
    template, domain = found.describe()
    assert template.startswith("ResourceClaimTemplate nim/used: used by pod p and 1 more: the ref")
    assert domain.startswith("ComputeDomain nim/domain: it connects running pods: the ref")


def test_find_obstacles_renewed_cache():
    source = {"kind": "hf", "modelName": "m"}
    served = {"id": "aa", "folder": ".nimops/aa", "source": source}
    spec = {"source": {}, "storage": {"pvc": {"name": "c", "subPath": "models"}}}
    first = {"spec": spec, "status": {"served": {"id": "aa", "source": source}}}
    renewed = {"spec": spec, "status": {"served": served}}
    caches = [item("NIMCache", "first") | first, item("NIMCache", "renewed") | renewed]
    found = find_obstacles([*caches, item("NIMCache", "new") | {"spec": spec}], [])
    assert found.removable == []
    (text,) = found.describe()
    assert text.startswith("NIMCache nim/renewed: it serves a renewed model from models/.nimops/aa")
