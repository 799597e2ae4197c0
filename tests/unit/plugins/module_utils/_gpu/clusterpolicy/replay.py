# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Plays a recorded case of the reference operator on a simulated cluster.

The cluster does what the recorded one did: it fills in defaults, schedules the pods of DaemonSets,
and collects what a deleted policy owned.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import re
import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._base.json_copy import copy_json
from ansible_collections.nimops.nim.plugins.module_utils._cluster.facts import Facts
from ansible_collections.nimops.nim.plugins.module_utils._cluster.simulated import (
    SimulatedCluster,
    apply_merge_patch,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import (
    KINDS,
    identity,
    object_identity,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import Outcome
from ansible_collections.nimops.nim.plugins.module_utils._engine.plan import Plan
from ansible_collections.nimops.nim.plugins.module_utils._engine.reconcile import reconcile
from ansible_collections.nimops.nim.plugins.module_utils._gpu.clusterpolicy.kind import KIND

Json = dict[str, t.Any]

NAMESPACE = "gpu-operator"
_REQUIRED = (
    "operator daemonsets driver toolkit devicePlugin dcgmExporter dcgm nodeStatusExporter gfd"
)
_MONITORS = "servicemonitors.monitoring.coreos.com"
_PASSES = 30
_REVISION, _COMPONENT = "controller-revision-hash", "app.kubernetes.io/component"
_UNRECORDED = ("CustomResourceDefinition", "Pod", "ControllerRevision")
_START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
_PLURALS = {item.plural.removesuffix("s"): kind for kind, item in KINDS.items()}
_PLURALS |= {"clusterpolicy": "ClusterPolicy", "clusterpolicies.nvidia.com": "ClusterPolicy"}


class Cluster(SimulatedCluster):
    """A cluster with controllers."""

    def __init__(self) -> None:
        super().__init__(Facts([]).ask)
        self._clock = 0

    def settings(self) -> Json:
        return {"namespace": NAMESPACE}

    @property
    def objects(self) -> list[Json]:
        return [item for item in self._changed.values() if item is not None]

    def write(self, plan: Plan) -> Outcome:
        """Store what is applied as it is: applying removes fields that are no longer wanted."""
        for manifest in plan.apply:
            key = identity(manifest)
            self._replace(manifest, self.find(key))
        written = {str(identity(item)): self.find(identity(item)) for item in plan.apply}
        rest = Plan(
            adopt=[],
            prune=plan.prune,
            patch=plan.patch,
            evict=plan.evict,
            orphan=plan.orphan,
            refusals=plan.refusals,
            failure=plan.failure,
            failure_reason=plan.failure_reason,
        )
        found = super().write(rest)
        return Outcome(written, found.deleted, found.refusals, found.failure, found.failure_reason)

    def create(self, manifest: Json) -> None:
        """Create or replace an object, as a user does."""
        self._replace(manifest, self.find(identity(manifest)))

    def run_controllers(self) -> None:
        self._collect()
        for item in self.objects:
            if item["kind"] == "DaemonSet":
                self._schedule(item)

    def _replace(self, manifest: Json, live: Json | None) -> None:
        self._clock += 1
        item = copy_json(manifest)
        meta = item["metadata"]
        meta.pop("resourceVersion", None)
        before = (live or {}).get("metadata") or {}
        time = (_START + datetime.timedelta(seconds=self._clock)).strftime("%Y-%m-%dT%H:%M:%SZ")
        meta["uid"] = before.get("uid") or f"uid-{self._clock}"
        meta["creationTimestamp"] = before.get("creationTimestamp") or time
        is_changed = live is not None and live.get("spec") != item.get("spec")
        meta["generation"] = int(before.get("generation") or 1) + is_changed
        if live is not None and "status" in live:
            item["status"] = live["status"]
        self.put(item)

    def _collect(self) -> None:
        uids = {item["metadata"].get("uid") for item in self.objects}
        for item in self.objects:
            owners = item["metadata"].get("ownerReferences") or []
            if owners and not any(owner["uid"] in uids for owner in owners):
                self.remove(identity(item))

    def _schedule(self, item: Json) -> None:
        """Make the pods of a DaemonSet, and replace outdated ones, unless that is left to others.

        A node has one driver pod, whatever it belongs to.
        """
        meta, template = item["metadata"], item["spec"]["template"]
        revision = self._revision_of(item)
        wanted = template["spec"].get("nodeSelector") or {}
        nodes = [
            node["metadata"]["name"]
            for node in self.objects
            if node["kind"] == "Node"
            and wanted.items() <= (node["metadata"].get("labels") or {}).items()
        ]
        is_manual = item["spec"]["updateStrategy"]["type"] == "OnDelete"
        taken = self._nodes_of_other_drivers(item)
        updated = 0
        for node in (node for node in nodes if node not in taken):
            name = f"{meta['name']}-{node}"
            pod = self.find(object_identity("Pod", NAMESPACE, name))
            if pod is None or not is_manual:
                pod = _pod(item, name, node, revision)
                self.put(pod)
            updated += pod["metadata"]["labels"][_REVISION] == revision
        for pod in self.objects:
            is_own = pod["kind"] == "Pod" and _owner(pod) == meta["uid"]
            if is_own and pod["spec"]["nodeName"] not in nodes:
                self.remove(identity(pod))
        status = {
            "observedGeneration": meta["generation"],
            "desiredNumberScheduled": len(nodes),
            "updatedNumberScheduled": updated,
            "numberAvailable": len(set(nodes) - taken),
        }
        self.put({**item, "status": status})

    def _nodes_of_other_drivers(self, item: Json) -> set[str]:
        """The nodes where pods run that a DaemonSet does not want to meet."""
        if "podAntiAffinity" not in item["spec"]["template"]["spec"].get("affinity", {}):
            return set()
        return {
            pod["spec"]["nodeName"]
            for pod in self.objects
            if pod["kind"] == "Pod"
            and (pod["metadata"].get("labels") or {}).get(_COMPONENT) == "nvidia-driver"
            and _owner(pod) != item["metadata"]["uid"]
        }

    def _revision_of(self, item: Json) -> str:
        """The revision of a DaemonSet's template, as a ControllerRevision records it."""
        meta, template = item["metadata"], item["spec"]["template"]
        revision = hashlib.sha256(json.dumps(template, sort_keys=True).encode()).hexdigest()[:10]
        known = [
            other
            for other in self.objects
            if other["kind"] == "ControllerRevision" and _owner(other) == meta["uid"]
        ]
        newest = max((other["revision"] for other in known), default=0)
        name = f"{meta['name']}-{revision}"
        found = self.find(object_identity("ControllerRevision", NAMESPACE, name))
        if found is None or found["revision"] != newest:
            self.put(
                {
                    "kind": "ControllerRevision",
                    "metadata": _metadata(item, name, revision),
                    "revision": newest + 1,
                    "data": {"spec": {"template": template}},
                }
            )
        return revision


def _metadata(owner: Json, name: str, revision: str) -> Json:
    """The metadata of what a DaemonSet makes."""
    reference = {
        "kind": "DaemonSet",
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
    }
    labels = owner["spec"]["template"]["metadata"]["labels"]
    return {
        "name": name,
        "namespace": NAMESPACE,
        "uid": f"{name}-{revision}",
        "labels": {**labels, _REVISION: revision},
        "ownerReferences": [reference],
    }


def _pod(owner: Json, name: str, node: str, revision: str) -> Json:
    ready = [{"type": "Ready", "status": "True"}]
    return {
        "kind": "Pod",
        "metadata": _metadata(owner, name, revision),
        "spec": {"nodeName": node},
        "status": {"phase": "Running", "conditions": ready},
    }


def _owner(item: Json) -> str:
    owners = item["metadata"].get("ownerReferences") or [{}]
    return str(owners[0].get("uid") or "")


class Replay:
    """A case being played; ``harness``: the module that recorded it."""

    def __init__(self, case: Json, harness: t.Any) -> None:
        self.cluster = Cluster()
        self._case, self._harness = case, harness
        self._recorder = harness.Recorder(case)
        self._before: Json = {}
        crd = {"kind": "CustomResourceDefinition", "metadata": {"name": _MONITORS}}
        self.cluster.create(crd)
        self.cluster.create({"kind": "Namespace", "metadata": {"name": NAMESPACE}})
        for node in case.get("nodes") or []:
            self.cluster.create(harness.Recorder.node(node))
        for item in case.get("before") or []:
            self.cluster.create(_in_namespace(item))
        self._baseline = {identity(item) for item in self.cluster.objects}

    def play(self) -> Json:
        steps = [
            *self._case["steps"],
            {"name": "deleted", "delete": ["clusterpolicies.nvidia.com --all"]},
        ]
        return {"steps": [self._step(step) for step in steps]}

    def _step(self, step: Json) -> Json:
        for what in step.get("delete") or []:
            self._delete(what)
        for what, patch in (step.get("patch") or {}).items():
            kind, _sign, name = what.partition("/")
            key = object_identity(_PLURALS[kind], NAMESPACE, name)
            self.cluster.put(apply_merge_patch(t.cast(Json, self.cluster.find(key)), patch))
        policies = dict(step.get("policies") or {})
        if "policy" in step:
            policies["cluster-policy"] = step["policy"]
        for name, spec in policies.items():
            self.cluster.create(_policy(name, spec))
        self._settle()
        now = self._snapshot()
        changed = {key for key in {*now, *self._before} if now.get(key) != self._before.get(key)}
        objects = {key: now.get(key) for key in changed}
        self._before = now
        return {"name": step["name"], "refused": [], "objects": objects}

    def _delete(self, what: str) -> None:
        kind, _sign, name = what.split(maxsplit=1)[0].partition("/")
        for item in self.cluster.objects:
            metadata = item["metadata"]
            if item["kind"] == _PLURALS[kind] and name in ("", metadata["name"]):
                self.cluster.remove(identity(item))

    def _settle(self) -> None:
        for _number in range(_PASSES):
            self.cluster.run_controllers()
            before = len(self.cluster.changes)
            for item in self.cluster.objects:
                if item["kind"] == "ClusterPolicy":
                    reconcile(KIND, item, self.cluster)
            if len(self.cluster.changes) == before:
                return
        raise AssertionError("the policies do not come to rest")

    def _snapshot(self) -> Json:
        found: Json = {}
        scheduled: Json = {}
        for item in sorted(self.cluster.objects, key=lambda item: str(identity(item))):
            is_ours = identity(item) not in self._baseline or item["kind"] in ("Node", "Namespace")
            if item["kind"] in _UNRECORDED or not is_ours:
                continue
            shown = with_defaults(item)
            if item["kind"] == "DaemonSet":
                scheduled[item["metadata"]["name"]] = item["status"]["desiredNumberScheduled"]
            found[self._harness.key(shown)] = self._recorder.normal(shown)
        found["Scheduled//pods"] = scheduled
        text = json.dumps(found, sort_keys=True)
        numbers = self._recorder.digests
        text = re.sub(
            "(?<=<digest )[^>]*",
            lambda match: numbers.setdefault(match[0], str(len(numbers) + 1)),
            text,
        )
        return t.cast(Json, json.loads(text))


def _policy(name: str, spec: Json) -> Json:
    """A policy with the defaults of its schema."""
    given = copy_json({**{key: {} for key in _REQUIRED.split()}, **spec})
    for block in ("migManager", "vgpuDeviceManager"):
        if "config" in given.get(block, {}) and block == "migManager":
            given[block]["config"].setdefault("default", "all-disabled")
    return {
        "apiVersion": KIND.api_version,
        "kind": KIND.name,
        "metadata": {"name": name},
        "spec": given,
    }


def _in_namespace(item: Json) -> Json:
    item = copy_json(item)
    item["metadata"]["namespace"] = NAMESPACE
    if "stringData" in item:
        item["data"] = item.pop("stringData")
    return item


def with_defaults(item: Json) -> Json:
    """An object as the API server would store it."""
    item = copy_json(item)
    item.setdefault("apiVersion", KINDS[item["kind"]].version)
    if item["kind"] == "DaemonSet":
        _default_daemon_set(item["spec"])
    if item["kind"] == "Service" and item["spec"]["type"] == "NodePort":
        item["spec"]["externalTrafficPolicy"] = "Cluster"
    return item


def _default_daemon_set(spec: Json) -> None:
    strategy = spec["updateStrategy"]
    if strategy["type"] == "RollingUpdate":
        strategy["rollingUpdate"] = {
            "maxSurge": 0,
            "maxUnavailable": 1,
            **strategy.get("rollingUpdate", {}),
        }
    pod = spec["template"]["spec"]
    for volume in pod.get("volumes") or []:
        if "hostPath" in volume:
            volume["hostPath"].setdefault("type", "")
        for kind in {"configMap", "secret"} & volume.keys():
            volume[kind].setdefault("defaultMode", 0o644)
    for container in [*pod.get("initContainers", []), *pod["containers"]]:
        for item in container.get("env") or []:
            if "fieldRef" in item.get("valueFrom", {}):
                item["valueFrom"]["fieldRef"].setdefault("apiVersion", "v1")
        for probe in {"livenessProbe", "readinessProbe", "startupProbe"} & container.keys():
            _default_probe(container[probe])


def _default_probe(probe: Json) -> None:
    defaults = {
        "failureThreshold": 3,
        "periodSeconds": 10,
        "successThreshold": 1,
        "timeoutSeconds": 1,
    }
    for key, value in defaults.items():
        probe.setdefault(key, value)
    if "httpGet" in probe:
        probe["httpGet"].setdefault("scheme", "HTTP")
