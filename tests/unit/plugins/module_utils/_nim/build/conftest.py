# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A NIMBuild and its cache on an API server in memory, and passes as the operator makes them."""

from __future__ import annotations

import copy
import typing as t
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._cluster.live import LiveCluster
from ansible_collections.nimops.nim.plugins.module_utils._engine import steps
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import (
    api_path,
    key_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import Outcome, Refusal
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._engine.plan import Plan
from ansible_collections.nimops.nim.plugins.module_utils._engine.steps import Report
from ansible_collections.nimops.nim.plugins.module_utils._nim.build.kind import KIND
from ansible_collections.nimops.nim.plugins.module_utils._nim.profiles.model_manifest import (
    BEGIN_MARK,
    END_MARK,
)

Json = dict[str, t.Any]

NAMESPACE = "nim"
BUILDABLE = {
    "name": "aaaa",
    "model": "meta/llama",
    "release": "1.12.0",
    "config": {"trtllm_buildable": "true", "tp": "2", "precision": "bf16"},
}
OTHER = {"name": "bbbb", "config": {"trtllm_buildable": "false", "tp": "1"}}
LOCAL_MANIFEST = """\
cccc:
  model: meta/llama
  release: '1.12.0'
  tags: {model_name: engine, tp: '2', gpu: H100}
  workspace: !workspace {files: [!name 'rank0.engine']}
dddd:
  model: meta/llama
  tags: {model_name: another}
"""


def make_build(**spec: t.Any) -> Json:
    """A NIMBuild called engine on the cache llama."""
    return {
        "apiVersion": "apps.nvidia.com/v1alpha1",
        "kind": "NIMBuild",
        "metadata": {"name": "engine", "namespace": NAMESPACE, "uid": "u-build", "generation": 1},
        "spec": {
            "nimCache": {"name": "llama"},
            "image": {"repository": "nvcr.io/nim/meta/llama", "tag": "1.12.0"},
            **spec,
        },
    }


def make_cache(*profiles: Json, state: str = "Ready", **spec: t.Any) -> Json:
    """A NIMCache called llama that lists these profiles."""
    return {
        "apiVersion": "apps.nvidia.com/v1alpha1",
        "kind": "NIMCache",
        "metadata": {"name": "llama", "namespace": NAMESPACE, "uid": "u-cache"},
        "spec": {
            "source": {"ngc": {"modelPuller": "x:1", "authSecret": "ngc-api-secret"}},
            "storage": {"pvc": {"create": True}},
            **spec,
        },
        "status": {"state": state, "profiles": [*profiles]},
    }


def owned_by(owner: Json) -> Json:
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "controller": True}
    return {
        "ownerReferences": [reference | {key: owner["metadata"][key] for key in ("name", "uid")}]
    }


@dataclass
class Pass:
    """What one reconcile read, wrote and said."""

    asked: list[str]
    applied: list[str]
    pruned: list[str]
    report: Report
    events: list[tuple[str, str]]


