# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Lists the models that custom resources download, for a cluster without Internet access."""

from __future__ import annotations

import json
import typing as t

from ..._base.types import Json
from ..._cluster.client import Client
from ..._engine.api_resources import ObjectKey, api_path, identity
from ..command import CONNECTION_SPEC, RESOURCES_SPEC, ResourcesCommand
from ..files import read_objects
from ..loader import custom_resources, stored
from ..plan.preview import list_readable
from .model_files import (
    KINDS_WITH_MODELS,
    list_model_files,
    manifest_key,
    write_model_files,
)

_NAMESPACE = "default"


class ModelFilesCommand(ResourcesCommand):
    """Lists models of files, without a cluster, or those of a cluster; writes nothing."""

    spec = (
        RESOURCES_SPEC
        | CONNECTION_SPEC
        | {
            "facts": {"type": "list", "elements": "path", "default": []},
            "output": {"type": "str", "choices": ["text", "json"], "default": "text"},
        }
    )

    def act(self, arguments: Json) -> Json:
        """Print a table, or JSON."""
        texts = self.find_texts(arguments)
        if texts:
            namespace = arguments["namespace"] or _NAMESPACE
            resources = [stored(item) for item in custom_resources(texts, namespace)]
            known = _read_facts(arguments["facts"], namespace)
            resources = [_with_status(item, known) for item in resources]
        else:
            client = self.connect(arguments)
            namespace = arguments["namespace"] or ""
            resources = list_readable(
                client, namespace, self.print_message, kinds=KINDS_WITH_MODELS
            )
            known = _read_manifests(client, resources)
        found = list_model_files(resources, known)
        models = [item.to_dict() for item in found]
        if arguments["output"] == "json":
            self.print_data(json.dumps(models, indent=2))
        elif found:
            self.print_data(write_model_files(found))
        else:
            self.print_message("nothing is downloaded")
        for item in found:
            if item.kind == "NIMService":
                self.print_message(
                    f"NIMService {item.namespace}/{item.name} downloads its model when its pods"
                    " start: without Internet access, it needs a NIMCache, or a volume that already"
                    " holds the model"
                )
        return {"changed": False, "models": models}


def _read_facts(files: t.Sequence[str], namespace: str) -> dict[ObjectKey, Json]:
    found = {}
    for item in read_objects(files or ()):
        metadata = {"namespace": namespace, **item["metadata"]}
        known = {**item, "metadata": metadata}
        found[identity(known)] = known
    return found


def _with_status(resource: Json, known: t.Mapping[ObjectKey, Json]) -> Json:
    """The resource with the status that the facts have of it."""
    live = known.get(identity(resource)) or {}
    return {"status": live["status"], **resource} if "status" in live else resource


def _read_manifests(client: Client, resources: t.Iterable[Json]) -> dict[ObjectKey, Json]:
    """The stored model manifests of NIMCaches."""
    found = {}
    for resource in resources:
        if resource["kind"] != "NIMCache":
            continue
        key = manifest_key(resource)
        if live := client.get(api_path("ConfigMap", key.namespace, key.name)):
            found[key] = {"kind": "ConfigMap", "apiVersion": "v1", **live}
    return found
