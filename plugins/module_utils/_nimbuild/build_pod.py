# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The pod that builds the engine: the NIM does it when it starts, and is ready when it is done."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.desired import Manifest
from ansible_collections.nimops.nim.plugins.module_utils._common.env import (
    EnvVar,
    env,
    merge_env,
    secret_env,
    tidy_env,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._common.gpu import (
    GPU,
    amounts_of,
    has_gpus,
    parallelism_of,
    parse_parallelism,
    with_gpus,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.meta import (
    Labels,
    merge_missing,
    operator_labels,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.pods import (
    http_probe,
    without_empty,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimbuild.names import (
    BUILD_CONTAINER,
    Resource,
    build_pod_name,
    model_name,
    name_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimbuild.pods import STORE, build_pod

_PORT = 8000
_TOOL_ANNOTATIONS = (
    "ansible.sdk.operatorframework.io/",
    "kubectl.kubernetes.io/",
    "nimops.nim/",
)
"""Notes of kubectl, the runtime and other reconciles on the NIMBuild itself."""

Json = dict[str, t.Any]


def build_engine_pod(
    cr: Resource, cache: Manifest, profile: t.Mapping[str, t.Any], orchestrator: str
) -> Manifest:
    """The pod; NimError if profile and spec do not tell how many GPUs it takes."""
    container: Json = {
        "name": BUILD_CONTAINER,
        "env": _environment(cr, cache, profile),
        "ports": [{"name": "api", "containerPort": _PORT, "protocol": "TCP"}],
        "readinessProbe": http_probe("/v1/health/ready", 15, 3),
        "livenessProbe": http_probe("/v1/health/live", 15, 3),
        "startupProbe": http_probe("/v1/health/ready", 30, 30),
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "FallbackToLogsOnError",
    } | without_empty({"resources": _resources(cr, profile)})
    metadata = {
        "labels": merge_missing(operator_labels(name_of(cr)), _given(cr, "labels")),
        "annotations": merge_missing(_annotations(orchestrator), _given(cr, "annotations")),
    }
    return build_pod(
        cr, cache, orchestrator, build_pod_name(cr), metadata=metadata, container=container
    )


def _environment(cr: Resource, cache: Manifest, profile: t.Mapping[str, t.Any]) -> list[EnvVar]:
    """The user wins, except for the folder of adapters that a profile with LoRA wants."""
    base = env(
        NIM_CACHE_PATH=STORE,
        NIM_SERVER_PORT=str(_PORT),
        NIM_HTTP_API_PORT=str(_PORT),
        NIM_CUSTOM_MODEL_NAME=model_name(cr),
        NIM_MODEL_PROFILE=profile["name"],
    )
    secret = ((cache["spec"].get("source") or {}).get("ngc") or {}).get("authSecret")
    if secret:
        base.append(secret_env("NGC_API_KEY", secret))
    merged = merge_env(base, cr["spec"].get("env") or [])
    if (profile.get("config") or {}).get("feat_lora") == "true":
        merged = merge_env(merged, env(NIM_PEFT_SOURCE="/tmp"))
    return tidy_env(merged)


def _resources(cr: Resource, profile: t.Mapping[str, t.Any]) -> Json:
    """The user's, with the profile's GPUs: just one of the two must say how many."""
    amounts, size = amounts_of(cr["spec"].get("resources")), parallelism_of(profile)
    if not size and not has_gpus(amounts):
        raise NimError(
            "tensorParallelism is not set in the profile tags or resources: set"
            f" {GPU} in spec.resources of a new NIMBuild",
            reason="GPUCountMissing",
        )
    if size and has_gpus(amounts):
        raise NimError(
            f"tensorParallelism is set in the profile tags, but {GPU} is already set in resources:"
            f" leave {GPU} out of spec.resources of a new NIMBuild",
            reason="GPUCountTwice",
        )
    if size:
        advice = "build for another profile"
        amounts = with_gpus(amounts, parse_parallelism(size, profile["name"], advice))
    return {key: named for key, named in amounts.items() if named}


def _given(cr: Resource, what: str) -> Labels:
    """Labels or annotations: those of the spec, then those of the NIMBuild itself."""
    own = {
        key: value
        for key, value in (cr["metadata"].get(what) or {}).items()
        if not key.startswith(_TOOL_ANNOTATIONS)
    }
    return merge_missing(cr["spec"].get(what), own)


def _annotations(orchestrator: str) -> Labels:
    scc = {"openshift.io/scc": "nonroot"} if orchestrator == "OpenShift" else {}
    return {"sidecar.istio.io/inject": "false"} | scc
