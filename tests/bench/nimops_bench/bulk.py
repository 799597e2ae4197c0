# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Many objects at once: foreign ones, and copies of a settled resource."""

from __future__ import annotations

import json
import threading
import typing as t
from concurrent.futures import ThreadPoolExecutor, as_completed

from nimops_harness.cluster import APPLY, Api, Json, path_of, version_of
from nimops_harness.errors import HarnessError
from nimops_harness.progress import Every, say

CONNECTIONS = 6
MANAGER = "nimops.nim"
"""The field manager of the operator's applies."""

FOREIGN = "foreign-"
LARGE_EVERY, LARGE_BYTES = 10, 8192
"""One foreign object in ten has annotations of so many bytes."""

OTHERS: tuple[tuple[str, Json], ...] = (
    ("Deployment", {"spec": {"replicas": 0, "paused": True}}),
    ("Service", {"spec": {"clusterIP": "None", "ports": [{"port": 80}]}}),
    ("ServiceAccount", {}),
    ("ConfigMap", {"data": {"key": "value"}}),
    ("Role", {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}),
    (
        "RoleBinding",
        {
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "none"},
            "subjects": [{"kind": "ServiceAccount", "name": "default"}],
        },
    ),
    ("Ingress", {"spec": {"defaultBackend": {"service": {
        "name": "none", "port": {"number": 80}}}}}),
    ("HorizontalPodAutoscaler", {"spec": {
        "maxReplicas": 2, "scaleTargetRef": {"apiVersion": "example.com/v1", "kind": "Scale", "name": "none"}}}),
)  # fmt: skip
"""Inert foreign objects of the kinds that the operator reads.

The control plane reconciles each HorizontalPodAutoscaler every 15 s, with an event: thousands would keep
it busier than everything that is measured. So only the first rounds have them.
"""
ROUNDS_OF_ALL = 20

SETTLED = ("ServiceAccount", "Service", "Deployment")
"""Children of a NIMService of the bench, on a cluster that is not OpenShift."""


def make_foreign(number: int) -> tuple[str, Json]:
    """A foreign object: kinds in turns, metadata small and large."""
    kinds = OTHERS if number < ROUNDS_OF_ALL * len(OTHERS) else OTHERS[:-1]
    resource, content = kinds[number % len(kinds)]
    name = f"{FOREIGN}{number:06}"
    metadata: Json = {"name": name, "labels": {"app": name}}
    if number // len(kinds) % LARGE_EVERY == 0:
        metadata["annotations"] = {"example.com/configuration": "x" * LARGE_BYTES}
    if resource == "Deployment":
        labels = {"app": name}
        pods = {
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "a", "image": "registry.example/a"}]},
        }
        spec = content["spec"] | {"selector": {"matchLabels": labels}, "template": pods}
        content = {"spec": spec}
    return resource, {"metadata": metadata} | content


def project(value: t.Any, fields: Json) -> t.Any:
    """The part of a value that managed fields name; items in the order of the value."""
    if not fields:
        return value
    if isinstance(value, list):
        items = [(json.loads(key[2:]), fields[key]) for key in fields if key.startswith("k:")]
        return [
            project(item, below)
            for item in value
            for key, below in items
            if key.items() <= item.items()
        ]
    return {
        key[2:]: project(value[key[2:]], below)
        for key, below in fields.items()
        if key.startswith("f:") and key[2:] in value
    }


def applied_part(child: Json) -> Json:
    """The part of an object that the operator applied."""
    for entry in child["metadata"]["managedFields"]:
        if (entry["manager"], entry["operation"]) == (MANAGER, "Apply"):
            part = t.cast(Json, project(child, entry["fieldsV1"]))
            kept = {"apiVersion": child["apiVersion"], "kind": child["kind"]}
            owners = child["metadata"]["ownerReferences"]
            metadata = {"name": child["metadata"]["name"], "ownerReferences": owners}
            return kept | part | {"metadata": part.get("metadata", {}) | metadata}
    raise HarnessError(f"{child['kind']} {child['metadata']['name']} was not applied by {MANAGER}")


