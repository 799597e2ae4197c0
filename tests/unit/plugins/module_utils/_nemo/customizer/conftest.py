# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A NemoCustomizer `cu` in the namespace `ns`, with its inputs."""

from __future__ import annotations

import copy
import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import key_of
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._nemo.customizer.kind import (
    KIND,
    CustomizerApp,
)

Json = dict[str, t.Any]

SPEC: Json = {
    "image": {"repository": "r.example/customizer-api", "tag": "1"},
    "databaseConfig": {
        "host": "pg",
        "databaseName": "db",
        "credentials": {"user": "u@x", "secretName": "pg-secret"},
    },
    "datastore": {"endpoint": "http://ds"},
    "entitystore": {"endpoint": "http://es"},
    "mlflow": {"endpoint": "http://ml"},
    "modelConfig": {"name": "models"},
    "modelDownloadJobs": {
        "image": "r.example/download:1",
        "ttlSecondsAfterFinished": 60,
        "pollIntervalSeconds": 15,
    },
    "nemoDatastoreTools": {"image": "r.example/tools:1"},
    "trainingConfig": {
        "configMap": {"name": "training"},
        "modelPVC": {"create": True, "size": "1Gi", "volumeAccessMode": "ReadWriteOnce"},
        "workspacePVC": {},
        "image": {"repository": "r.example/train", "tag": "2"},
    },
    "wandb": {"secretName": "wandb"},
}


def config_map(name: str, data: dict[str, str]) -> Json:
    """A live ConfigMap."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "ns"},
        "data": data,
    }


class Around:
    """A NemoCustomizer, and the observed objects."""

    def __init__(self) -> None:
        self.spec = copy.deepcopy(SPEC)
        self.models = config_map("models", {})
        self.training = config_map("training", {"training": "{}"})
        self.objects = [self.models, self.training]
        self.answers: Json = {}

    def set(self, path: str, value: t.Any) -> Around:
        """Set a field of the spec; None removes it."""
        *parents, last = path.split(".")
        at = self.spec
        for name in parents:
            at = at.setdefault(name, {})
        at[last] = value
        if value is None:
            del at[last]
        return self

    @property
    def app(self) -> CustomizerApp:
        """The context of a pass."""
        answers = {key_of(item): item for item in self.objects}
        resource = {
            "apiVersion": "apps.nvidia.com/v1alpha1",
            "kind": "NemoCustomizer",
            "metadata": {"name": "cu", "namespace": "ns", "uid": "u"},
            "spec": self.spec,
        }
        return CustomizerApp(resource, Observed(answers | self.answers))

    @property
    def children(self) -> dict[str, Json]:
        """The desired children by kind."""
        found = KIND.desired(self.app).children
        return {child.manifest["kind"]: child.manifest for child in found}


@pytest.fixture
def around() -> Around:
    """A customizer with all inputs."""
    return Around()
