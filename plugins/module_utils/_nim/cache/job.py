# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The Job that downloads the model to the PVC."""

from __future__ import annotations

import typing as t

from ..._base.errors import NimError
from ..._base.types import Json, Manifest
from ..._builders.certificates import (
    ca_init_container,
    ca_init_mounts,
    ca_main_mount,
    ca_volumes,
    cert_config_map,
)
from ..._builders.copies import refuse_copies
from ..._builders.env import EnvVar, env, merge_env, normalize_env, proxy_env
from ..._builders.pod import (
    container_security,
    image_reference,
    pod_security,
    seccomp,
    without_empty,
)
from ..._builders.pvc import pvc_name
from .app import NIMCacheApp
from .names import CONTAINER
from .pods import placement, resources_of
from .source import ALL_PROFILES, is_hf_style, is_native, is_self_pulling, source_of

BACKOFF_LIMIT = 5
_TTL_SECONDS = 600
_STORE = "/model-store"
_VOLUME, _SCRATCH = "nim-cache-volume", "scratch"
_PROFILES, _ALL = "--profiles", "--all"


class _Download(t.NamedTuple):
    """How to tell one type of image what to download."""

    command: list[str]
    args: list[str]
    env: list[EnvVar]
    mount_paths: tuple[str, ...] = (_STORE,)
    logs_on_error: bool = True


def build_job(
    app: NIMCacheApp, cache_type: str, profiles: t.Sequence[str], orchestrator: str
) -> Manifest:
    """The Job; ``profiles`` are the ids to download, or `all`, for images with profiles.

    NimError for the deprecated `spec.certConfig`.
    """
    if app.spec.get("certConfig"):
        raise NimError(
            "Deprecated field 'CertConfig' is used. Please migrate to 'Proxy' field on NIMCache.\"",
            reason="ReconcileFailed",
        )
    download = _plan_download(app, cache_type, profiles)
    mounts = _mounts(app, download.mount_paths)
    own_env = _environment(app, cache_type, download)
    pod = {
        "restartPolicy": "Never",
        "securityContext": pod_security(app.spec) | seccomp(orchestrator),
        **placement(app),
        "containers": [_puller(app, download, own_env, mounts)],
        "volumes": _volumes(app),
    } | without_empty({"initContainers": _init_containers(app, own_env, mounts)})
    template = {
        "metadata": {
            "labels": app.standard_labels,
            "annotations": _pod_annotations(app, orchestrator),
        },
        "spec": pod,
    }
    spec = {
        "backoffLimit": BACKOFF_LIMIT,
        "ttlSecondsAfterFinished": _TTL_SECONDS,
        "template": template,
    }
    return app.child("Job", spec, name=app.job_name, labels={})


def refuse_large_job(app: NIMCacheApp) -> None:
    """NimError if the Job would be too large: each init container gets what the puller has."""
    spec = app.spec
    shared = {
        "spec.env": spec.get("env"),
        "spec.proxy": proxy_env(spec.get("proxy")),
        "spec.storage": _mounts(app, (_STORE, _STORE)),
    }
    refuse_copies(shared, "spec.initContainers", len(spec.get("initContainers") or []))


def profiles_of(job: Manifest) -> list[str]:
    """The profile ids that a Job downloads; empty if it lists none."""
    for container in job["spec"]["template"]["spec"]["containers"]:
        args = container.get("args") or []
        if container["name"] == CONTAINER and args[:1] == [_PROFILES]:
            return list(args[1:])
    return []


def _plan_download(app: NIMCacheApp, cache_type: str, profiles: t.Sequence[str]) -> _Download:
    if is_native(app, cache_type):
        return _Download([], [], _native_env(app), ("/model", "/opt/cache"))
    if is_hf_style(app):
        command = _self_pull(app) if is_self_pulling(app, cache_type) else _hf_download(app)
        return _Download(command, [], _hf_env(app), logs_on_error=False)
    cache_env = env(NIM_CACHE_PATH=_STORE)
    endpoint = source_of(app).get("modelEndpoint")
    if endpoint:
        args = ["--model-repo", endpoint, "--model-store", _STORE]
        return _Download(["create-model-store"], args, cache_env)
    args = [_ALL] if ALL_PROFILES in profiles else [_PROFILES, *profiles]
    return _Download(["download-to-cache"], args, cache_env)


