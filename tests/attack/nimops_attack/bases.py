# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Resources for payloads: the samples, and fields that no sample has."""

from __future__ import annotations

import typing as t
from pathlib import Path

import yaml

from .fields import Json

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


def read_bases(samples: Path) -> dict[str, list[Json]]:
    """Resources by kind; pipelines have the specs of services."""
    found: dict[str, list[Json]] = {}
    for path in sorted(samples.glob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text()):
            if (document or {}).get("apiVersion", "").startswith("apps.nvidia.com/"):
                found.setdefault(document["kind"], []).append(document)
    for kind, spec in _MORE:
        found.setdefault(kind, []).append(_resource(kind, spec))
    for service in found["NIMService"]:
        entry = {"name": "one", "enabled": True, "spec": service["spec"]}
        found["NIMPipeline"].append(_resource("NIMPipeline", {"services": [entry]}))
    return found


def _resource(kind: str, spec: Json) -> Json:
    return {
        "apiVersion": "apps.nvidia.com/v1alpha1",
        "kind": kind,
        "metadata": {"name": "base"},
        "spec": spec,
    }


def rename(resource: Json, name: str, **metadata: t.Any) -> Json:
    return resource | {"metadata": resource["metadata"] | {"name": name} | metadata}
