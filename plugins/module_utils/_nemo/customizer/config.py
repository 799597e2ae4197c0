# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""`config.yaml`, which the service reads at its start: from the spec, and from ConfigMaps of users.

What users write there is data: it is parsed within bounds, and never a template.
"""

from __future__ import annotations

import typing as t

from ..._base.errors import NimError
from ..._base.types import Fields
from ..._base.yaml_text import dump_yaml, read_json_yaml, sort_keys
from ..._builders.env import stored_env
from ..._builders.pod import image_reference, pull_secrets
from ..app import NemoApp
from ..fields import text_of
from ..status import TEXT_REASON

TRAINING_KEY = "training"
_MODEL_KEYS = {
    "models": "models config",
    "customizationTargets": "customization targets config",
    "customizationConfigTemplates": "customization config templates config",
}
"""optional key of the model ConfigMap, and of `config.yaml` → how errors call it"""
_MODELS = {"name": "models", "mountPath": "/mount/models", "readOnly": True}
_MEMORY = {"name": "dshm", "mountPath": "/dev/shm"}


def config_text(app: NemoApp, claim: str, models: Fields, training: str) -> str:
    """The text; NimError if one of the texts that it is made of is invalid.

    ``claim``: the one of the models. ``models``: the data of the model ConfigMap. ``training``: the
    text with settings of training.
    """
    wandb = app.block("wandb")
    data = {
        "namespace": app.namespace,
        "entity_store_url": app.endpoint("entitystore"),
        "nemo_data_store_url": app.endpoint("datastore"),
        "mlflow_tracking_url": app.endpoint("mlflow"),
        "wandb": {
            "project": text_of(wandb, "projectName", "nvidia-nemo-customizer"),
            "entity": text_of(wandb, "entity", "null"),
        },
        "model_download_jobs": _download_jobs(app),
        "nemo_data_store_tools": _tools(app),
        "training": _training(app, claim, training),
        **{key: _parse(models[key], what) for key, what in _MODEL_KEYS.items() if key in models},
    }
    return dump_yaml(sort_keys(data), sort_keys=False)


def _parse(text: str, what: str) -> t.Any:
    try:
        return read_json_yaml(text)
    except ValueError as error:
        raise NimError(f"parsing {what}: {error}", reason=TEXT_REASON) from error


def _images(app: NemoApp) -> dict[str, t.Any]:
    """How images are pulled: those of jobs as the service's own."""
    image = app.fields["image"]
    return {
        "imagePullPolicy": image.get("pullPolicy") or "",
        "imagePullSecrets": pull_secrets(image.get("pullSecrets")),
    }


def _download_jobs(app: NemoApp) -> dict[str, t.Any]:
    jobs = app.block("modelDownloadJobs")
    found = {
        "image": jobs["image"],
        **_images(app),
        "securityContext": jobs.get("securityContext"),
        "ttlSecondsAfterFinished": jobs["ttlSecondsAfterFinished"],
        "pollIntervalSeconds": jobs["pollIntervalSeconds"],
    }
    if ngc := jobs.get("ngcAPISecret"):
        found |= dict.fromkeys(("ngcAPISecret", "ngcSecretName"), ngc["name"])
        key = text_of(ngc, "key", "NGC_API_KEY")
        found |= dict.fromkeys(("ngcAPISecretKey", "ngcSecretKey"), key)
    if hf := jobs.get("hfSecret"):
        found |= {"hfSecretName": hf["name"], "hfSecretKey": text_of(hf, "key", "HF_TOKEN")}
    return found


def _tools(app: NemoApp) -> dict[str, t.Any]:
    secrets = app.fields["image"].get("pullSecrets") or []
    first = {"imagePullSecret": secrets[0]} if secrets else {}
    return {"image": app.block("nemoDatastoreTools")["image"], **first}


def _training(app: NemoApp, claim: str, text: str) -> dict[str, t.Any]:
    base = _parse(text, "training config") or {}
    if not isinstance(base, dict):
        raise NimError("parsing training config: it is not a mapping", reason=TEXT_REASON)
    training = app.block("trainingConfig")
    workspace = training["workspacePVC"]
    optional = {
        "ttl_seconds_after_finished": training.get("ttlSecondsAfterFinished"),
        "training_timeout": training.get("timeout"),
        "tolerations": training.get("tolerations") or None,
        "nodeSelector": training.get("nodeSelector") or None,
        "affinity": training.get("affinity"),
        "resources": _resources(training.get("resources")),
    }
    return {
        **base,
        "image": image_reference(training["image"]),
        **_images(app),
        "env": _env(training.get("env")),
        "training_networking": _env(training.get("networkConfig")),
        "workspace_dir": text_of(workspace, "mountPath", "/pvc/workspace"),
        "use_run_ai_executor": app.block("scheduler").get("type") == "runai",
        "pvc": {name: text_of(workspace, name, "") for name in _WORKSPACE},
        "volumes": _volumes(claim, training.get("sharedMemorySizeLimit")),
        "volumeMounts": [_MODELS, _MEMORY],
        **{name: value for name, value in optional.items() if value is not None},
    }


_WORKSPACE = ("storageClass", "volumeAccessMode", "size")


def _env(items: list[Fields] | None) -> list[dict[str, t.Any]] | None:
    """Variables as the API server stores them; None if there are none."""
    return [stored_env(item) for item in items or []] or None


def _resources(resources: Fields | None) -> dict[str, t.Any] | None:
    """Resources with quantities as text, as Kubernetes writes them."""
    if resources is None:
        return None
    return {
        name: value if name == "claims" else {item: str(value[item]) for item in value}
        for name, value in resources.items()
    }


def _volumes(claim: str, memory: t.Any) -> list[dict[str, t.Any]]:
    limit = {} if memory is None else {"sizeLimit": str(memory)}
    return [
        {"name": "models", "persistentVolumeClaim": {"claimName": claim, "readOnly": True}},
        {"name": "dshm", "emptyDir": {"medium": "Memory", **limit}},
    ]
