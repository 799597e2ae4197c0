# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""NemoCustomizer: fine-tunes models, in training jobs that it starts."""

from __future__ import annotations

import hashlib
import typing as t
from functools import cached_property

from ..._base.types import Manifest
from ..._base.yaml_text import is_same_data
from ..._builders.env import EnvVar, env, field_env, secret_env
from ..._builders.inputs import Input, Missing
from ..._engine.kind import Access, Rule
from ..._engine.metadata import Labels
from ..._engine.reads import Read, ReadObject
from ..app import Claim, Items, NemoApp
from ..database import url_env
from ..fields import text_of
from ..kind import nemo_kind
from ..probes import probe, startup
from ..telemetry import telemetry_env
from .config import TRAINING_KEY, config_text

HASH_ANNOTATION = "apps.nvidia.com/training-config-hash"
"""Of pods: SHA-256 of the `config.yaml` that they were started with."""

_CONFIG, _CONFIG_FILE, _CONFIG_PATH = "config", "config.yaml", "/app/config"
_CALLBACK_PORT = 9009

_ALL = "create get list watch update delete patch"
_READ = "get list watch"
_RULES: tuple[tuple[str, str, str], ...] = (
    ("batch", "jobs", _ALL),
    ("batch", "jobs/status", _READ),
    ("", "pods persistentvolumeclaims services configmaps", "create get list watch delete"),
    ("", "events", "create get list watch"),
    ("nvidia.com", "nemotrainingjobs nemotrainingjobs/status nemoentityhandlers", _ALL),
)
_SCHEDULER_RULES: dict[str, tuple[tuple[str, str, str], ...]] = {
    "volcano": (
        ("batch.volcano.sh", "jobs", _ALL),
        ("batch.volcano.sh", "jobs/status", _READ),
        ("nodeinfo.volcano.sh", "numatopologies", _READ),
        (
            "scheduling.incubator.k8s.io scheduling.volcano.sh",
            "queues queues/status podgroups",
            _READ,
        ),
    ),
    "runai": (("run.ai", "trainingworkloads runaijobs", _ALL),),
}
"""Rules of the Role: API groups, resources, verbs; without groups, the core group."""


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

    def rules(self) -> list[dict[str, t.Any]]:
        """It starts the jobs of trainings, and follows them."""
        scheduler = self.block("scheduler").get("type") or "volcano"
        return [
            {
                "apiGroups": groups.split() or [""],
                "resources": resources.split(),
                "verbs": verbs.split(),
            }
            for groups, resources, verbs in [*_RULES, *_SCHEDULER_RULES[scheduler]]
        ]

    @property
    def claim(self) -> Claim:
        """The claim for models, which only the jobs mount."""
        found = self._training["modelPVC"]
        return Claim(found, found.get("name") or f"{self.name}-pvc", f"{_TRAINING}.modelPVC")

    def inputs(self) -> list[Input]:
        """The password, and the keys of Weights & Biases."""
        keys = (self._encryption_key, self._api_key)
        return [*super().inputs(), Input("Secret", self._wandb_secret, "spec.wandb", keys)]

    def more_reads(self) -> list[Read]:
        """The ConfigMaps of users that `config.yaml` is made of, and the one that has it."""
        names = [self.name, self._models_name, self._training_name]
        return [ReadObject("ConfigMap", self.namespace, name) for name in names if name]

    def missing(self) -> Missing | None:
        """A ConfigMap that is missing is named before a Secret."""
        return (
            self._missing_config_map(self._models_name, "spec.modelConfig.name")
            or self._missing_config_map(
                self._training_name, f"{_TRAINING}.configMap.name", TRAINING_KEY
            )
            or super().missing()
        )

    def config_maps(self) -> list[Manifest]:
        """The ConfigMap with `config.yaml`."""
        return [self.child("ConfigMap", annotations={}, data={_CONFIG_FILE: self._config})]

    def rendered(self) -> Labels:
        """The hash of `config.yaml`."""
        return {HASH_ANNOTATION: hashlib.sha256(self._config.encode()).hexdigest()}

    def env(self) -> list[EnvVar]:
        """The variables of the container."""
        database = self.needed_database
        callback = f"http://{self.name}.{self.namespace}.svc.cluster.local:{_CALLBACK_PORT}"
        return [
            *env(NAMESPACE=self.namespace),
            field_env("HOST_IP", "status.hostIP"),
            *env(
                CONFIG_PATH=f"{_CONFIG_PATH}/{_CONFIG_FILE}",
                CUSTOMIZATIONS_CALLBACK_URL=callback,
                LOG_LEVEL="INFO",
            ),
            secret_env("WANDB_ENCRYPTION_KEY", self._wandb_secret, self._encryption_key),
            *env(WANDB_SECRET_NAME=self._wandb_secret, WANDB_SECRET_KEY=self._api_key),
            database.password_env(),
            url_env(self, "POSTGRES_DB_DSN", self.url_key),
            *env(POSTGRES_SECRET_NAME=database.secret),
            *telemetry_env(self.fields.get("otel")),
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
        """`config.yaml`; a live one that says the same keeps its text, and so its hash."""
        training = self._texts(self._training_name).get(TRAINING_KEY, "")
        text = config_text(self, self.claim.name, self._texts(self._models_name), training)
        live = self._texts(self.name).get(_CONFIG_FILE, text)
        return live if live == text or is_same_data(live, text) else text

    def _texts(self, name: str) -> t.Mapping[str, str]:
        """The data of a live ConfigMap; empty without a name."""
        found = self.live("ConfigMap", name) if name else None
        return (found or {}).get("data") or {}

    def _missing_config_map(self, name: str, field: str, *keys: str) -> Missing | None:
        if not name:
            return None
        needed = Input("ConfigMap", name, field, keys, is_copied=True)
        if self.live("ConfigMap", name) is None:
            return needed.absent()
        lacking = [key for key in keys if key not in self._texts(name)]
        return needed.lacking(lacking) if lacking else None

    @property
    def _training(self) -> t.Mapping[str, t.Any]:
        return self.block("trainingConfig")

    @property
    def _training_name(self) -> str:
        return str((self._training.get("configMap") or {}).get("name") or "")

    @property
    def _models_name(self) -> str:
        return str(self.block("modelConfig")["name"])

    @property
    def _wandb_secret(self) -> str:
        return str(self.block("wandb")["secretName"])

    @property
    def _encryption_key(self) -> str:
        return text_of(self.block("wandb"), "encryptionKey", "encryptionKey")

    @property
    def _api_key(self) -> str:
        return text_of(self.block("wandb"), "apiKeyKey", "apiKey")


_TRAINING = "spec.trainingConfig"
_GRANTED = "the Role of a NemoCustomizer grants it, so the operator needs it too"

KIND = nemo_kind(
    CustomizerApp,
    "NemoCustomizer",
    access=(
        Access("ConfigMap", "read write", "config.yaml, and what it is made of"),
        Access("PersistentVolumeClaim", "read write", "the models"),
        Access("Secret", "write", "the URL of the database"),
    ),
    rules=tuple(
        Rule(group, resources, verbs, _GRANTED)
        for granted in (_RULES, *_SCHEDULER_RULES.values())
        for groups, resources, verbs in granted
        for group in groups.split() or [""]
    ),
)