@dataclass
class World:
    """One namespace. ``log`` is what pods print, ``refused`` has messages by key."""

    cluster: t.Any
    client: Client
    answer: t.Any
    log: str = ""
    refused: dict[str, str] = field(default_factory=dict)
    failure: str = ""

    def put(self, item: Json) -> Json:
        meta = item["metadata"]
        stored: Json = self.cluster.put(api_path(item["kind"], NAMESPACE, meta["name"]), item)
        return stored

    def get(self, key: str) -> Json | None:
        """A live object by Kind/name."""
        found: Json | None = self.cluster.objects.get(api_path(*self._split(key)))
        return found

    def remove(self, key: str) -> None:
        del self.cluster.objects[api_path(*self._split(key))]

    @staticmethod
    def _split(key: str) -> tuple[str, str, str]:
        kind, namespace, name = key.split("/")
        return kind, namespace, name

    @property
    def cr(self) -> Json:
        return t.cast(Json, self.get("NIMBuild/nim/engine"))

    @property
    def status(self) -> Json:
        return t.cast(Json, self.cr["status"])

    @property
    def state(self) -> str:
        return str(self.status["state"])

    @property
    def pods(self) -> list[str]:
        return [path.rsplit("/", 1)[-1] for path in self.cluster.objects if "/pods/" in path]

    @property
    def profiles(self) -> list[Json]:
        """What the cache lists."""
        return t.cast(Json, self.get("NIMCache/nim/llama"))["status"]["profiles"]  # type: ignore[no-any-return]

    def condition(self, kind: str) -> tuple[str, str, str] | None:
        """(status, reason, message) of a condition."""
        for item in self.status["conditions"]:
            if item["type"] == kind:
                return item["status"], item["reason"], item["message"]
        return None

    def reconcile(self, meanwhile: t.Callable[[], t.Any] = lambda: None) -> Pass:
        """One pass; ``meanwhile`` happens when all is observed and nothing reported."""
        before = set(self.cluster.objects)
        for name in self.pods:
            path = f"{api_path('Pod', NAMESPACE, name)}/log"
            self.cluster.refuse["GET", path] = [self.answer(200, self.log)]
        cr = copy.deepcopy(self.cr)
        live = LiveCluster(self.client, NAMESPACE)
        answers = steps.observe(KIND, cr, live)
        _desired, plan = steps.plan(KIND, cr, Observed(answers))
        meanwhile()
        outcome = self._write(plan)
        said = steps.report(KIND, cr, answers, outcome, live)
        events = [self.cluster.objects[path] for path in set(self.cluster.objects) - before]
        told = [(item["type"], item["reason"]) for item in events if item["kind"] == "Event"]
        asked = [key for key in answers if key != "operator"]
        return Pass(asked, list(outcome.written), outcome.deleted, said, told)

    def _write(self, plan: Plan) -> Outcome:
        refusals = list(plan.refusals)
        written: dict[str, Json] = {}
        for item in plan.adopt:
            self.client.patch(api_path(*self._split(key_of(item))), item)
        for item in plan.apply:
            key = key_of(item)
            if key in self.refused:
                kind, _namespace, name = key.split("/")
                refusals.append(Refusal(kind, name, self.refused[key]))
            else:
                written[key] = self.client.apply(api_path(*self._split(key)), item, "nimops.nim")
        pruned = [key_of(item) for item in plan.prune]
        for key in pruned:
            self.remove(key)
        return Outcome(written, pruned, refusals, self.failure or plan.failure)

    def set_pod(
        self, name: str, phase: str = "Running", ready: bool = False, **status: t.Any
    ) -> None:
        """The status of a pod."""
        pod = t.cast(Json, self.get(f"Pod/nim/{name}"))
        conditions = [{"type": "Ready", "status": str(ready)}]
        self.put(pod | {"status": {"phase": phase, "conditions": conditions} | status})

    def set_cache(self, **status: t.Any) -> None:
        """Fields of the status of the cache."""
        cache = t.cast(Json, self.get("NIMCache/nim/llama"))
        self.put(cache | {"status": {**cache["status"], **status}})

    def become_built(self) -> World:
        """Up to the pass that sees the pod ready."""
        self.reconcile()
        self.set_pod("engine-engine-build-pod", ready=True)
        self.reconcile()
        return self

    def print_manifest(self, text: str = LOCAL_MANIFEST) -> World:
        """The other pod is made, runs and prints."""
        self.reconcile()
        self.set_pod("engine-local-manifest-pod")
        self.log = f"{BEGIN_MARK}\n{text}\n{END_MARK}\n"
        return self

    def become_ready(self) -> World:
        """The usual way to Ready."""
        self.become_built().print_manifest()
        self.reconcile()
        self.reconcile()
        assert self.state == "Ready"
        return self


@pytest.fixture
def world(cluster: t.Any, tmp_path: Path, answer: t.Any) -> t.Callable[..., World]:
    """A new namespace with a NIMBuild, and with a cache and what belongs to it."""
    client = Client(cluster.kubeconfig(tmp_path))

    def make(*, cache: Json | None = None, build: Json | None = None, **spec: t.Any) -> World:
        made = World(cluster, client, answer)
        made.put(build or make_build(**spec))
        cache = make_cache(BUILDABLE, OTHER) if cache is None else cache
        if not cache:
            return made
        made.put(cache)
        claim = {
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "llama-pvc"} | owned_by(cache),
        }
        made.put(claim)
        labels = {"app": "k8s-nim-operator", "app.kubernetes.io/part-of": "nim-cache"}
        meta = {"name": "llama-manifest", "namespace": NAMESPACE, "labels": labels} | owned_by(
            cache
        )
        data = {"model_manifest.yaml": "aaaa: {}\n"}
        made.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data})
        return made

    return make


@pytest.fixture
def build() -> t.Callable[..., Json]:
    return make_build


@pytest.fixture
def cache() -> t.Callable[..., Json]:
    return make_cache


@pytest.fixture
def buildable() -> Json:
    return copy.deepcopy(BUILDABLE)
