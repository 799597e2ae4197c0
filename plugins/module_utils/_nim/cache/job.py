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
)
from ..._builders.copies import refuse_copies
from ..._builders.env import EnvVar, env, merge_env, normalize_env, yield_to
from ..._builders.pod import container_security, pod_security, seccomp, without_empty
from ..._builders.side_container import build_side_container
from ..._engine.created_once import marks_of
from ..._engine.drift import has_drifted
from ..cache_spec import Source
from ..cache_versions import FOLDER
from .app import NIMCacheApp
from .artifact import artifact_mounts, artifact_of, artifact_volumes, pull_command, puller_image
from .constants import CONTAINER
from .measure import meter
from .pods import placement, resources_of
from .source import ALL_PROFILES, content_of, is_native, is_self_pulling, source_of

_QUEUE_PREFIX = "kueue.x-k8s.io/"
BACKOFF_LIMIT = 5
_REMOVAL_LIMIT = 2
_TTL_SECONDS = 600
_STORE = "/model-store"
PARENT = "/nim-cache"
"""Where a container mounts the folder of the spec, with all versions of the model."""
_VOLUME, _SCRATCH = "nim-cache-volume", "scratch"
_REMOVE_FOLDER = f'rm -rf "{PARENT}/$1"'
_REMOVE_FIRST = f"""\
for file in {PARENT}/* {PARENT}/.[!.]* {PARENT}/..?*; do
  case "$file" in
    {PARENT}/{FOLDER} | {PARENT}/lost+found) ;;
    *) rm -rf "$file" || failed=1 ;;
  esac
done
exit "${{failed:-0}}"
"""
_PROFILES, _ALL = "--profiles", "--all"


class _Download(t.NamedTuple):
    """Command, arguments and environment of a download, by type of image."""

    command: list[str]
    args: list[str]
    env: list[EnvVar]
    mount_paths: tuple[str, ...] = (_STORE,)
    logs_on_error: bool = True


def build_job(
    app: NIMCacheApp, cache_type: str, profiles: t.Sequence[str], orchestrator: str
) -> Manifest:
    """Build the Job; ``profiles``: for images with profiles, the ids to download, or `all`.

    NimError for the deprecated `spec.certConfig`.
    """
    if app.spec.has_cert_config:
        raise NimError(
            "Deprecated field 'CertConfig' is used. Please migrate to 'Proxy' field on NIMCache.\"",
            reason="ReconcileFailed",
        )
    download = _plan_download(app, cache_type, profiles)
    mounts = _mounts(app, download.mount_paths)
    own_env = _environment(app, cache_type, download)
    pod = {
        "containers": [_puller(app, download, own_env, mounts)],
        "volumes": _volumes(app),
    } | without_empty({"initContainers": _init_containers(app, own_env, mounts)})
    marks = marks_of(app.resource, content_of(app))
    return _job(app, app.job_name, pod, BACKOFF_LIMIT, marks, orchestrator)


def build_removal_job(app: NIMCacheApp, folder: str, orchestrator: str) -> Manifest:
    """Build the Job that removes the files of a version; ``folder``: empty for the first one."""
    container: Json = {
        "name": CONTAINER,
        "image": puller_image(app),
        "command": ["sh", "-c", _REMOVE_FOLDER if folder else _REMOVE_FIRST, "sh", folder],
        "resources": resources_of(app),
        "securityContext": container_security(app.spec.user, app.spec.group),
        "volumeMounts": [parent_mount(app)],
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }
    pod = {"containers": [container], "volumes": [_claim_volume(app)]}
    marks = marks_of(app.resource, folder)
    return _job(app, app.removal_name, pod, _REMOVAL_LIMIT, marks, orchestrator)


def _job(
    app: NIMCacheApp, name: str, pod: Json, limit: int, marks: dict[str, str], orchestrator: str
) -> Manifest:
    """A Job for the claim; ``pod``: containers and volumes; ``limit``: of failed attempts."""
    common = {
        "restartPolicy": "Never",
        "securityContext": pod_security(app.spec.user, app.spec.group) | seccomp(orchestrator),
        **placement(app),
    }
    template = {
        "metadata": {
            "labels": app.standard_labels,
            "annotations": _pod_annotations(app, orchestrator),
        },
        "spec": common | pod,
    }
    spec = {
        "backoffLimit": limit,
        "ttlSecondsAfterFinished": _TTL_SECONDS,
        "template": template,
    }
    return app.child("Job", spec, name=name, labels=_queue(app), annotations=marks)


