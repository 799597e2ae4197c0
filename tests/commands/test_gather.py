# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The gather command on a real API server, with only the documented permissions."""

from __future__ import annotations

import io
import json
import tarfile
from typing import Any

import yaml
from ansible_collections.nimops.nim.plugins.module_utils._commands.gather.archive import Archive
from ansible_collections.nimops.nim.plugins.module_utils._commands.gather.gather import (
    Order,
    gather,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import KINDS
from nimops_harness.cluster import kubectl

PLANTED = "Pl4nt3d"
APART = {"Node", "Secret"}
FURTHER = [
    *("replicasets.apps", "statefulsets.apps", "daemonsets.apps", "controllerrevisions.apps"),
    *("endpointslices.discovery.k8s.io", "leases.coordination.k8s.io"),
    *("inferencepools.inference.networking.k8s.io", "inferenceservices.serving.kserve.io"),
]
"""Objects that other controllers create from our children."""

Json = dict[str, Any]

SERVICE = {
    "apiVersion": "apps.nvidia.com/v1alpha1",
    "kind": "NIMService",
    "metadata": {"name": "llm", "annotations": {"example.com/token": PLANTED}},
    "spec": {
        "image": {"repository": "registry.example/llm", "tag": "1", "pullSecrets": ["pull"]},
        "authSecret": "absent",
        "storage": {"emptyDir": {}},
        "env": [{"name": "NGC_API_KEY", "value": PLANTED}],
    },
}


def test_gather_minimal_permissions(act_as: Any, namespace: str) -> None:
    kubectl("-n", namespace, "apply", "-f", "-", stdin=json.dumps(SERVICE))
    kubectl("-n", namespace, "create", "secret", "generic", "pull", f"--from-literal=x={PLANTED}")
    versions = {
        (version, plural) for kind, (version, plural, *_rest) in KINDS.items() if kind not in APART
    }
    names = [f"{plural}.{version.rpartition('/')[0]}" for version, plural in versions]
    rights = [f"list {name.rstrip('.')}" for name in [*names, *FURTHER, "*.apps.nvidia.com"]]
    rights += ["get pods/log", "get secrets"]
    of_cluster = ["list nodes", "get customresourcedefinitions.apiextensions.k8s.io"]
    client = act_as("helper", rights, of_cluster)
    stream = io.BytesIO()
    archive = Archive(stream, 1 << 20, "top", 0)
    order = Order(namespace=namespace, operator_namespace=namespace)
    gather(client, order, archive, lambda _text: None)
    archive.close({})
    assert archive.cut == []
    assert [item["what"] for item in archive.unread] == [f"the operator in {namespace}"]
    with tarfile.open(fileobj=io.BytesIO(stream.getvalue())) as tar:
        files = {item.name: tar.extractfile(item).read().decode() for item in tar.getmembers()}  # type: ignore[union-attr]
    assert not [name for name, text in files.items() if PLANTED in text]
    service = yaml.safe_load(
        files[f"top/namespaces/{namespace}/nimservices.apps.nvidia.com/llm.yaml"]
    )
    assert service["spec"]["env"] == [{"name": "NGC_API_KEY", "value": "(redacted)"}]
    secrets = yaml.safe_load(files["top/secrets.yaml"])
    assert {item["name"]: item["exists"] for item in secrets} == {"absent": False, "pull": True}
    assert len(yaml.safe_load(files["top/nodes.yaml"])) > 0
