# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Common parts of both pods of a build."""

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._nim.build.app import NIMBuildApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.build.build_pod import (
    build_engine_pod,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.build.manifest_pod import (
    build_manifest_pod,
)


def both(cr, on, profile, orchestrator="Kubernetes"):
    return [
        build_engine_pod(NIMBuildApp(cr), on, profile, orchestrator),
        build_manifest_pod(NIMBuildApp(cr), on, orchestrator),
    ]


def test_build_pod_fields_from_cache(build, cache, buildable):
    on = cache(
        storage={"pvc": {"name": "models", "subPath": "llm"}},
        userID=7,
        groupID=8,
        runtimeClassName="nvidia",
        nodeSelector={"cache": "only"},
        env=[{"name": "CACHE", "value": "only"}],
    )
    for pod in both(build(), on, buildable):
        spec, container = pod["spec"], pod["spec"]["containers"][0]
        assert spec["volumes"][0]["persistentVolumeClaim"] == {"claimName": "models"}
        assert container["volumeMounts"][0]["subPath"] == "llm"
        assert spec["securityContext"] == {"fsGroup": 8, "runAsNonRoot": True, "runAsUser": 7}
        assert (container["securityContext"]["runAsUser"]) == 7
        assert (container["securityContext"]["runAsGroup"]) == 8
        assert spec["runtimeClassName"] == "nvidia"
        assert "only" not in str(pod)
        assert "serviceAccountName" not in spec


def test_build_pod_fields_from_build(build, cache, buildable):
    cr = build(
        tolerations=[{"key": "gpu", "operator": "Exists", "tolerationSeconds": 5}],
        nodeSelector={"x": "true"},
        image={"repository": "r", "tag": "1", "pullSecrets": ["a", "b"], "pullPolicy": "Always"},
    )
    for pod in both(cr, cache(), buildable):
        assert pod["spec"]["tolerations"] == cr["spec"]["tolerations"]
        assert pod["spec"]["nodeSelector"] == {"x": "true"}
        assert pod["spec"]["imagePullSecrets"] == [{"name": "a"}, {"name": "b"}]
        assert pod["spec"]["containers"][0]["image"] == "r:1"
        assert "imagePullPolicy" not in pod["spec"]["containers"][0]


def test_build_pod_on_tkgs(build, cache, buildable):
    for pod in both(build(), cache(), buildable, "TKGS"):
        assert pod["spec"]["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert "seccompProfile" not in pod["spec"]["containers"][0]["securityContext"]
