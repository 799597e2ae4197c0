# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A simulated cluster with foreign objects, incomplete statuses and garbage in logs."""

from __future__ import annotations

import copy
import random
import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import (
    KINDS as RESOURCES,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.node_rows import row_of_node
from ansible_collections.nimops.nim.plugins.module_utils._engine.reads import (
    Read,
    ReadDigest,
    Source,
)
from nimops_harness.cluster import Json

from .fleet import Fleet
from .schema import KINDS, home_of, is_namespaced
from .strategies import NAMES, ODD_TEXTS

_WORKLOADS = ("Deployment", "LeaderWorkerSet")

_NUMBERS = (0, 1, 2, -1, 2**31 - 1)
_TIME = "2026-01-01T00:00:00Z"
_MARKS = ("--- nimops: manifest begins ---\n", "\n--- nimops: manifest ends ---\n")
_TEXTS = ("", "x", "y" * 40000, "a\nb", "\x00", "{{ 1 }}", "é" * 2000, "\U0001f600")
_FREELY_TYPED = {
    "ComputeDomain", "GRPCRoute", "HTTPRoute", "InferencePool", "InferenceService",
    "LeaderWorkerSet", "ServiceMonitor",
}  # fmt: skip
"""Kinds of others' CRDs: their schemas are not ours, and some preserve unknown fields."""

_CONDITION = {
    "type": "Ready", "status": "True", "reason": "Ok", "message": "m", "lastTransitionTime": _TIME,
}  # fmt: skip
_STATUSES: dict[str, tuple[Json, ...]] = {
    "Deployment": (
        {
            "observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1,
            "availableReplicas": 1, "conditions": [{**_CONDITION, "type": "Available"}],
        },
        {"conditions": [{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}]},
    ),
    "LeaderWorkerSet": (
        {"replicas": 1, "readyReplicas": 1, "conditions": [{**_CONDITION, "type": "Available"}]},
    ),
    "DaemonSet": (
        {
            "observedGeneration": 1, "desiredNumberScheduled": 1, "currentNumberScheduled": 1, "numberMisscheduled": 0,
            "numberReady": 1, "numberAvailable": 1, "updatedNumberScheduled": 1,
        },
        {"observedGeneration": 1, "desiredNumberScheduled": 2, "numberUnavailable": 1, "updatedNumberScheduled": 1},
    ),
    "Job": (
        {"succeeded": 1, "conditions": [{**_CONDITION, "type": "Complete"}]},
        {"failed": 6, "conditions": [{**_CONDITION, "type": "Failed"}]},
        {"active": 1, "ready": 0},
    ),
    "Pod": (
        {"phase": "Running", "containerStatuses": [{"name": "c", "ready": True, "state": {"running": {}}}]},
        {"phase": "Pending", "containerStatuses": [
            {"name": "c", "state": {"waiting": {"reason": "ImagePullBackOff", "message": "m"}}}]},
        {"phase": "Succeeded"},
        {"phase": "Failed", "message": "evicted", "containerStatuses": [
            {"name": "c", "state": {"terminated": {"exitCode": 1, "reason": "Error", "message": "m"}}}]},
    ),
    "PodDisruptionBudget": (
        {"currentHealthy": 1, "desiredHealthy": 1, "disruptionsAllowed": 0, "expectedPods": 1},
        {"currentHealthy": 2, "desiredHealthy": 1, "disruptionsAllowed": 1, "expectedPods": 2},
    ),
    "PersistentVolumeClaim": ({"phase": "Bound", "capacity": {"storage": "1Gi"}}, {"phase": "Pending"}),
    "InferenceService": (
        {
            "deploymentMode": "Standard", "url": "http://a.b", "observedGeneration": 1,
            "address": {"url": "http://a.b"}, "conditions": [_CONDITION],
            "components": {"predictor": {"url": "http://a", "latestReadyRevision": "r"}},
            "modelStatus": {"transitionStatus": "UpToDate", "states": {"activeModelState": "Loaded"}},
        },
        {"deploymentMode": "Knative", "conditions": [{**_CONDITION, "status": "Unknown"}]},
    ),
    "ComputeDomain": ({"status": "Ready", "nodes": [{"name": "n", "status": "Ready"}]},),
    "ResourceClaim": (
        {"allocation": {"devices": {"results": [{"device": "d", "driver": "x", "pool": "p"}]}},
         "reservedFor": [{"name": "p", "resource": "pods", "uid": "u"}]},
    ),
    "HorizontalPodAutoscaler": ({"currentReplicas": 1, "desiredReplicas": 1},),
    "Ingress": ({"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}]}},),
    "Service": ({"loadBalancer": {"ingress": [{"hostname": "h"}]}},),
}  # fmt: skip

_TAGS = "{gpu: H100, gpu_device: '2330:10de', llm_engine: tensorrt_llm, tp: '1', precision: fp8, profile: latency}"
_V1 = f"abc:\n  model: a/b\n  release: 1.0.0\n  tags: {_TAGS}\n  container_url: r/a\n"
_V2 = f"schema_version: '2.0'\nprofiles:\n- id: abc\n  tags: {_TAGS}\n"
_MANIFESTS = (
    _V1, _V2, "", "a", "[]", "{}", "abc:", "abc: []", "schema_version: 3", "schema_version: '2'\nprofiles: {}",
    "abc: {tags: {tp: [1]}}", "abc: {tags: {tp: {}}}", "abc: {tags: a}", "1: {tags: {1: 1}}", "? [a]\n: b",
    "abc: {tags: {tp: x, precision: '', gpu: null}}", "abc: {tags: {gpu_device: '('}}", "null: {tags: {}}",
    "abc: {tags: {product_name_regex: '[', tp: '99999999999999999999'}}", "<<: {a: b}", "<<: 1", "a: !!binary x",
    "abc: {tags: {llm_engine: a, 'gpu\\nx': y}, model: [1]}", "a: !!timestamp 9", "a: !!int x", "--- a\n--- b",
    "schema_version: '2'\nprofiles: [1]", "schema_version: '2'\nprofiles: [{id: [a]}]", "a: &b [*b]", "\x00", "é: {tags: {}}",
    "schema_version: '2'\nprofiles: [{id: {}}]", f"{'x' * 300}: {{tags: {_TAGS}}}", "abc: {release: 1.10, tags: {feat_lora: true}}",
    "schema_version: [2]", "{" * 400, "[" * 2000, "a: b: c", "\t", "%YAML 9.9\n---\na: b", "abc: {tags: {__ansible_unsafe: x}}",
)  # fmt: skip
_DATA_KEYS = ("model_manifest.yaml", "training", "models", "customizationTargets")
_LOGS = ("", "model_manifest.yaml not found\n", "model_manifest.yaml not found\ndownload-to-cache not found\n",
         _MARKS[0], _MARKS[1], "Profile abc is ready", "\ufffd" * 50)  # fmt: skip
_BODIES = (
    '{"object": "list", "data": [{"id": "m", "object": "model", "root": "m"}]}', "", "null", "[]", "1", "{}",
    '{"object": "list", "data": null}', '{"object": "list", "data": [null, 1]}', '{"object": "list", "data": [{"id": {}}]}',
    '{"object": "list", "data": [{"id": "a"}, {"id": 1, "root": 1, "object": "model"}]}', '{"modelInfo": [{"shortName": 7}]}',
    '{"modelInfo": [{"shortName": "a:b"}]}', '{"modelInfo": {}}', "NaN", "[" * 5000, '{"a": ' * 3000, "\x00", '"\\ud800"',
    '{"object": "list", "data": [{"id": "\\ud800"}]}', f'{{"object": "list", "data": [{{"id": "{"m" * 5000}"}}]}}', "1" * 5000,
)  # fmt: skip
_CONFIGS: tuple[Json | None, ...] = (
    None, {}, {"deploy": '{"defaultDeploymentMode": "Standard"}'}, {"deploy": "{"}, {"deploy": "[]"},
    {"deploy": '{"defaultDeploymentMode": "Knative"}'}, {"deploy": '{"defaultDeploymentMode": []}'}, {"deploy": "null"},
    {"deploy": "[" * 5000}, {"deploy": '{"defaultDeploymentMode": {}}'}, {"deploy": "1" * 5000}, {"deploy": '{"defaultDeploymentMode": 1}'},
    {"inferenceService": '{"serviceAnnotationDisallowedList": 1}'}, {"inferenceService": '{"serviceAnnotationDisallowedList": {}}'},
)  # fmt: skip

_CHILDREN = (
    "ConfigMap", "Deployment", "HTTPRoute", "HorizontalPodAutoscaler", "Ingress", "Job", "LeaderWorkerSet", "Pod",
    "Role", "RoleBinding", "Secret", "Service", "ServiceAccount",
)  # fmt: skip
EXISTING = {
    *(("ServiceAccount", name) for name in ("default", "ci-deployer", "builder-epp")),
    *(("Role", name) for name in ("secret-reader", "builder-epp")),
    *((kind, "billing") for kind in ("Deployment", "Service", "HorizontalPodAutoscaler", "InferenceService")),
    *((kind, name) for kind in _CHILDREN for name in ("all-taken", "all-taken-lws", "all-taken-pod", "all-taken-job")),
    *(("Secret", f"{name}-ssh-pk") for name in ("builder", "all-taken")),
    *(("ConfigMap", f"{name}-mpi-config") for name in ("builder", "all-taken")),
    *(("PersistentVolumeClaim", f"{name}-pvc") for name in ("billing", "all-taken")),
}  # fmt: skip
"""(kind, name) of objects of others; `TAKEN` has the names of resources whose children they would be."""

_INSTALLED = {"gpuclusters.nvidia.com": 0.2, "servicemonitors.monitoring.coreos.com": 0.5}
"""How often a cluster has a CRD of others; OpenShift, where little is served, is rare."""


class SimulatedCluster(Source):
    """Objects by kind and name, whose statuses change at random.

    ``neighbors``: what a read of one of our own kinds finds, whatever its name.
    """

    def __init__(self, number: int, neighbors: t.Mapping[str, Json], resource: Json) -> None:
        self._random = random.Random(number)
        self._neighbors = neighbors
        self._resource = resource
        self._home = home_of(resource["kind"])
        self._objects: dict[tuple[str, str], Json | None] = {}
        self.foreign: set[tuple[str, str]] = set()
        """(kind, name) of objects that others have made, and keep."""
        self._digests: dict[str, Json | None] = {}
        self._is_calm = self._chance(0.4)
        self._is_openshift = self._chance(0.5)
        self._fleet = Fleet(number, resource["metadata"]["name"], self._status)

    def serves_group(self, _group: str) -> bool:
        """Whether the cluster is OpenShift, where Roles grant SCCs."""
        return self._is_openshift

    def ask(self, read: Read) -> t.Any:
        """The answer to a read; a digest would take long."""
        found = self._digest(read) if isinstance(read, ReadDigest) else read.answer(self)
        return copy.deepcopy(found)

    def put(self, manifest: Json, *, is_whole: bool = False) -> Json:
        """Have this object as the API server gives it back, which it is itself if ``is_whole``."""
        key = manifest["kind"], manifest["metadata"]["name"]
        old = self._objects.get(key) or {}
        if is_whole:
            self._objects[key] = copy.deepcopy(manifest)
            return manifest
        metadata = {**self._identity(key), **(old.get("metadata") or {}), **manifest["metadata"]}
        metadata["managedFields"] = [
            {
                "manager": "nimops.nim", "operation": "Apply", "apiVersion": manifest["apiVersion"],
                "fieldsType": "FieldsV1", "fieldsV1": fields_of(manifest),
            }
        ]  # fmt: skip
        status = {"status": old["status"]} if "status" in old else {}
        self._objects[key] = {**copy.deepcopy(manifest), "metadata": metadata, **status}
        return copy.deepcopy(self._objects[key] or {})

    def take(self, plan: Json) -> None:
        """Lose what a plan deletes and evicts, and merge its patches of nodes."""
        for item in (*plan["prune"], *plan["orphan"], *plan["evict"]):
            metadata = item["metadata"]
            self._objects[item["kind"], metadata["name"]] = None
            if item["kind"] == "Pod":
                self._fleet.remove(metadata["namespace"], metadata["name"])
        for patch in plan["patch"]:
            if patch["kind"] == "Node":
                self._fleet.patch(patch)

    def pass_time(self) -> None:
        """Objects get the status that their controllers write, or what is left of it."""
        for (kind, _name), live in self._objects.items():
            if live is not None and kind in _STATUSES:
                live["status"] = self._status(kind)

    def _chance(self, share: float) -> bool:
        return self._random.random() < share

    def _identity(self, key: tuple[str, str]) -> Json:
        kind, name = key
        return {
            "name": name, "uid": f"uid-{kind}", "resourceVersion": "7", "generation": 1,
            "creationTimestamp": _TIME, **({"namespace": self._home} if RESOURCES[kind].is_namespaced else {}),
        }  # fmt: skip

    def get(self, kind: str, namespace: str, name: str) -> Json | None:
        if kind == "ConfigMap" and namespace != self._home:
            data = self._random.choice(_CONFIGS)
            return None if data is None else {"metadata": {"name": name}, "data": data}
        key = kind, name
        if key not in self._objects:
            self._objects[key] = self._find(key)
        return self._objects[key]

    def get_presence(self, kind: str, namespace: str, name: str) -> Json | None:
        found = self.get(kind, namespace, name)
        return {"metadata": found["metadata"]} if found else None

    def get_secret(self, _namespace: str, name: str) -> Json | None:
        return self._objects.get(("Secret", name))

    def list_objects(
        self, kind: str, namespace: str = "", *, selector: str = "", field: str = "", limit: int = 0
    ) -> list[Json] | None:
        if limit:
            found = self.list_nodes() if kind == "Node" else self._some(kind) or []
            return found[:limit]
        if kind == "Pod":
            return self._fleet.select(selector, field)
        if kind == "ControllerRevision":
            return self._fleet.revisions
        if selector and kind not in _WORKLOADS:
            return self._labeled(kind, selector)
        return self._some(kind)

    def list_nodes(self) -> list[Json]:
        labels = {
            "node.vmware.com/tkg": "x",
            "nvidia.com/gpu.product": self._random.choice(ODD_TEXTS),
        }
        found = [{"name": f"n{number}", "namespace": "kserve"} for number in range(2)]
        if self._chance(0.7):
            found[0] = {**found[0], "labels": labels}  # type: ignore[dict-item]
        return [{"metadata": item} for item in found[: self._random.choice((0, 1, 1, 1, 2))]]

    def list_node_rows(self) -> list[Json]:
        return [row_of_node(node) for node in self._fleet.nodes]

    def list_unready(self, _namespace: str, selector: str) -> list[str]:
        return [pod["metadata"]["name"] for pod in self._fleet.select(selector, "")]

    def get_log(self, _namespace: str, _pod: str, _container: str, _lines: int = 0) -> str:
        if self._chance(0.3):
            return self._random.choice((*_LOGS, *ODD_TEXTS))
        text = (
            _MANIFESTS[self._random.choice((0, 1))]
            if self._chance(0.4)
            else self._random.choice(_MANIFESTS)
        )
        begin, end = _MARKS if self._chance(0.9) else ("", "")
        return f"{begin}{text}{end}"

    def fetch(self, _url: str, _namespace: str, _service: str) -> Json:
        status = self._random.choice((200, 200, 200, 404, 0, 500, 301))
        body = _BODIES[0] if self._chance(0.4) else self._random.choice(_BODIES)
        error = "" if status else self._random.choice(_TEXTS)
        return {
            "status": status,
            "body": body if status else "",
            "error": error,
            "late": self._chance(0.3),
        }

    def find_protocol(self, _image: str, _namespace: str, _pull_secrets: t.Iterable[str]) -> str:
        return self._random.choice(("native", "legacy", ""))

    def now(self) -> str:
        return self._random.choice((_TIME, "2026-01-01T00:10:00Z", "2026-03-01T00:00:00Z"))

    def _digest(self, read: ReadDigest) -> Json | None:
        """Mostly there, as it was seen first."""
        if read.key not in self._digests:
            missing = [] if self._chance(0.8) else list(read.keys)
            digest = "" if self._chance(0.1) else f"{self._random.getrandbits(96):024x}"
            found = {"version": "7", "missing": missing, "digest": digest}
            self._digests[read.key] = None if self._chance(0.2) else found
        return self._digests[read.key]

    def _labeled(self, kind: str, selector: str) -> list[Json]:
        """The objects that were applied with a label."""
        key, _sign, value = selector.partition("=")
        return [
            live
            for (other, _name), live in self._objects.items()
            if live and other == kind and (live["metadata"].get("labels") or {}).get(key) == value
        ]

    def _of_cluster(self, kind: str) -> list[Json]:
        """The resources of a cluster-scoped kind of ours, with siblings of this one."""
        if kind != self._resource["kind"]:
            found = self._find((kind, "other"))
            return [found] if found else []
        sibling = copy.deepcopy(self._resource)
        sibling["metadata"] |= {"name": "sibling", "uid": "u-2"}
        sibling["metadata"]["creationTimestamp"] = self._random.choice(
            (_TIME, "2020-01-01T00:00:00Z")
        )
        return [self._resource, *([sibling] if self._chance(0.1) else [])]

    def _some(self, kind: str) -> list[Json] | None:
        if kind in KINDS and not is_namespaced(kind):
            return self._of_cluster(kind)
        if self._chance(0.7 if kind == "GPUCluster" else 0.2):
            return None
        names = self._random.sample(NAMES, self._random.choice((0, 1, 3)))
        return [self._grown((kind, name)) for name in names]

    def _find(self, key: tuple[str, str]) -> Json | None:
        """The object before the first pass: mostly none, else a foreign one."""
        kind = key[0]
        if kind in self._neighbors:
            if self._chance(0.2):
                return None
            found = copy.deepcopy(self._neighbors[kind])
            owner = {"ownerReferences": self._owners()} if self._chance(0.5) else {}
            found["metadata"] = {**found["metadata"], **self._identity(key), **owner}
            return found
        if kind == "CustomResourceDefinition":
            return self._grown(key) if self._chance(_INSTALLED.get(key[1], 0.02)) else None
        if key in EXISTING:
            return self._of_others(key)
        foreign = 0.25 if is_namespaced(self._resource["kind"]) else 0.01
        return self._grown(key) if not self._is_calm and self._chance(foreign) else None

    def _of_others(self, key: tuple[str, str]) -> Json:
        """A foreign object in the namespace, regardless of the name of our resource."""
        self.foreign.add(key)
        found = self._grown(key)
        metadata = {**found["metadata"], "labels": {"app": key[1]}}
        for field in ("ownerReferences", "deletionTimestamp"):
            metadata.pop(field, None)
        return {**found, "metadata": metadata}

    def _grown(self, key: tuple[str, str]) -> Json:
        kind = key[0]
        metadata: Json = {**self._identity(key)}
        if self._chance(0.8):
            metadata["ownerReferences"] = self._owners()
        if self._chance(0.5):
            metadata["labels"] = {"app.kubernetes.io/managed-by": "k8s-nim-operator"}
        if self._chance(0.3):
            metadata["annotations"] = {
                "resource.kubernetes.io/pod-claim-name": self._random.choice(ODD_TEXTS)
            }
        if self._chance(0.2):
            metadata["deletionTimestamp"] = _TIME
        if self._chance(0.3):
            metadata["managedFields"] = [{"manager": "x", "operation": "Update", "time": _TIME}]
        live: Json = {"apiVersion": RESOURCES[kind].version, "kind": kind, "metadata": metadata}
        if kind in ("ConfigMap", "Secret"):
            return live | {"data": {key: self._random.choice(_MANIFESTS) for key in _DATA_KEYS}}
        if kind in ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "ServiceAccount"):
            return live
        return live | {"spec": self._spec(kind), "status": self._status(kind)}

    def _spec(self, kind: str) -> Json:
        """Fields that the API server requires, and little more."""
        pod: Json = {"containers": [{"name": "c", "image": "i", "env": []}]}
        template: Json = {"metadata": {}, "spec": pod}
        made: dict[str, Json] = {
            "ComputeDomain": {"numNodes": 1, "channel": {"resourceClaimTemplate": {"name": "t"}}},
            "DaemonSet": {"selector": {"matchLabels": {"a": "b"}}, "template": template},
            "Deployment": {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": template},
            "Job": {"template": template},
            "LeaderWorkerSet": {"leaderWorkerTemplate": {"workerTemplate": template}, "replicas": 1},
            "Pod": pod,
            "PodDisruptionBudget": {"selector": {"matchLabels": {"app": "other"}}, "maxUnavailable": 1},
            "ResourceClaimTemplate": {"spec": {"devices": {"requests": [{"name": "a"}]}}},
            "Service": {"selector": {"app": "x"}, "ports": [{"port": 1}], "clusterIP": "10.0.0.1"},
        }  # fmt: skip
        return made.get(kind, {})

    def _owners(self) -> list[Json]:
        ours = {
            "apiVersion": self._resource["apiVersion"], "kind": self._resource["kind"], "controller": True,
            "name": self._resource["metadata"]["name"], "uid": self._resource["metadata"]["uid"],
        }  # fmt: skip
        other = {
            "apiVersion": "v1",
            "kind": "NIMPipeline",
            "name": "other",
            "uid": "other",
            "controller": True,
        }
        namesake = ours | {"uid": "former"}
        return self._random.choice(
            ([ours], [ours], [other], [namesake], [], [{**other, "controller": False}])
        )

    def _status(self, kind: str) -> t.Any:
        found = copy.deepcopy(self._random.choice(_STATUSES.get(kind, ({},))))
        if self._is_calm:
            return found
        for _number in range(self._random.choice((0, 1, 1, 2, 4))):
            found = self._spoil(found, is_free=kind in _FREELY_TYPED, is_whole=True)
        return found

    def _spoil(self, value: t.Any, *, is_free: bool, is_whole: bool = False) -> t.Any:
        """One part of a status gone or odd; of another type only where a schema may allow it."""
        if isinstance(value, dict) and value and self._chance(0.8):
            name = self._random.choice(sorted(value))
            if self._chance(0.35):
                return {key: item for key, item in value.items() if key != name}
            return {**value, name: self._spoil(value[name], is_free=is_free)}
        if isinstance(value, list) and value and self._chance(0.7):
            first = self._spoil(value[0], is_free=is_free)
            return self._random.choice(([], [first], [first, *value]))
        if is_free and not is_whole and self._chance(0.5):
            return self._random.choice((None, "x", 7, True, [], {}, [None], ["x"], {"a": 1}, 1.5))
        return self._other(value)

    def _other(self, value: t.Any) -> t.Any:
        if isinstance(value, bool):
            return not value
        if isinstance(value, int):
            return self._random.choice(_NUMBERS)
        if isinstance(value, str):
            return self._random.choice(_TEXTS)
        return type(value)()


_IDENTITY = ("apiVersion", "kind", "name", "namespace", "uid", "resourceVersion")
"""Nobody owns these fields; the last two are conditions of an apply."""


def fields_of(value: t.Any) -> Json:
    """The FieldsV1 set of what was applied; lists as a whole."""
    if not isinstance(value, dict):
        return {}
    return {
        f"f:{name}": fields_of(item)
        for name, item in value.items()
        if name not in _IDENTITY or not isinstance(item, str)
    }
