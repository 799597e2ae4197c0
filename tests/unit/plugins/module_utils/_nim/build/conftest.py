# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A NIMBuild and its cache on an in-memory API server, and passes as in the operator."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

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
from ansible_collections.nimops.nim.plugins.module_utils._engine.steps import Report
from ansible_collections.nimops.nim.plugins.module_utils._nim.build.kind import KIND
from ansible_collections.nimops.nim.plugins.module_utils._nim.profiles.model_manifest import (
    BEGIN_MARK,
    END_MARK,
)

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


def make_build(**spec):
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


def make_cache(*profiles, state="Ready", **spec):
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


def owned_by(owner):
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "controller": True}
    return {
        "ownerReferences": [reference | {key: owner["metadata"][key] for key in ("name", "uid")}]
    }


@dataclass
class Pass:
    """The reads, writes and report of one reconcile."""

    asked: list
    applied: list
    pruned: list
    report: Report
    events: list


@dataclass
class World:
    """One namespace. ``log`` is the output of pods, ``refused`` has messages by key."""

    cluster: object
    client: Client
    answer: object
    log: str = ""
    refused: dict = field(default_factory=dict)
    failure: str = ""

    def put(self, item):
        meta = item["metadata"]
        return self.cluster.put(api_path(item["kind"], NAMESPACE, meta["name"]), item)

    def get(self, key):
        """A live object by Kind/name."""
        return self.cluster.objects.get(api_path(*self._split(key)))

    def remove(self, key):
        del self.cluster.objects[api_path(*self._split(key))]

    @staticmethod
    def _split(key):
        kind, namespace, name = key.split("/")
        return kind, namespace, name

    @property
    def cr(self):
        return self.get("NIMBuild/nim/engine")

    @property
    def status(self):
        return self.cr["status"]

    @property
    def state(self):
        return str(self.status["state"])

    @property
    def pods(self):
        return [path.rsplit("/", 1)[-1] for path in self.cluster.objects if "/pods/" in path]

    @property
    def profiles(self):
        """The profiles in the cache's status."""
        return self.get("NIMCache/nim/llama")["status"]["profiles"]

    def condition(self, kind):
        """(status, reason, message) of a condition."""
        for item in self.status["conditions"]:
            if item["type"] == kind:
                return item["status"], item["reason"], item["message"]
        return None

    def reconcile(self, meanwhile=lambda: None):
        """Run one pass; ``meanwhile`` is called between observation and report."""
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
        report = steps.report(KIND, cr, answers, outcome, live)
        events = [self.cluster.objects[path] for path in set(self.cluster.objects) - before]
        event_reasons = [
            (item["type"], item["reason"]) for item in events if item["kind"] == "Event"
        ]
        asked = [key for key in answers if key != "operator"]
        return Pass(asked, list(outcome.written), outcome.deleted, report, event_reasons)

    def _write(self, plan):
        refusals = list(plan.refusals)
        written = {}
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

    def set_pod(self, name, phase="Running", ready=False, **status):
        """Set the status of a pod."""
        pod = self.get(f"Pod/nim/{name}")
        conditions = [{"type": "Ready", "status": str(ready)}]
        self.put(pod | {"status": {"phase": phase, "conditions": conditions} | status})

    def set_cache(self, **status):
        """Set fields of the cache's status."""
        cache = self.get("NIMCache/nim/llama")
        self.put(cache | {"status": {**cache["status"], **status}})

    def become_built(self):
        """Reconcile until a pass observes the ready build pod."""
        self.reconcile()
        self.set_pod("engine-engine-build-pod", ready=True)
        self.reconcile()
        return self

    def print_manifest(self, text=LOCAL_MANIFEST):
        """Let the manifest pod be created, run and print."""
        self.reconcile()
        self.set_pod("engine-local-manifest-pod")
        self.log = f"{BEGIN_MARK}\n{text}\n{END_MARK}\n"
        return self

    def become_ready(self):
        """Reconcile until Ready."""
        self.become_built().print_manifest()
        self.reconcile()
        self.reconcile()
        assert self.state == "Ready"
        return self


@pytest.fixture
def world(cluster, tmp_path, answer):
    """A new namespace with a NIMBuild, a cache and the cache's objects."""
    client = Client(cluster.kubeconfig(tmp_path))

    def make(*, cache=None, build=None, **spec):
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
def build():
    return make_build


@pytest.fixture
def cache():
    return make_cache


@pytest.fixture
def buildable():
    return copy.deepcopy(BUILDABLE)