def _queue(app: NIMCacheApp) -> dict[str, str]:
    """The labels of the resource by which Kueue admits the Job."""
    given = app.resource["metadata"].get("labels") or {}
    return {key: value for key, value in given.items() if key.startswith(_QUEUE_PREFIX)}


def downloads_otherwise(live: Manifest, built: Manifest) -> bool:
    """Whether a live Job differs from the one to create, other than by annotations and labels."""
    annotations = live["metadata"].get("annotations") or {}
    metadata = {**built["metadata"], "annotations": dict(annotations)}
    metadata.pop("labels", None)
    return has_drifted(live, {**built, "metadata": metadata})


def lacks_pod(job: Manifest) -> bool:
    """Whether a Job that has not ended has no pod."""
    status = job.get("status") or {}
    return not (status.get("active") or status.get("succeeded") or status.get("conditions"))


def refuse_large_job(app: NIMCacheApp) -> None:
    """NimError if the Job would be too large: each init container copies the puller's settings."""
    shared = {
        "spec.env": app.spec.env,
        "spec.proxy": app.spec.proxy.env,
        "spec.storage": _mounts(app, (_STORE, _STORE)),
    }
    refuse_copies(shared, "spec.initContainers", len(app.spec.init_containers))


def profiles_of(job: Manifest) -> list[str]:
    """The profile ids that a Job downloads, or `all`; empty if it lists none."""
    for container in job["spec"]["template"]["spec"]["containers"]:
        args = container.get("args") or []
        if container["name"] == CONTAINER and args[:1] == [_PROFILES]:
            return list(args[1:])
        if container["name"] == CONTAINER and args[:1] == [_ALL]:
            return [ALL_PROFILES]
    return []


def folder_of_job(job: Manifest) -> str:
    """The folder of the claim that a Job of a download fills."""
    for container in job["spec"]["template"]["spec"]["containers"]:
        if container["name"] == CONTAINER:
            return str((container.get("volumeMounts") or [{}])[0].get("subPath") or "")
    return ""


def _plan_download(app: NIMCacheApp, cache_type: str, profiles: t.Sequence[str]) -> _Download:
    if place := artifact_of(app):
        args = _choose_args(profiles) if profiles else []
        return _Download(pull_command(app, place, _STORE), args, [])
    if is_native(app, cache_type):
        return _Download([], [], _native_env(app), ("/model", "/opt/cache"))
    source = source_of(app)
    if source.is_hf:
        command = _self_pull(source) if is_self_pulling(app, cache_type) else _hf_download(source)
        return _Download(command, [], _hf_env(source), logs_on_error=False)
    cache_env = env(NIM_CACHE_PATH=_STORE)
    if source.model_endpoint:
        args = ["--model-repo", source.model_endpoint, "--model-store", _STORE]
        return _Download(["create-model-store"], args, cache_env)
    return _Download(["download-to-cache"], _choose_args(profiles), cache_env)


def _choose_args(profiles: t.Sequence[str]) -> list[str]:
    return [_ALL] if ALL_PROFILES in profiles else [_PROFILES, *profiles]


def _self_pull(source: Source) -> list[str]:
    uri = f"hf://{source.namespace}/{source.model_name}"
    if source.revision:
        uri += f":{source.revision}"
    manifest_file = f"{_STORE}/model_manifest.json"
    return ["download-to-cache", "--model-uri", uri, "--manifest-file", manifest_file]


def _hf_download(source: Source) -> list[str]:
    repository = f"{source.namespace}/{source.dataset or source.model_name}"
    kind = "dataset" if source.dataset else "model"
    command = ["huggingface-cli", "download", repository]
    command += ["--local-dir", _STORE, "--repo-type", kind]
    return [*command, "--revision", source.revision] if source.revision else command


def _native_env(app: NIMCacheApp) -> list[EnvVar]:
    return env(NIM_ENGINE_MODEL_DOWNLOAD_ONLY="1", NIM_ENGINE_MODEL_PATH=f"/model/{app.name}")


def _hf_env(source: Source) -> list[EnvVar]:
    return env(
        HF_ENDPOINT=source.endpoint,
        HF_HUB_OFFLINE="0",
        NIM_CACHE_PATH=_STORE,
        HF_HOME=f"{_STORE}/huggingface/hub",
    )


