# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._nim.build.app import NIMBuildApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.build.desired import desired

BUILD_POD, MANIFEST_POD = ("Pod", "engine-engine-build-pod"), ("Pod", "engine-local-manifest-pod")


def test_desired_pod_create_only(build, cache, buildable):
    observed = Observed({"NIMCache/nim/llama": cache(buildable)})
    wanted = desired(NIMBuildApp(build(), observed))
    (child,) = wanted.children
    assert child.manifest["metadata"]["name"] == BUILD_POD[1]
    assert (child.create_only, child.shared) == (True, False)
    assert wanted.unwanted == [MANIFEST_POD]


def test_desired_pods_without_root(world, monkeypatch):
    monkeypatch.setenv("NIMOPS_ROOT_USER", "forbid")
    made = world()
    for name in (BUILD_POD[1], MANIFEST_POD[1]):
        made.reconcile()
        if name == MANIFEST_POD[1]:
            made.become_built()
            made.reconcile()
        (container,) = made.get(f"Pod/nim/{name}")["spec"]["containers"]
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert container["securityContext"]["runAsNonRoot"] is True


def test_desired_refuses_pod_selected_by_service(world, monkeypatch):
    service = {
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "db", "namespace": "nim"},
        "spec": {"selector": {"app.kubernetes.io/name": "engine"}},
    }  # fmt: skip
    monkeypatch.setenv("NIMOPS_POD_LABELS", "team")
    made = world()
    made.put(service)
    result = made.reconcile()
    assert "Service/nim/*" in result.asked
    assert result.applied == []
    assert 'Service "db" selects pods' in result.report.error + str(made.status["conditions"])
    monkeypatch.setenv("NIMOPS_POD_LABELS", "*")
    result = made.reconcile()
    assert "Service/nim/*" not in result.asked
    assert result.applied


def test_desired_config_map_shared(world):
    cluster = world().become_built().print_manifest()
    cluster.reconcile()
    answers = {
        key: cluster.get(key)
        for key in (
            "NIMCache/nim/llama",
            "ConfigMap/nim/llama-manifest",
            "PersistentVolumeClaim/nim/llama-pvc",
            "Pod/nim/engine-local-manifest-pod",
        )
    }
    wanted = desired(NIMBuildApp(cluster.cr, Observed(answers | {"log": cluster.log})))
    (child,) = wanted.children
    assert child.manifest["kind"] == "ConfigMap"
    assert (child.create_only, child.shared) == (False, True)
    assert wanted.unwanted == [BUILD_POD]


def test_desired_name_too_long(build):
    cr = build()
    cr["metadata"]["name"] = "x" * 64
    with pytest.raises(NimError, match="at most 63"):
        desired(NIMBuildApp(cr))
