# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""NemoCustomizer: fine-tunes models in training jobs."""

from __future__ import annotations

import hashlib
import itertools
import typing as t
from functools import cached_property

from ..._base.types import Manifest
from ..._base.yaml_text import is_same_data
from ..._builders.env import EnvVar, env, field_env, secret_env
from ..._builders.ignored_fields import IgnoredField
from ..._builders.inputs import Input, Missing
from ..._engine.kind import Access
from ..._engine.metadata import Labels
from ..._engine.reads import Read, ReadObject
from ..app import Items, NemoApp
from ..grants import Grant
from ..kind import nemo_kind
from ..probes import probe, startup
from ..telemetry import telemetry_env
from .config import TRAINING_KEY, config_text
from .spec import Spec, parse_spec

HASH_ANNOTATION = "apps.nvidia.com/training-config-hash"
"""Annotation on pods: SHA-256 of the `config.yaml` that they read at startup."""

_CONFIG, _CONFIG_FILE, _CONFIG_PATH = "config", "config.yaml", "/app/config"
_CALLBACK_PORT = 9009

_ALL = "create get list watch update delete patch"
_READ = "get list watch"
_GRANTS = (
    Grant("batch", "jobs", _ALL),
    Grant("batch", "jobs/status", _READ),
    Grant("", "pods persistentvolumeclaims services configmaps", "create get list watch delete"),
    Grant("", "events", "create get list watch"),
    Grant("nvidia.com", "nemotrainingjobs nemotrainingjobs/status nemoentityhandlers", _ALL),
)
_SCHEDULER_GRANTS = {
    "volcano": (
        Grant("batch.volcano.sh", "jobs", _ALL),
        Grant("batch.volcano.sh", "jobs/status", _READ),
        Grant("nodeinfo.volcano.sh", "numatopologies", _READ),
        Grant(
            "scheduling.incubator.k8s.io scheduling.volcano.sh",
            "queues queues/status podgroups",
            _READ,
        ),
    ),
    "runai": (Grant("run.ai", "trainingworkloads runaijobs", _ALL),),
}


