# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The Job that downloads the model into the claim."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.certificates import (
    ca_init_container,
    ca_init_mounts,
    ca_main_mount,
    ca_volumes,
    cert_config_map,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.desired import Manifest
from ansible_collections.nimops.nim.plugins.module_utils._common.env import (
    EnvVar,
    env,
    merge_env,
    proxy_env,
    tidy_env,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._common.meta import (
    operator_labels,
    owner_reference,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.pods import (
    container_security,
    image_reference,
    pod_security,
    seccomp,
    without_empty,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.pvc import claim_name
from ansible_collections.nimops.nim.plugins.module_utils._common.resources import manifest
from ansible_collections.nimops.nim.plugins.module_utils._nimcache.flavour import (
    ALL_PROFILES,
    is_hf_style,
    is_native,
    is_self_pulling,
    source_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimcache.names import (
    CONTAINER,
    Resource,
    job_name,
    name_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimcache.pods import (
    placement,
    resources_of,
)

BACKOFF_LIMIT = 5
_TTL_SECONDS = 600
_STORE = "/model-store"
_VOLUME, _SCRATCH = "nim-cache-volume", "scratch"
_PROFILES, _ALL = "--profiles", "--all"

Json = dict[str, t.Any]


class _Download(t.NamedTuple):
    """How one sort of image is told to download."""

    command: list[str]
    args: list[str]
    env: list[EnvVar]
    mount_paths: tuple[str, ...] = (_STORE,)
    logs_on_error: bool = True


def build_job(
    cr: Resource, cache_type: str, profiles: t.Sequence[str], orchestrator: str
) -> Manifest:
    """The Job; ``profiles`` are the ids to download, or `all`, where there is a choice.

    NimError for the deprecated `spec.certConfig`.
    """
    spec = cr["spec"]
    if spec.get("certConfig"):
        raise NimError(
            "Deprecated field 'CertConfig' is used. Please migrate to 'Proxy' field on NIMCache.\"",
            reason="ReconcileFailed",
        )
    download = _plan_download(cr, cache_type, profiles)
    mounts = _mounts(cr, download.mount_paths)
    own_env = _environment(cr, cache_type, download)
    pod = {
        "restartPolicy": "Never",
        "securityContext": pod_security(cr["spec"]) | seccomp(orchestrator),
        **placement(cr),
        "containers": [_puller(cr, download, own_env, mounts)],
        "volumes": _volumes(cr),
    } | without_empty({"initContainers": _init_containers(cr, own_env, mounts)})
    template = {
        "metadata": {
            "labels": operator_labels(name_of(cr)),
            "annotations": _pod_annotations(cr, orchestrator),
        },
        "spec": pod,
    }
    return manifest(
        "Job",
        job_name(cr),
        cr["metadata"]["namespace"],
        metadata={"ownerReferences": [owner_reference(cr)]},
        spec={
            "backoffLimit": BACKOFF_LIMIT,
            "ttlSecondsAfterFinished": _TTL_SECONDS,
            "template": template,
        },
    )


def profiles_of(job: Manifest) -> list[str]:
    """The profile ids that a Job was told to download; empty if it was not told any."""
    for container in job["spec"]["template"]["spec"]["containers"]:
        args = container.get("args") or []
        if container["name"] == CONTAINER and args[:1] == [_PROFILES]:
            return list(args[1:])
    return []


def _plan_download(cr: Resource, cache_type: str, profiles: t.Sequence[str]) -> _Download:
    if is_native(cr, cache_type):
        return _Download([], [], _native_env(cr), ("/model", "/opt/cache"))
    if is_hf_style(cr):
        command = _self_pull(cr) if is_self_pulling(cr, cache_type) else _hf_download(cr)
        return _Download(command, [], _hf_env(cr), logs_on_error=False)
    cache_env = env(NIM_CACHE_PATH=_STORE)
    endpoint = source_of(cr).get("modelEndpoint")
    if endpoint:
        args = ["--model-repo", endpoint, "--model-store", _STORE]
        return _Download(["create-model-store"], args, cache_env)
    args = [_ALL] if ALL_PROFILES in profiles else [_PROFILES, *profiles]
    return _Download(["download-to-cache"], args, cache_env)


def _self_pull(cr: Resource) -> list[str]:
    source = source_of(cr)
    uri = f"hf://{source['namespace']}/{source['modelName']}"
    if source.get("revision"):
        uri += f":{source['revision']}"
    manifest_file = f"{_STORE}/model_manifest.json"
    return ["download-to-cache", "--model-uri", uri, "--manifest-file", manifest_file]


def _hf_download(cr: Resource) -> list[str]:
    source = source_of(cr)
    dataset = source.get("datasetName")
    repository = f"{source['namespace']}/{dataset or source.get('modelName') or ''}"
    kind = "dataset" if dataset else "model"
    command = ["huggingface-cli", "download", repository]
    command += ["--local-dir", _STORE, "--repo-type", kind]
    revision = source.get("revision")
    return [*command, "--revision", revision] if revision else command


def _native_env(cr: Resource) -> list[EnvVar]:
    return env(NIM_ENGINE_MODEL_DOWNLOAD_ONLY="1", NIM_ENGINE_MODEL_PATH=f"/model/{name_of(cr)}")


def _hf_env(cr: Resource) -> list[EnvVar]:
    return env(
        HF_ENDPOINT=source_of(cr)["endpoint"],
        HF_HUB_OFFLINE="0",
        NIM_CACHE_PATH=_STORE,
        HF_HOME=f"{_STORE}/huggingface/hub",
    )


def _environment(cr: Resource, cache_type: str, download: _Download) -> list[EnvVar]:
    """Without the proxy's part; the user wins, except over what a native image needs."""
    merged = merge_env(download.env, cr["spec"].get("env") or [])
    if is_native(cr, cache_type):
        merged = merge_env(merged, _native_env(cr))
    return tidy_env(merged)


def _mounts(cr: Resource, paths: t.Sequence[str]) -> list[Json]:
    pvc = (cr["spec"].get("storage") or {}).get("pvc") or {}
    sub_path = without_empty({"subPath": pvc.get("subPath")})
    mounts = [{"name": _VOLUME, "mountPath": path} | sub_path for path in paths]
    return [*mounts, {"name": _SCRATCH, "mountPath": "/scratch"}]


def _volumes(cr: Resource) -> list[Json]:
    config_map = cert_config_map(cr["spec"])
    return [
        {"name": _VOLUME, "persistentVolumeClaim": {"claimName": claim_name(cr)}},
        {"name": _SCRATCH, "emptyDir": {}},
        *(ca_volumes(config_map) if config_map else []),
    ]


def _puller(cr: Resource, download: _Download, own_env: list[EnvVar], mounts: list[Json]) -> Json:
    source, spec = source_of(cr), cr["spec"]
    container: Json = {
        "name": CONTAINER,
        "image": source["modelPuller"],
        "env": tidy_env(merge_env(own_env, proxy_env(spec.get("proxy")))),
        "envFrom": [{"secretRef": {"name": source["authSecret"]}}],
        "resources": resources_of(cr),
        "securityContext": container_security(spec),
        "volumeMounts": [*mounts, *([ca_main_mount()] if cert_config_map(spec) else [])],
    }
    if download.logs_on_error:
        container |= {
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "FallbackToLogsOnError",
        }
    return container | without_empty({"command": download.command, "args": download.args})


def _init_containers(cr: Resource, own_env: list[EnvVar], mounts: list[Json]) -> list[Json]:
    """Ours first. The puller's environment wins over that of the user's containers."""
    given = cr["spec"].get("initContainers") or []
    containers = [_init_container(item, own_env, mounts) for item in given]
    if not cert_config_map(cr["spec"]):
        return containers
    image = source_of(cr)["modelPuller"]
    return [ca_init_container(image, own_env, [*ca_init_mounts(), *mounts]), *containers]


def _init_container(given: Json, own_env: list[EnvVar], mounts: list[Json]) -> Json:
    return {"name": given["name"], "image": image_reference(given["image"])} | without_empty(
        {
            "imagePullPolicy": given["image"].get("pullPolicy"),
            "command": given.get("command"),
            "args": given.get("args"),
            "workingDir": given.get("workingDir"),
            "env": tidy_env(merge_env(given.get("env") or [], own_env)),
            "volumeMounts": mounts,
        }
    )


def _pod_annotations(cr: Resource, orchestrator: str) -> dict[str, str]:
    annotations = {"sidecar.istio.io/inject": "false"}
    if orchestrator == "OpenShift":
        proxied = cr["spec"].get("proxy") is not None
        annotations["openshift.io/scc"] = "anyuid" if proxied else "nonroot"
    return annotations
