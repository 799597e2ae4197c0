# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""`config.yaml`, which the service reads at startup, from the spec and from users' ConfigMaps.

The contents of users' ConfigMaps are data: bounded when parsed, and never a template.
"""

from __future__ import annotations

import typing as t

from ..._base.errors import NimError
from ..._base.types import Fields
from ..._base.yaml_text import dump_yaml, read_json_yaml, sort_keys
from ..._builders.env import stored_env
from ..._builders.image import Image
from ..._builders.pod import pull_secrets
from ..status import TEXT_REASON
from .spec import DownloadJobs, Spec

TRAINING_KEY = "training"
_MODEL_KEYS = {
    "models": "models config",
    "customizationTargets": "customization targets config",
    "customizationConfigTemplates": "customization config templates config",
}
"""optional key of the model ConfigMap and of `config.yaml` → its name in errors"""
_MODELS = {"name": "models", "mountPath": "/mount/models", "readOnly": True}
_MEMORY = {"name": "dshm", "mountPath": "/dev/shm"}


def config_text(spec: Spec, namespace: str, models: Fields, training: str) -> str:
    """The text; NimError if one of the source texts is invalid.

    ``models``: the data of the model ConfigMap. ``training``: the text of the training settings.
    """
    data = {
        "namespace": namespace,
        "entity_store_url": spec.entitystore,
        "nemo_data_store_url": spec.datastore,
        "mlflow_tracking_url": spec.mlflow,
        "wandb": {"project": spec.wandb.project, "entity": spec.wandb.entity},
        "model_download_jobs": _download_jobs(spec.download_jobs, spec.image),
        "nemo_data_store_tools": _tools(spec),
        "training": _training(spec, training),
        **{key: _parse(models[key], what) for key, what in _MODEL_KEYS.items() if key in models},
    }
    return dump_yaml(sort_keys(data), sort_keys=False)


def _parse(text: str, what: str) -> t.Any:
    try:
        return read_json_yaml(text)
    except ValueError as error:
        raise NimError(f"parsing {what}: {error}", reason=TEXT_REASON) from error


def _images(image: Image) -> dict[str, t.Any]:
    """Image pull settings: jobs use those of the service."""
    return {
        "imagePullPolicy": image.pull_policy,
        "imagePullSecrets": pull_secrets(image.pull_secrets),
    }


def _download_jobs(jobs: DownloadJobs, image: Image) -> dict[str, t.Any]:
    found = {
        "image": jobs.image,
        **_images(image),
        "securityContext": jobs.security_context,
        "ttlSecondsAfterFinished": jobs.ttl_seconds,
        "pollIntervalSeconds": jobs.poll_seconds,
    }
    if ngc := jobs.ngc:
        found |= dict.fromkeys(("ngcAPISecret", "ngcSecretName"), ngc.secret)
        found |= dict.fromkeys(("ngcAPISecretKey", "ngcSecretKey"), ngc.key)
    if hf := jobs.hf:
        found |= {"hfSecretName": hf.secret, "hfSecretKey": hf.key}
    return found


def _tools(spec: Spec) -> dict[str, t.Any]:
    secrets = spec.image.pull_secrets
    return {"image": spec.tools, **({"imagePullSecret": secrets[0]} if secrets else {})}


def _training(spec: Spec, text: str) -> dict[str, t.Any]:
    base = _parse(text, "training config") or {}
    if not isinstance(base, dict):
        raise NimError("parsing training config: it is not a mapping", reason=TEXT_REASON)
    training, workspace = spec.training, spec.training.workspace
    optional = {
        "ttl_seconds_after_finished": training.ttl_seconds,
        "training_timeout": training.timeout_seconds,
        "tolerations": training.tolerations or None,
        "nodeSelector": training.node_selector or None,
        "affinity": training.affinity,
        "resources": _resources(training.resources),
    }
    return {
        **base,
        "image": training.image,
        **_images(spec.image),
        "env": _env(training.env),
        "training_networking": _env(training.network),
        "workspace_dir": workspace.path,
        "use_run_ai_executor": spec.scheduler == "runai",
        "pvc": {
            "storageClass": workspace.storage_class,
            "volumeAccessMode": workspace.access_mode,
            "size": workspace.size,
        },
        "volumes": _volumes(spec.claim.name, training.memory),
        "volumeMounts": [_MODELS, _MEMORY],
        **{name: value for name, value in optional.items() if value is not None},
    }


def _env(items: t.Sequence[Fields] | None) -> list[dict[str, t.Any]] | None:
    """Environment variables as the API server stores them; None if there are none."""
    return [stored_env(item) for item in items or []] or None


def _resources(resources: Fields | None) -> dict[str, t.Any] | None:
    """Resource requirements with quantities as strings, as Kubernetes writes them."""
    if resources is None:
        return None
    return {
        name: value if name == "claims" else {item: str(value[item]) for item in value}
        for name, value in resources.items()
    }


def _volumes(claim: str, memory: str | int | None) -> list[dict[str, t.Any]]:
    limit = {} if memory is None else {"sizeLimit": str(memory)}
    return [
        {"name": "models", "persistentVolumeClaim": {"claimName": claim, "readOnly": True}},
        {"name": "dshm", "emptyDir": {"medium": "Memory", **limit}},
    ]
