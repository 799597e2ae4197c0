# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""profiles and gather on a real API server, with the rights that their documentation asks for."""

from __future__ import annotations

import io
import json
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._common.resources import KINDS
from ansible_collections.nimops.nim.plugins.module_utils._k8s.client import ApiError, Client
from ansible_collections.nimops.nim.plugins.module_utils._verbs.archive import Archive
from ansible_collections.nimops.nim.plugins.module_utils._verbs.gather import Order, gather
from ansible_collections.nimops.nim.plugins.module_utils._verbs.inquiry import (
    Inquiry,
    ask_image,
    find_products,
)

NAMESPACE = "nimops-support"
PLANTED = "Pl4nt3d"
APART = {"Node", "Secret"}
FURTHER = [
    *("replicasets.apps", "statefulsets.apps", "daemonsets.apps", "controllerrevisions.apps"),
    *("endpointslices.discovery.k8s.io", "leases.coordination.k8s.io"),
    *("inferencepools.inference.networking.k8s.io", "inferenceservices.serving.kserve.io"),
]
"""What other controllers make of our children."""

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


def kubectl(*arguments: str, stdin: str = "") -> str:
    return subprocess.run(
        ["kubectl", *arguments],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
        input=stdin or None,
    ).stdout


@pytest.fixture(scope="module")
def namespace(cluster: Any) -> Iterator[str]:
    kubectl("create", "namespace", NAMESPACE)
    yield NAMESPACE
    kubectl("delete", "namespace", NAMESPACE, "--wait=true")


@pytest.fixture
def act_as(namespace: str, tmp_path: Path) -> Iterator[Any]:
    """A client of an account that may do this in the namespace, and that in the cluster."""
    roles: list[str] = []

    def make(name: str, rights: list[str], of_cluster: list[str]) -> Client:
        kubectl("-n", namespace, "create", "serviceaccount", name)
        subject = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
        metadata = {"name": f"{NAMESPACE}-{name}"}
        items = []
        for kind, given in (("Role", rights), ("ClusterRole", of_cluster)):
            where = {"namespace": namespace} if kind == "Role" else {}
            role = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": metadata["name"]}
            binding = {"roleRef": role, "subjects": [subject]}
            for suffix, fields in (("", {"rules": list(map(rule, given))}), ("Binding", binding)):
                api = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": f"{kind}{suffix}"}
                items.append({**api, "metadata": metadata | where, **fields})
        kubectl(
            "apply",
            "-f",
            "-",
            stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}),
        )
        roles.append(metadata["name"])
        token = kubectl("-n", namespace, "create", "token", name).strip()
        shown = json.loads(
            kubectl("config", "view", "--raw", "--minify", "--flatten", "-o", "json")
        )
        shown["users"][0]["user"] = {"token": token}
        file = tmp_path / name
        file.touch(mode=0o600)
        file.write_text(json.dumps(shown))
        return Client(str(file))

    yield make
    for name in roles:
        kubectl("delete", "clusterrole,clusterrolebinding", name)


def rule(text: str) -> Json:
    """Verbs and a resource, such as `get,list deployments.apps`, as a rule."""
    verbs, _space, resource = text.partition(" ")
    plural, _dot, group = resource.partition(".")
    return {"apiGroups": [group], "resources": [plural], "verbs": verbs.split(",")}


def test_an_image_is_asked_with_the_least_rights(act_as: Any, namespace: str) -> None:
    client = act_as("prober", ["create,patch,get,delete pods", "get pods/log"], [])
    said: list[str] = []
    manifest = ask_image(
        client, Inquiry("registry.example/llm:1", namespace, seconds=60), said.append
    )
    assert manifest is not None
    assert manifest.profiles
    left = json.loads(kubectl("-n", namespace, "get", "pods", "-o", "json"))["items"]
    assert [item for item in left if "deletionTimestamp" not in item["metadata"]] == []
    with pytest.raises(ApiError, match="nodes is forbidden"):
        find_products(client)


def test_gather_reads_all_with_the_rights_that_it_asks_for(act_as: Any, namespace: str) -> None:
    kubectl("-n", namespace, "apply", "-f", "-", stdin=json.dumps(SERVICE))
    kubectl("-n", namespace, "create", "secret", "generic", "pull", f"--from-literal=x={PLANTED}")
    versions = {(version, plural) for kind, (version, plural) in KINDS.items() if kind not in APART}
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
