# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The pod that builds the engine: the NIM builds it at startup and then becomes ready."""

from __future__ import annotations

import typing as t

from ..._base.errors import NimError
from ..._base.types import Json, Manifest
from ..._builders.env import EnvVar, env, merge_env, normalize_env, secret_env, yield_to
from ..._builders.gpu import (
    GPU,
    has_gpus,
    parallelism_of,
    parse_parallelism,
    with_gpus,
)
from ..._builders.pod import http_probe, without_empty
from ..._engine.created_once import marks_of
from ..._engine.metadata import Labels, merge_missing, operator_labels
from ..cache_spec import parse_cache
from .app import NIMBuildApp
from .constants import BUILD_CONTAINER
from .pods import STORE, build_pod

_PORT = 8000
_MARKS_OF_TOOLS = (
    "ansible.sdk.operatorframework.io/",
    "app.kubernetes.io/instance",
    "argocd.argoproj.io/",
    "helm.sh/",
    "helm.toolkit.fluxcd.io/",
    "kubectl.kubernetes.io/",
    "kustomize.toolkit.fluxcd.io/",
    "meta.helm.sh/",
    "nimops.nim/",
)
"""Labels and annotations by which tools find the NIMBuild itself, or remember it."""


def build_engine_pod(
    app: NIMBuildApp, cache: Manifest, profile: t.Mapping[str, t.Any], orchestrator: str
) -> Manifest:
    """Build the pod; NimError unless the profile or the spec sets its number of GPUs."""
    container: Json = {
        "name": BUILD_CONTAINER,
        "env": _environment(app, cache, profile),
        "ports": [{"name": "api", "containerPort": _PORT, "protocol": "TCP"}],
        "readinessProbe": http_probe("/v1/health/ready", 15, 3),
        "livenessProbe": http_probe("/v1/health/live", 15, 3),
        "startupProbe": http_probe("/v1/health/ready", 30, 30),
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "FallbackToLogsOnError",
    } | without_empty({"resources": _resources(app, profile)})
    metadata = {
        "labels": merge_missing(operator_labels(app.name), _given(app, "labels", app.spec.labels)),
        "annotations": merge_missing(
            marks_of(app.resource, app.content) | _annotations(orchestrator),
            _given(app, "annotations", app.spec.annotations),
        ),
    }
    return build_pod(
        app, cache, orchestrator, app.build_pod_name, metadata=metadata, container=container
    )


def _environment(app: NIMBuildApp, cache: Manifest, profile: t.Mapping[str, t.Any]) -> list[EnvVar]:
    """The variables of the build; user variables take precedence."""
    base = env(
        NIM_CACHE_PATH=STORE,
        NIM_SERVER_PORT=str(_PORT),
        NIM_HTTP_API_PORT=str(_PORT),
        NIM_CUSTOM_MODEL_NAME=app.spec.model_name,
        NIM_MODEL_PROFILE=profile["name"],
    )
    source = parse_cache(cache).source
    if source and not source.is_hf and source.auth_secret:
        base.append(secret_env("NGC_API_KEY", source.auth_secret, optional=True))
    merged = merge_env(base, app.spec.env)
    if (profile.get("config") or {}).get("feat_lora") == "true":
        merged = merge_env(merged, yield_to(app.spec.env, env(NIM_PEFT_SOURCE="/tmp")))
    return normalize_env(merged)


def _resources(app: NIMBuildApp, profile: t.Mapping[str, t.Any]) -> Json:
    """User resources plus the profile's GPUs: exactly one of the two must set the number."""
    amounts, size = app.spec.amounts, parallelism_of(profile)
    if not size and not has_gpus(amounts):
        raise NimError(
            "tensorParallelism is not set in the profile tags or resources: set"
            f" {GPU} in spec.resources",
            reason="GPUCountMissing",
        )
    if size and has_gpus(amounts):
        raise NimError(
            f"tensorParallelism is set in the profile tags, but {GPU} is already set in resources:"
            f" remove {GPU} from spec.resources",
            reason="GPUCountTwice",
        )
    if size:
        advice = "build for another profile"
        amounts = with_gpus(amounts, parse_parallelism(size, profile["name"], advice))
    return {key: named for key, named in amounts.items() if named}


def _given(app: NIMBuildApp, what: str, given: t.Mapping[str, str]) -> Labels:
    """Labels or annotations of the spec, completed by those of the NIMBuild itself."""
    own = {
        key: value
        for key, value in (app.resource["metadata"].get(what) or {}).items()
        if not key.startswith(_MARKS_OF_TOOLS)
    }
    return merge_missing(given, own)


def _annotations(orchestrator: str) -> Labels:
    scc = {"openshift.io/scc": "nonroot"} if orchestrator == "OpenShift" else {}
    return {"sidecar.istio.io/inject": "false"} | scc