def _environment(app: NIMCacheApp, cache_type: str, download: _Download) -> list[EnvVar]:
    """The variables without the proxy's; user variables take precedence."""
    merged = merge_env(download.env, app.spec.env)
    if is_native(app, cache_type) and not artifact_of(app):
        merged = merge_env(merged, yield_to(app.spec.env, _native_env(app)))
    return normalize_env(merged)


def _mounts(app: NIMCacheApp, paths: t.Sequence[str]) -> list[Json]:
    sub_path = without_empty({"subPath": app.spec.claim.sub_path})
    mounts = [{"name": _VOLUME, "mountPath": path} | sub_path for path in paths]
    return [*mounts, {"name": _SCRATCH, "mountPath": "/scratch"}]


def _volumes(app: NIMCacheApp) -> list[Json]:
    config_map = app.spec.proxy.config_map
    return [
        _claim_volume(app),
        {"name": _SCRATCH, "emptyDir": {}},
        *_own_volumes(app, config_map),
    ]


def _claim_volume(app: NIMCacheApp) -> Json:
    return {"name": _VOLUME, "persistentVolumeClaim": {"claimName": app.spec.claim.name}}


def _own_volumes(app: NIMCacheApp, config_map: str) -> list[Json]:
    if artifact_of(app):
        return artifact_volumes(app)
    return ca_volumes(config_map) if config_map else []


def _own_mounts(app: NIMCacheApp) -> list[Json]:
    if artifact_of(app):
        return artifact_mounts(app)
    return [ca_main_mount()] if app.spec.proxy.config_map else []


def _puller(
    app: NIMCacheApp, download: _Download, own_env: list[EnvVar], mounts: list[Json]
) -> Json:
    source, spec = source_of(app), app.spec
    container: Json = {
        "name": CONTAINER,
        "image": puller_image(app),
        "env": normalize_env(merge_env(own_env, yield_to(spec.env, spec.proxy.env))),
        **without_empty({"envFrom": [] if artifact_of(app) else _secrets(source)}),
        "resources": resources_of(app),
        "securityContext": container_security(spec.user, spec.group),
        "volumeMounts": [*mounts, *_own_mounts(app)],
    }
    if download.logs_on_error:
        container |= {
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "FallbackToLogsOnError",
        }
    return container | without_empty({"command": download.command, "args": download.args})


def _secrets(source: Source) -> list[Json]:
    """The Secret with the credentials; for NGC it may be absent, as not all models need a key."""
    if not source.auth_secret:
        return []
    optional = {} if source.is_hf else {"optional": True}
    return [{"secretRef": {"name": source.auth_secret} | optional}]


def _init_containers(app: NIMCacheApp, own_env: list[EnvVar], mounts: list[Json]) -> list[Json]:
    """The init containers, ours first. A container's own variables take precedence."""
    containers = [
        build_side_container(
            item,
            normalize_env([*yield_to(item.env, own_env), *item.env]),
            mounts,
            item.image.pull_policy,
        )
        for item in app.spec.init_containers
    ]
    if not app.spec.proxy.config_map or artifact_of(app):
        return [*_folder_makers(app), *meter(app, mounts), *containers]
    image = source_of(app).puller
    return [
        *_folder_makers(app),
        ca_init_container(image, own_env, [*ca_init_mounts(), *mounts]),
        *meter(app, mounts),
        *containers,
    ]


def _folder_makers(app: NIMCacheApp) -> list[Json]:
    """The container that creates the folder of a renewed version.

    The kubelet would create it as root, and not every volume gives it to the group of the pod.
    """
    if not app.folder:
        return []
    return [
        {
            "name": "nim-cache-folder",
            "image": puller_image(app),
            "command": ["mkdir", "-p", f"{PARENT}/{app.folder}"],
            "resources": resources_of(app),
            "securityContext": container_security(app.spec.user, app.spec.group),
            "volumeMounts": [parent_mount(app)],
        }
    ]


def parent_mount(app: NIMCacheApp) -> Json:
    """The mount of the folder of the spec, at `PARENT`."""
    parent = app.spec.claim.sub_path.removesuffix(app.folder).rstrip("/")
    return {"name": _VOLUME, "mountPath": PARENT} | without_empty({"subPath": parent})


def _pod_annotations(app: NIMCacheApp, orchestrator: str) -> dict[str, str]:
    annotations = {"sidecar.istio.io/inject": "false"}
    if orchestrator == "OpenShift":
        annotations["openshift.io/scc"] = "anyuid" if app.spec.proxy.is_given else "nonroot"
    return annotations