class CustomizerApp(NemoApp):
    """The context of a pass over a NemoCustomizer."""

    part_of = "nemo-customizer-service"
    url_key = "dsn"
    ports: t.ClassVar = {"api": 8000, "internal": _CALLBACK_PORT}
    probes: t.ClassVar = {
        "livenessProbe": probe("/v1/health/live", 10, 5, 10),
        "readinessProbe": probe("/v1/health/ready", 10, 3),
        "startupProbe": startup("/v1/health/ready"),
    }

    ignored_fields = (
        *NemoApp.ignored_fields,
        IgnoredField(
            "modelDownloadJobs.imagePullPolicy", "spec.image.pullPolicy", default="IfNotPresent"
        ),
        IgnoredField("trainingConfig.image.pullPolicy", "spec.image.pullPolicy"),
        IgnoredField("trainingConfig.image.pullSecrets", "spec.image.pullSecrets"),
        IgnoredField("trainingConfig.modelPVC.subPath"),
        IgnoredField("trainingConfig.podAffinity", "spec.trainingConfig.affinity.podAffinity"),
        IgnoredField("trainingConfig.runaiQueue", default="default"),
    )

    @cached_property
    def spec(self) -> Spec:
        """The spec."""
        return parse_spec(self.resource)

    def grants(self) -> t.Sequence[Grant]:
        """Permissions to start and follow training jobs."""
        return (*_GRANTS, *_SCHEDULER_GRANTS[self.spec.scheduler])

    def inputs(self) -> list[Input]:
        """The Secrets with the database password and the keys of Weights & Biases."""
        wandb = self.spec.wandb
        keys = (wandb.encryption_key, wandb.api_key)
        return [*super().inputs(), Input("Secret", wandb.secret, "spec.wandb", keys)]

    def more_reads(self) -> list[Read]:
        """The source ConfigMaps of `config.yaml`, and the ConfigMap that contains it."""
        names = [self.name, *(item.name for item in self._sources())]
        return [ReadObject("ConfigMap", self.namespace, name) for name in names]

    def missing(self) -> list[Missing]:
        """The missing inputs; ConfigMaps come before Secrets."""
        missing = []
        for item in self._sources():
            if self.live("ConfigMap", item.name) is None:
                missing.append(item.absent())
            elif lacking := [key for key in item.keys if key not in self._texts(item.name)]:
                missing.append(item.lacking(lacking))
        return [*missing, *super().missing()]

    def config_maps(self) -> list[Manifest]:
        """The ConfigMap with `config.yaml`."""
        return [self.child("ConfigMap", annotations={}, data={_CONFIG_FILE: self._config})]

    def rendered(self) -> Labels:
        """The hash of `config.yaml`."""
        return {HASH_ANNOTATION: hashlib.sha256(self._config.encode()).hexdigest()}

    def env(self) -> list[EnvVar]:
        """The variables of the container."""
        database, wandb = self.spec.database, self.spec.wandb
        callback = f"http://{self.name}.{self.namespace}.svc.cluster.local:{_CALLBACK_PORT}"
        return [
            *env(NAMESPACE=self.namespace),
            field_env("HOST_IP", "status.hostIP"),
            *env(
                CONFIG_PATH=f"{_CONFIG_PATH}/{_CONFIG_FILE}",
                CUSTOMIZATIONS_CALLBACK_URL=callback,
                LOG_LEVEL="INFO",
            ),
            secret_env("WANDB_ENCRYPTION_KEY", wandb.secret, wandb.encryption_key),
            *env(WANDB_SECRET_NAME=wandb.secret, WANDB_SECRET_KEY=wandb.api_key),
            database.password_env(),
            self.url_env("POSTGRES_DB_DSN"),
            *env(POSTGRES_SECRET_NAME=database.secret),
            *telemetry_env(self.spec.telemetry),
        ]

    def volumes(self) -> Items:
        """`config.yaml`."""
        items = [{"key": _CONFIG_FILE, "path": _CONFIG_FILE}]
        return [{"name": _CONFIG, "configMap": {"name": self.name, "items": items}}]

    def mounts(self) -> Items:
        """`config.yaml`."""
        return [{"name": _CONFIG, "mountPath": _CONFIG_PATH, "readOnly": True}]

    @cached_property
    def _config(self) -> str:
        """`config.yaml`; if the live one is equivalent, its text (and thus its hash) is kept."""
        models = self._texts(self.spec.models)
        training = self._texts(self.spec.training.config_map).get(TRAINING_KEY, "")
        text = config_text(self.spec, self.namespace, models, training)
        live = self._texts(self.name).get(_CONFIG_FILE, text)
        return live if live == text or is_same_data(live, text) else text

    def _texts(self, name: str) -> t.Mapping[str, str]:
        """The data of a live ConfigMap; empty without a name."""
        found = self.live("ConfigMap", name) if name else None
        return (found or {}).get("data") or {}

    def _sources(self) -> list[Input]:
        """The users' ConfigMaps from which `config.yaml` is rendered."""
        training, field = self.spec.training.config_map, "spec.trainingConfig.configMap.name"
        found = [
            Input("ConfigMap", self.spec.models, "spec.modelConfig.name", is_copied=True),
            Input("ConfigMap", training, field, (TRAINING_KEY,), is_copied=True),
        ]
        return [item for item in found if item.name]


KIND = nemo_kind(
    CustomizerApp,
    "NemoCustomizer",
    "nemocust",
    access=(
        Access("ConfigMap", "read write", "config.yaml and its source ConfigMaps"),
        Access("PersistentVolumeClaim", "read write", "the models"),
        Access("Secret", "write", "the URL of the database"),
    ),
    grants=(*_GRANTS, *itertools.chain(*_SCHEDULER_GRANTS.values())),
)