def _self_pull(app: NIMCacheApp) -> list[str]:
    source = source_of(app)
    uri = f"hf://{source['namespace']}/{source['modelName']}"
    if source.get("revision"):
        uri += f":{source['revision']}"
    manifest_file = f"{_STORE}/model_manifest.json"
    return ["download-to-cache", "--model-uri", uri, "--manifest-file", manifest_file]


def _hf_download(app: NIMCacheApp) -> list[str]:
    source = source_of(app)
    dataset = source.get("datasetName")
    repository = f"{source['namespace']}/{dataset or source.get('modelName') or ''}"
    kind = "dataset" if dataset else "model"
    command = ["huggingface-cli", "download", repository]
    command += ["--local-dir", _STORE, "--repo-type", kind]
    revision = source.get("revision")
    return [*command, "--revision", revision] if revision else command


def _native_env(app: NIMCacheApp) -> list[EnvVar]:
    return env(NIM_ENGINE_MODEL_DOWNLOAD_ONLY="1", NIM_ENGINE_MODEL_PATH=f"/model/{app.name}")


def _hf_env(app: NIMCacheApp) -> list[EnvVar]:
    return env(
        HF_ENDPOINT=source_of(app)["endpoint"],
        HF_HUB_OFFLINE="0",
        NIM_CACHE_PATH=_STORE,
        HF_HOME=f"{_STORE}/huggingface/hub",
    )


def _environment(app: NIMCacheApp, cache_type: str, download: _Download) -> list[EnvVar]:
    """The variables without the proxy's; the user's win, except over what a native image needs."""
    merged = merge_env(download.env, app.spec.get("env") or [])
    if is_native(app, cache_type):
        merged = merge_env(merged, _native_env(app))
    return normalize_env(merged)


def _mounts(app: NIMCacheApp, paths: t.Sequence[str]) -> list[Json]:
    pvc = (app.spec.get("storage") or {}).get("pvc") or {}
    sub_path = without_empty({"subPath": pvc.get("subPath")})
    mounts = [{"name": _VOLUME, "mountPath": path} | sub_path for path in paths]
    return [*mounts, {"name": _SCRATCH, "mountPath": "/scratch"}]


def _volumes(app: NIMCacheApp) -> list[Json]:
    config_map = cert_config_map(app.spec)
    return [
        {"name": _VOLUME, "persistentVolumeClaim": {"claimName": pvc_name(app.resource)}},
        {"name": _SCRATCH, "emptyDir": {}},
        *(ca_volumes(config_map) if config_map else []),
    ]


def _puller(
    app: NIMCacheApp, download: _Download, own_env: list[EnvVar], mounts: list[Json]
) -> Json:
    source, spec = source_of(app), app.spec
    container: Json = {
        "name": CONTAINER,
        "image": source["modelPuller"],
        "env": normalize_env(merge_env(own_env, proxy_env(spec.get("proxy")))),
        "envFrom": [{"secretRef": {"name": source["authSecret"]}}],
        "resources": resources_of(app),
        "securityContext": container_security(spec),
        "volumeMounts": [*mounts, *([ca_main_mount()] if cert_config_map(spec) else [])],
    }
    if download.logs_on_error:
        container |= {
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "FallbackToLogsOnError",
        }
    return container | without_empty({"command": download.command, "args": download.args})


def _init_containers(app: NIMCacheApp, own_env: list[EnvVar], mounts: list[Json]) -> list[Json]:
    """Ours come first. The puller's environment overrides that of the user's containers."""
    given = app.spec.get("initContainers") or []
    containers = [_init_container(item, own_env, mounts) for item in given]
    if not cert_config_map(app.spec):
        return containers
    image = source_of(app)["modelPuller"]
    return [ca_init_container(image, own_env, [*ca_init_mounts(), *mounts]), *containers]


def _init_container(given: Json, own_env: list[EnvVar], mounts: list[Json]) -> Json:
    return {"name": given["name"], "image": image_reference(given["image"])} | without_empty(
        {
            "imagePullPolicy": given["image"].get("pullPolicy"),
            "command": given.get("command"),
            "args": given.get("args"),
            "workingDir": given.get("workingDir"),
            "env": normalize_env(merge_env(given.get("env") or [], own_env)),
            "volumeMounts": mounts,
        }
    )


def _pod_annotations(app: NIMCacheApp, orchestrator: str) -> dict[str, str]:
    annotations = {"sidecar.istio.io/inject": "false"}
    if orchestrator == "OpenShift":
        proxied = app.spec.get("proxy") is not None
        annotations["openshift.io/scc"] = "anyuid" if proxied else "nonroot"
    return annotations
