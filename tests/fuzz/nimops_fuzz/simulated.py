# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A simulated cluster with foreign objects, incomplete statuses and garbage in logs."""

from __future__ import annotations

import copy
import typing as t
from pathlib import Path

import yaml
from ansible_collections.nimops.nim.plugins.module_utils._cluster.facts import Objects
from ansible_collections.nimops.nim.plugins.module_utils._cluster.simulated import (
    apply_merge_patch,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import (
    KINDS as RESOURCES,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import (
    ObjectKey,
    identity,
    object_identity,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.reads import Read, ReadDigest
from nimops_harness.cluster import Json

from .fleet import TIME, Chance, Fleet
from .schema import KINDS, home_of
from .strategies import NAMES, ODD_TEXTS, VALUES

_WORKLOADS = ("Deployment", "LeaderWorkerSet")

_MARKS = ("--- nimops: manifest begins ---\n", "\n--- nimops: manifest ends ---\n")
_FREELY_TYPED = {
    "ComputeDomain", "GRPCRoute", "HTTPRoute", "InferencePool", "InferenceService",
    "LeaderWorkerSet", "ServiceMonitor",
}  # fmt: skip
"""Kinds of others' CRDs: their schemas are not ours, and some preserve unknown fields."""

_OBJECTS: dict[str, Json] = yaml.safe_load(
    Path(__file__).parents[1].joinpath("objects.yaml").read_text()
)

_DATA_KEYS = ("model_manifest.yaml", "training", "models", "customizationTargets")
_OF_FLEET = ("Node", "ControllerRevision")
_IDENTITY = ("apiVersion", "kind", "name", "namespace", "uid", "resourceVersion")
"""Fields without an owner; the last two are conditions of an apply."""

_INSTALLED = {"gpuclusters.nvidia.com": 0.2, "servicemonitors.monitoring.coreos.com": 0.5}
"""How often a cluster has a CRD of others; OpenShift, where little is served, is rare."""


class SimulatedCluster(Objects):
    """Objects whose statuses change at random.

    ``neighbors``: what a read of one of our own kinds finds, whatever its name.
    """

    def __init__(self, number: int, neighbors: t.Mapping[str, Json], resource: Json) -> None:
        self._known: dict[ObjectKey, Json | None] = {}
        super().__init__(self._known)
        self._chance = Chance(number)
        self._neighbors = neighbors
        self._resource = resource
        self._digests: dict[str, Json | None] = {}
        self._is_calm = self._chance.has(0.4)
        self._is_openshift = self._chance.has(0.5)
        for item in Fleet(self._chance, resource["metadata"]["name"], self._status).make_all():
            self._known[identity(item)] = item

    def serves_group(self, _group: str) -> bool:
        """Whether the cluster is OpenShift, where Roles grant SCCs."""
        return self._is_openshift

    def ask(self, read: Read) -> t.Any:
        """The answer to a read; a digest would take long."""
        return self._digest(read) if isinstance(read, ReadDigest) else super().ask(read)

    def put(self, manifest: Json, *, is_whole: bool = False) -> Json:
        """Store an object as the API server gives it back; ``is_whole``: it is from the API server."""
        key, stored = identity(manifest), copy.deepcopy(manifest)
        if not is_whole:
            old = self._known.get(key) or {}
            stored["metadata"] = {
                **self._identity(key), **(old.get("metadata") or {}), **manifest["metadata"],
                "managedFields": [
                    {
                        "manager": "nimops.nim", "operation": "Apply", "apiVersion": manifest["apiVersion"],
                        "fieldsType": "FieldsV1", "fieldsV1": fields_of(manifest),
                    }
                ],
            }  # fmt: skip
            stored |= {"status": old["status"]} if "status" in old else {}
        self._known[key] = stored
        return copy.deepcopy(stored)

    def take(self, plan: Json) -> None:
        """Remove what a plan deletes and evicts, and merge its patches of nodes."""
        for item in (*plan["prune"], *plan["orphan"], *plan["evict"]):
            self._known[identity(item)] = None
        for patch in plan["patch"]:
            if patch["kind"] == "Node" and (node := self._known.get(identity(patch))):
                changed = {name: patch[name] for name in ("metadata", "spec") if name in patch}
                self._known[identity(patch)] = apply_merge_patch(node, changed)

    def pass_time(self) -> None:
        """Objects get the status that their controllers write, or a part of it."""
        for key, live in self._known.items():
            if live is not None and "statuses" in _OBJECTS.get(key.kind, {}):
                live["status"] = self._status(key.kind)

    def _identity(self, key: ObjectKey) -> Json:
        return {
            "name": key.name, "uid": f"uid-{key.kind}", "resourceVersion": "7", "generation": 1,
            "creationTimestamp": TIME, **({"namespace": key.namespace} if key.namespace else {}),
        }  # fmt: skip

    # --- answers ---------------------------------------------------------------------------------

    def get(self, kind: str, namespace: str, name: str) -> Json | None:
        if kind == "ConfigMap" and namespace != home_of(self._resource["kind"]):
            data = self._chance.choice(VALUES["kserve"])
            return None if data is None else {"metadata": {"name": name}, "data": data}
        key = object_identity(kind, namespace, name)
        if key not in self._known:
            self._known[key] = self._find(key)
        return self._known[key]

    def get_secret(self, namespace: str, name: str) -> Json | None:
        return self._known.get(object_identity("Secret", namespace, name))

    def list_objects(
        self, kind: str, namespace: str = "", *, selector: str = "", field: str = "", limit: int = 0
    ) -> list[Json] | None:
        is_labeled = bool(selector) and kind not in _WORKLOADS
        if kind in _OF_FLEET or (not limit and (kind == "Pod" or is_labeled)):
            return super().list_objects(
                kind, namespace, selector=selector, field=field, limit=limit
            )
        return (self._list_some(kind) or [])[:limit] if limit else self._list_some(kind)

    def list_unready(self, namespace: str, selector: str) -> list[str]:
        pods = self.list_objects("Pod", namespace, selector=selector) or []
        return [pod["metadata"]["name"] for pod in pods]

    def get_log(self, _namespace: str, _pod: str, _container: str, _lines: int = 0) -> str:
        if self._chance.has(0.3):
            return str(self._chance.choice((*VALUES["logs"], *ODD_TEXTS)))
        plain = 2 if self._chance.has(0.4) else None
        begin, end = _MARKS if self._chance.has(0.9) else ("", "")
        return f"{begin}{self._chance.choice(VALUES['manifests'][:plain])}{end}"

    def fetch(self, _url: str, _namespace: str, _service: str) -> Json:
        status = self._chance.choice((200, 200, 200, 404, 0, 500, 301))
        body = (
            VALUES["bodies"][0] if self._chance.has(0.4) else self._chance.choice(VALUES["bodies"])
        )
        error = "" if status else self._chance.choice(VALUES["status_texts"])
        late = self._chance.has(0.3)
        return {"status": status, "body": body if status else "", "error": error, "late": late}

    def find_protocol(self, _image: str, _namespace: str, _pull_secrets: t.Iterable[str]) -> str:
        return self._chance.choice(("native", "legacy", ""))

    def now(self) -> str:
        return self._chance.choice((TIME, "2026-01-01T00:10:00Z", "2026-03-01T00:00:00Z"))

    def _digest(self, read: ReadDigest) -> Json | None:
        """Mostly there, as it was seen first."""
        if read.key not in self._digests:
            missing = [] if self._chance.has(0.8) else list(read.keys)
            digest = "" if self._chance.has(0.1) else f"{self._chance.getrandbits(96):024x}"
            found = {"version": "7", "missing": missing, "digest": digest}
            self._digests[read.key] = None if self._chance.has(0.2) else found
        return copy.deepcopy(self._digests[read.key])

    # --- objects that were there before ----------------------------------------------------------

    def _list_some(self, kind: str) -> list[Json] | None:
        if kind in KINDS and not RESOURCES[kind].is_namespaced:
            return self._list_cluster_scoped(kind)
        if self._chance.has(0.7 if kind == "GPUCluster" else 0.2):
            return None
        names = self._chance.sample(NAMES, self._chance.choice((0, 1, 3)))
        home = home_of(self._resource["kind"])
        return [self._make(object_identity(kind, home, name)) for name in names]

    def _list_cluster_scoped(self, kind: str) -> list[Json]:
        """The resources of a cluster-scoped kind of ours, with siblings of this one."""
        if kind != self._resource["kind"]:
            found = self._find(object_identity(kind, "", "other"))
            return [found] if found else []
        sibling = copy.deepcopy(self._resource)
        created = self._chance.choice((TIME, "2020-01-01T00:00:00Z"))
        sibling["metadata"] |= {"name": "sibling", "uid": "u-2", "creationTimestamp": created}
        return [self._resource, *([sibling] if self._chance.has(0.1) else [])]

    def _find(self, key: ObjectKey) -> Json | None:
        """The object before the first pass: mostly none, else a foreign one."""
        if key.kind in self._neighbors:
            if self._chance.has(0.2):
                return None
            found = copy.deepcopy(self._neighbors[key.kind])
            owner = {"ownerReferences": self._owners()} if self._chance.has(0.5) else {}
            found["metadata"] = {**found["metadata"], **self._identity(key), **owner}
            return found
        if key.kind == "CustomResourceDefinition":
            return self._make(key) if self._chance.has(_INSTALLED.get(key.name, 0.02)) else None
        foreign = 0.25 if RESOURCES[self._resource["kind"]].is_namespaced else 0.01
        return self._make(key) if not self._is_calm and self._chance.has(foreign) else None

    def _make(self, key: ObjectKey) -> Json:
        """An object with random metadata and a random status."""
        kind, metadata = key.kind, self._identity(key)
        odd = {"resource.kubernetes.io/pod-claim-name": self._chance.choice(ODD_TEXTS)}
        for share, field, value in (
            (0.8, "ownerReferences", self._owners()),
            (0.5, "labels", {"app.kubernetes.io/managed-by": "k8s-nim-operator"}),
            (0.3, "annotations", odd),
            (0.2, "deletionTimestamp", TIME),
            (0.3, "managedFields", [{"manager": "x", "operation": "Update", "time": TIME}]),
        ):
            if self._chance.has(share):
                metadata[field] = value
        live: Json = {"apiVersion": RESOURCES[kind].version, "kind": kind, "metadata": metadata}
        if kind in ("ConfigMap", "Secret"):
            return live | {
                "data": {name: self._chance.choice(VALUES["manifests"]) for name in _DATA_KEYS}
            }
        if kind in ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "ServiceAccount"):
            return live
        spec = copy.deepcopy(_OBJECTS.get(kind, {}).get("spec", {}))
        return live | {"spec": spec, "status": self._status(kind)}

    def _owners(self) -> list[Json]:
        ours = {
            "apiVersion": self._resource["apiVersion"], "kind": self._resource["kind"], "controller": True,
            "name": self._resource["metadata"]["name"], "uid": self._resource["metadata"]["uid"],
        }  # fmt: skip
        other = {"apiVersion": "v1", "kind": "NIMPipeline", "name": "other", "uid": "other"}
        owner = self._chance.choice((
            ours, ours, ours | {"uid": "former"}, other | {"controller": True}, other | {"controller": False}, None,
        ))  # fmt: skip
        return [owner] if owner else []

    # --- statuses --------------------------------------------------------------------------------

    def _status(self, kind: str) -> t.Any:
        statuses = _OBJECTS.get(kind, {}).get("statuses", [{}])
        found = copy.deepcopy(self._chance.choice(statuses))
        if self._is_calm:
            return found
        for _number in range(self._chance.choice((0, 1, 1, 2, 4))):
            found = self._spoil(found, is_free=kind in _FREELY_TYPED, is_whole=True)
        return found

    def _spoil(self, value: t.Any, *, is_free: bool, is_whole: bool = False) -> t.Any:
        """Remove or change a part of a status; to another type only where a schema may allow it."""
        if isinstance(value, dict) and value and self._chance.has(0.8):
            name = self._chance.choice(sorted(value))
            if self._chance.has(0.35):
                return {key: item for key, item in value.items() if key != name}
            return {**value, name: self._spoil(value[name], is_free=is_free)}
        if isinstance(value, list) and value and self._chance.has(0.7):
            first = self._spoil(value[0], is_free=is_free)
            return self._chance.choice(([], [first], [first, *value]))
        if is_free and not is_whole and self._chance.has(0.5):
            return self._chance.choice((None, "x", 7, True, [], {}, [None], ["x"], {"a": 1}, 1.5))
        if isinstance(value, bool):
            return not value
        odd = {int: VALUES["status_numbers"], str: VALUES["status_texts"]}.get(type(value))
        return self._chance.choice(odd) if odd else type(value)()


def fields_of(value: t.Any) -> Json:
    """The FieldsV1 set of what was applied; lists as a whole."""
    if not isinstance(value, dict):
        return {}
    return {
        f"f:{name}": fields_of(item)
        for name, item in value.items()
        if name not in _IDENTITY or not isinstance(item, str)
    }
