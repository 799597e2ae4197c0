# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Resources for payloads: the samples, and fields that no sample has."""

from __future__ import annotations

import typing as t

from nimops_harness.cluster import Json
from nimops_harness.crds import read_samples
from nimops_harness.workload import make

_IMAGE: Json = {"repository": "registry.example/acme/tiny-llm", "tag": "1.0.0"}
_CLAIM: Json = {"pvc": {"create": True, "size": "1Gi", "volumeAccessMode": "ReadWriteOnce"}}
_HUB: Json = {
    "endpoint": "http://data-store.example/v1/hf",
    "namespace": "acme",
    "modelPuller": "registry.example/acme/puller:1",
    "pullSecret": "ngc-secret",
    "authSecret": "ngc-api-secret",
}
_SERVICE: Json = {"image": _IMAGE, "storage": {"emptyDir": {}}}
_MORE: tuple[tuple[str, Json], ...] = (
    ("NIMCache", {"source": {"dataStore": _HUB | {"modelName": "m"}}, "storage": _CLAIM}),
    ("NIMCache", {"source": {"dataStore": _HUB | {"datasetName": "d"}}, "storage": _CLAIM}),
    ("NIMCache", {"source": {"hf": _HUB | {"datasetName": "d"}}, "storage": _CLAIM}),
    ("NIMService", _SERVICE | {"storage": {"hostPath": "/models"}}),
    ("NIMService", _SERVICE | {"draResources": [{"resourceClaimTemplateName": "gpus"}]}),
    ("NIMService", _SERVICE | {"draResources": [{"resourceClaimName": "gpus"}]}),
)


def read_bases() -> dict[str, list[Json]]:
    """Resources by kind; pipelines have the specs of services."""
    found = {kind: list(samples) for kind, samples in read_samples().items()}
    for kind, spec in _MORE:
        found[kind].append(make(kind, "base", spec))
    for service in found["NIMService"]:
        entry = {"name": "one", "enabled": True, "spec": service["spec"]}
        found["NIMPipeline"].append(make("NIMPipeline", "base", {"services": [entry]}))
    return found


def rename(resource: Json, name: str, **metadata: t.Any) -> Json:
    return resource | {"metadata": resource["metadata"] | {"name": name} | metadata}
