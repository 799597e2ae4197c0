# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The parsed spec of a NemoCustomizer."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..._base.types import Fields
from ..._builders.pod import image_reference
from ..._builders.pvc import Claim, parse_claim
from .. import spec
from ..database import Database

_TRAINING = "spec.trainingConfig"


@dataclass(frozen=True)
class DownloadJobs:
    """`spec.modelDownloadJobs`. ``ngc``, ``hf``: Secret keys of the credentials, if any."""

    image: str
    security_context: Fields | None
    ttl_seconds: int
    poll_seconds: int
    ngc: spec.SecretKey | None
    hf: spec.SecretKey | None


@dataclass(frozen=True)
class Workspace:
    """`spec.trainingConfig.workspacePVC`."""

    path: str
    storage_class: str
    access_mode: str
    size: str


@dataclass(frozen=True)
class Training:
    """`spec.trainingConfig`, without its claim; unset fields are None.

    ``config_map``: the ConfigMap with settings, or empty. ``memory``: the limit of /dev/shm, a
    quantity.
    """

    config_map: str
    image: str
    env: t.Sequence[Fields] | None
    network: t.Sequence[Fields] | None
    ttl_seconds: int | None
    timeout_seconds: int | None
    node_selector: t.Mapping[str, str] | None
    tolerations: t.Sequence[Fields] | None
    affinity: Fields | None
    resources: Fields | None
    memory: str | int | None
    workspace: Workspace


@dataclass(frozen=True)
class WandB:
    """`spec.wandb` (Weights & Biases). ``api_key`` and ``encryption_key``: keys in the Secret."""

    secret: str
    api_key: str
    encryption_key: str
    entity: str
    project: str


@dataclass(frozen=True, kw_only=True)
class Spec(spec.Spec):
    """The spec. ``datastore``, ``entitystore``, ``mlflow``: URLs of these services.

    ``tools``: the image with the programs of jobs. ``models``: the ConfigMap that lists the models.
    ``claim``: the claim for models.
    """

    database: Database
    claim: Claim
    datastore: str
    entitystore: str
    mlflow: str
    tools: str
    models: str
    download_jobs: DownloadJobs
    training: Training
    scheduler: str
    wandb: WandB
    telemetry: spec.Telemetry | None


def parse_spec(resource: Fields) -> Spec:
    """The spec."""
    given = resource["spec"]
    training = given["trainingConfig"]
    claim = parse_claim(resource, training["modelPVC"], f"{_TRAINING}.modelPVC")
    return Spec(
        **spec.shared_fields(resource),
        claim=claim,
        datastore=spec.endpoint_of(given, "datastore"),
        entitystore=spec.endpoint_of(given, "entitystore"),
        mlflow=spec.endpoint_of(given, "mlflow"),
        tools=given["nemoDatastoreTools"]["image"],
        models=str(given["modelConfig"]["name"]),
        download_jobs=_parse_download_jobs(given["modelDownloadJobs"]),
        training=_parse_training(training),
        scheduler=(given.get("scheduler") or {}).get("type") or "volcano",
        wandb=_parse_wandb(given["wandb"]),
        telemetry=spec.parse_telemetry(given.get("otel")),
    )


def _parse_download_jobs(given: Fields) -> DownloadJobs:
    return DownloadJobs(
        image=given["image"],
        security_context=given.get("securityContext"),
        ttl_seconds=given["ttlSecondsAfterFinished"],
        poll_seconds=given["pollIntervalSeconds"],
        ngc=_parse_key(given.get("ngcAPISecret"), "NGC_API_KEY"),
        hf=_parse_key(given.get("hfSecret"), "HF_TOKEN"),
    )


def _parse_key(given: Fields | None, default: str) -> spec.SecretKey | None:
    return spec.SecretKey(given["name"], spec.text_of(given, "key", default)) if given else None


def _parse_training(given: Fields) -> Training:
    workspace = given["workspacePVC"]
    return Training(
        config_map=str((given.get("configMap") or {}).get("name") or ""),
        image=image_reference(given["image"]),
        env=given.get("env"),
        network=given.get("networkConfig"),
        ttl_seconds=given.get("ttlSecondsAfterFinished"),
        timeout_seconds=given.get("timeout"),
        node_selector=given.get("nodeSelector"),
        tolerations=given.get("tolerations"),
        affinity=given.get("affinity"),
        resources=given.get("resources"),
        memory=given.get("sharedMemorySizeLimit"),
        workspace=Workspace(
            path=spec.text_of(workspace, "mountPath", "/pvc/workspace"),
            storage_class=spec.text_of(workspace, "storageClass", ""),
            access_mode=spec.text_of(workspace, "volumeAccessMode", ""),
            size=spec.text_of(workspace, "size", ""),
        ),
    )


def _parse_wandb(given: Fields) -> WandB:
    return WandB(
        secret=str(given["secretName"]),
        api_key=spec.text_of(given, "apiKeyKey", "apiKey"),
        encryption_key=spec.text_of(given, "encryptionKey", "encryptionKey"),
        entity=spec.text_of(given, "entity", "null"),
        project=spec.text_of(given, "projectName", "nvidia-nemo-customizer"),
    )