def rename(value: Json, words: t.Mapping[str, str]) -> Json:
    """A copy with these words replaced everywhere."""
    text = json.dumps(value)
    for old, new in words.items():
        text = text.replace(old, new)
    return t.cast(Json, json.loads(text))


class Original:
    """A settled NIMService, read to be copied."""

    def __init__(self, api: Api, namespace: str, name: str) -> None:
        found = api.get(path_of("NIMService", namespace, name))
        self.name, self.uid = name, str(found["metadata"]["uid"])
        self.status: Json = found["status"]
        metadata = {"name": name, "finalizers": found["metadata"]["finalizers"]}
        kept = {key: found[key] for key in ("apiVersion", "kind", "spec")}
        self.resource: Json = kept | {"metadata": metadata}
        self.children: list[tuple[str, Json]] = []
        for kind in SETTLED:
            child = api.get(path_of(kind, namespace, name))
            child |= {"apiVersion": version_of(kind)}
            self.children.append((kind, applied_part(child)))
            if kind == "Service":
                self.address = str(child["spec"]["clusterIP"])

    def copy(self, api: Api, namespace: str, name: str) -> None:
        """A NIMService of this name with all its children, as the operator would leave it."""
        words = {self.name: name}
        made = api.request("POST", path_of("NIMService", namespace), rename(self.resource, words))
        words[self.uid] = made["metadata"]["uid"]
        for kind, child in self.children:
            path = path_of(kind, namespace, name, fieldManager=MANAGER, force="true")
            done = api.request("PATCH", path, rename(child, words), APPLY)
            if kind == "Service":
                words[self.address] = done["spec"]["clusterIP"]
        status = {"status": rename(self.status, words)}
        api.patch(f"{path_of('NIMService', namespace, name)}/status", status)

    def copy_children(self, api: Api, namespace: str, name: str) -> None:
        """Create the children alone, without owners, by one request for each."""
        for kind, child in self.children:
            body = rename(child, {self.name: name})
            del body["metadata"]["ownerReferences"]
            if kind == "Service":
                body["spec"].pop("clusterIP", None)
                body["spec"].pop("clusterIPs", None)
            api.request("POST", path_of(kind, namespace), body)

    def delete_children(self, api: Api, namespace: str, name: str) -> None:
        """Delete what `copy_children` created."""
        for kind, _child in self.children:
            api.request("DELETE", path_of(kind, namespace, name))


def in_parallel(items: t.Sequence[t.Any], do: t.Callable[[Api, t.Any], None], what: str) -> None:
    """Do something with each item, over several connections; the first error ends it."""
    apis, due = threading.local(), Every(10)

    def work(item: t.Any) -> None:
        if not hasattr(apis, "api"):
            apis.api = Api()
        do(apis.api, item)

    with ThreadPoolExecutor(CONNECTIONS) as pool:
        futures = [pool.submit(work, item) for item in items]
        try:
            for number, future in enumerate(as_completed(futures), 1):
                future.result()
                if due.is_due():
                    say(f"  {what}: {number} of {len(items)}")
        except HarnessError:
            pool.shutdown(cancel_futures=True)
            raise


def create_foreign(namespace: str, count: int) -> None:
    """Create so many foreign objects."""

    def create(api: Api, number: int) -> None:
        resource, body = make_foreign(number)
        api.request("POST", path_of(resource, namespace), body)

    in_parallel(range(count), create, "foreign objects")


def delete_foreign(namespace: str) -> None:
    """Delete all foreign objects."""

    def delete(api: Api, place: str) -> None:
        api.request("DELETE", place)

    places = [
        path_of(resource, namespace, item["metadata"]["name"])
        for resource, _ in OTHERS
        for item in Api().list_metadata(resource, namespace)
        if item["metadata"]["name"].startswith(FOREIGN)
    ]
    in_parallel(places, delete, "foreign objects")


def copy_settled(original: Original, namespace: str, names: t.Sequence[str]) -> None:
    """Create copies of a settled NIMService."""
    in_parallel(names, lambda api, name: original.copy(api, namespace, name), "copies")
