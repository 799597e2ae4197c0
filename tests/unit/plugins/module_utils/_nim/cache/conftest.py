# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A configurable NIMCache, and an in-memory cluster for passes."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._cluster.simulated import (
    apply_merge_patch,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import key_of
from ansible_collections.nimops.nim.plugins.module_utils._engine.conditions import stamp
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import (
    Assessment,
    Desired,
    Outcome,
    Refusal,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._engine.plan import compare
from ansible_collections.nimops.nim.plugins.module_utils._engine.reads import (
    ReadClaimFolders,
    ReadClaimUsers,
    ReadImage,
    ReadLog,
    ReadLogTail,
    ReadNodes,
    ReadObject,
    ReadObjects,
    ReadPods,
    ReadProtocol,
    ReadRefusals,
    ReadServed,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache.app import NIMCacheApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache.claim_fate import (
    assess_deletion,
    finalize,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache.desired import desired
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache.reads import reads
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache.status import assess
from ansible_collections.nimops.nim.plugins.module_utils._nim.profiles.model_manifest import (
    BEGIN_MARK,
    END_MARK,
    NO_PULLER,
    NOT_FOUND,
)

MANIFEST = """\
aaaa:
  model: meta/llama
  release: '1.12.0'
  tags: {gpu: H100, llm_engine: tensorrt_llm, tp: '1', precision: fp8, profile: throughput}
  workspace: !workspace {files: [!name 'config.json']}
bbbb:
  model: meta/llama
  release: '1.12.0'
  tags: {gpu: A100, llm_engine: tensorrt_llm, tp: '2', precision: bf16, profile: latency}
cccc:
  model: meta/llama
  release: '1.12.0'
  tags: {llm_engine: vllm, tp: '1', precision: bf16}
"""

NGC = {
    "modelPuller": "nvcr.io/nim/meta/llama:1.12.0",
    "pullSecret": "ngc-secret",
    "authSecret": "ngc-api-secret",
}
TRT = {"engine": "tensorrt", "tensorParallelism": "1"}
PVC = {"create": True, "size": "50Gi", "volumeAccessMode": "ReadWriteOnce"}


def make_cache(*, source=None, pvc=None, **spec):
    """A NIMCache, by default of an NGC model with a selection that matches one profile."""
    return {
        "apiVersion": "apps.nvidia.com/v1alpha1",
        "kind": "NIMCache",
        "metadata": {"name": "llama", "namespace": "nim", "uid": "u-cache", "generation": 1},
        "spec": {
            "source": source or {"ngc": NGC | {"model": TRT}},
            "storage": {"pvc": PVC if pvc is None else pvc},
            **spec,
        },
    }


def gpu_node(product="NVIDIA-H100-80GB-HBM3", **labels):
    return {"metadata": {"name": product, "labels": {"nvidia.com/gpu.product": product} | labels}}


@dataclass
class Pass:
    """The result of one reconcile."""

    keys: list
    desired: Desired
    assessment: Assessment
    applied: list
    pruned: list

    @property
    def events(self):
        return [(event.kind, event.reason) for event in self.assessment.events]


@dataclass
class World:
    """Objects of one namespace by key, and all other answers."""

    cr: dict
    objects: dict = field(default_factory=dict)
    nodes: list = field(default_factory=lambda: [gpu_node()])
    log: str = ""
    protocol: str = "legacy"
    users: dict = field(default_factory=dict)
    pods: list = field(default_factory=list)
    folders: list | None = field(default_factory=list)
    job_pods: list = field(default_factory=list)
    refusal: str = ""
    refused: dict = field(default_factory=dict)
    failure: str = ""
    reads: dict = field(default_factory=dict)
    is_openshift: bool = True
    operator: dict = field(default_factory=lambda: {"version": ""})

    def observe(self):
        answers = {"operator": self.operator}
        asked = []
        while new := [
            r for r in reads(NIMCacheApp(self.cr, Observed(answers))) if r.key not in answers
        ]:
            for read in new:
                asked.append(read.key)
                self.reads[read.key] = read
                answers[read.key] = {
                    ReadObject: lambda key=read.key: copy.deepcopy(self.objects.get(key)),
                    ReadImage: lambda read=read: read.answer(self),
                    ReadClaimFolders: lambda: self.folders,
                    ReadClaimUsers: lambda: self.pods,
                    ReadNodes: lambda: self.nodes,
                    ReadPods: lambda: self.job_pods,
                    ReadRefusals: lambda: self.refusal,
                    ReadObjects: lambda key=read.key: self.users.get(key),
                    ReadLog: lambda: self.log,
                    ReadLogTail: lambda: self.log,
                    ReadServed: lambda: self.is_openshift,
                    ReadProtocol: lambda: self.protocol,
                }[type(read)]()
        return asked, Observed(answers)

    def get(self, kind, namespace, name):
        """An object, for reads that derive their answer from it."""
        return self.objects.get(f"{kind}/{namespace}/{name}")

    def reconcile(self):
        before = copy.deepcopy(self.cr)
        keys, observed = self.observe()
        want = desired(NIMCacheApp(self.cr, observed))
        plan = compare(self.cr, want, observed)
        written = {}
        refusals = list(plan.refusals)
        for manifest in plan.apply:
            if key_of(manifest) in self.refused:
                message = self.refused[key_of(manifest)]
                refusals.append(Refusal(manifest["kind"], manifest["metadata"]["name"], message))
            else:
                written[key_of(manifest)] = self.objects[key_of(manifest)] = serve(manifest)
        self.patch(plan)
        pruned = [key_of(item) for item in plan.prune]
        for key in pruned:
            self.objects.pop(key)
        outcome = Outcome(written, pruned, refusals, self.failure)
        assessment = assess(NIMCacheApp(self.cr, observed), outcome)
        assert self.cr == before, "the inputs were changed"
        old = (self.cr.get("status") or {}).get("conditions")
        status = copy.deepcopy(assessment.status)
        status["conditions"] = stamp(status.get("conditions") or [], old, "2026-01-01T00:00:00Z", 1)
        status["observedGeneration"] = self.cr["metadata"].get("generation")
        self.cr["status"] = status
        return Pass(keys, want, assessment, list(written), pruned)

    def patch(self, plan):
        for patch in plan.patch:
            self.objects[key_of(patch)] = apply_merge_patch(self.objects[key_of(patch)], patch)

    def finalize(self):
        """Delete the NIMCache; the events and the error of its last pass."""
        self.cr["metadata"]["deletionTimestamp"] = "now"
        _asked, observed = self.observe()
        app = NIMCacheApp(self.cr, observed)
        plan = compare(self.cr, finalize(app), observed)
        raced = [key_of(patch) for patch in plan.patch if key_of(patch) in self.refused]
        if not raced:
            self.patch(plan)
        done = assess_deletion(app, Outcome(raced=raced))
        return [(event.reason, event.message) for event in done.events], done.error

    def recreate(self, **spec):
        """Collect what the deleted NIMCache owned, and create another one of its name."""
        owner = self.cr["metadata"]["uid"]
        for key, item in list(self.objects.items()):
            owners = item["metadata"].get("ownerReferences") or []
            if owners and all(reference["uid"] == owner for reference in owners):
                del self.objects[key]
        self.cr = make_cache(**spec)
        self.cr["metadata"]["uid"] = f"{owner}-next"
        return self

    def run_pod(self, log=None, phase="Running"):
        """Let the probe pod run and print."""
        self.objects["Pod/nim/llama-pod"]["status"] = {"phase": phase}
        self.log = f"{BEGIN_MARK}\n{MANIFEST}\n{END_MARK}\n" if log is None else log

    def set_job(self, *conditions, name="llama-job", **status):
        """Set the Job's status; the named conditions are true."""
        listed = [{"type": kind, "status": "True", "message": "why"} for kind in conditions]
        self.objects[f"Job/nim/{name}"]["status"] = {**status, "conditions": listed}

    def change(self, **spec):
        """Change fields of the spec, as a user does; the API server counts the generations."""
        self.cr["spec"] |= copy.deepcopy(spec)
        self.cr["metadata"]["generation"] += 1

    def become_ready(self):
        """Reconcile until Ready."""
        self.reconcile()
        if "Pod/nim/llama-pod" in self.objects:
            self.run_pod()
        self.reconcile()
        self.set_job("Complete", succeeded=1)
        self.reconcile()
        assert self.state == "Ready"
        return self

    @property
    def state(self):
        return str(self.cr["status"].get("state", ""))

    def condition(self, kind):
        """(status, reason, message) of a condition."""
        for item in self.cr["status"]["conditions"]:
            if item["type"] == kind:
                return item["status"], item["reason"], item["message"]
        return None


class Hub(World):
    """A NIMCache of Hugging Face's revision v1, whose image has no manifest, and its services."""

    @staticmethod
    def hugging(revision="v1"):
        fields = {
            "endpoint": "https://huggingface.co",
            "namespace": "acme",
            "modelName": "tiny",
            "modelPuller": "puller:1",
            "authSecret": "hf",
            "pullSecret": "pull",
        }
        return {"hf": fields | {"revision": revision}}

    @staticmethod
    def service(name, state="Ready", mounted=""):
        """A NIMService of the cache."""
        status = {"state": state, **({"cacheVersion": mounted} if mounted else {})}
        spec = {"storage": {"nimCache": {"name": "llama"}}}
        return {"metadata": {"name": name}, "spec": spec, "status": status}

    @staticmethod
    def mount_paths(job):
        """The folders of the claim that the container of a Job mounts."""
        container = job["spec"]["template"]["spec"]["containers"][0]
        mounts = container["volumeMounts"]
        return {mount.get("subPath") for mount in mounts if "cache" in mount["name"]}

    def print_nothing(self):
        """Let the probe pod find no manifest and no puller."""
        self.run_pod(f"{NO_PULLER}\n{NOT_FOUND}\n")
        self.reconcile()

    def become_ready(self):
        self.reconcile()
        self.print_nothing()
        self.set_job("Complete", succeeded=1)
        self.reconcile()
        assert self.state == "Ready"
        del self.objects["Job/nim/llama-job"]
        return self

    def start_download(self, revision):
        """Change the revision, and reconcile until the Job that downloads it exists."""
        self.change(source=self.hugging(revision))
        self.reconcile()
        self.print_nothing()

    def renew(self, revision):
        """Change the revision, and download it; the pass that reports the end."""
        self.start_download(revision)
        self.set_job("Complete", name="llama-renewal", succeeded=1)
        return self.reconcile()

    @property
    def served(self):
        return self.cr["status"]["served"]

    @property
    def former(self):
        return self.cr["status"].get("former") or []

    def follow_turns(self, done):
        """Annotate the services as the triggers of a pass say; their names."""
        found = [item for item in done.assessment.triggers if item.key == "nimops.nim/cache-store"]
        for trigger in found:
            metadata = self._service(trigger.name)["metadata"]
            metadata.setdefault("annotations", {})[trigger.key] = trigger.value
        return [trigger.name for trigger in found]

    def switch(self, name, state="Ready"):
        """Let a service mount the served version."""
        self._service(name)["status"] = {"state": state, "cacheVersion": self.served["id"]}

    def _service(self, name):
        listed = self.users["NIMService/nim/*"]
        return next(item for item in listed if item["metadata"]["name"] == name)


def serve(manifest):
    """A new object as the API server stores it."""
    live = copy.deepcopy(manifest)
    live["metadata"]["managedFields"] = [{"manager": "nimops.nim", "operation": "Apply"}]
    if live["kind"] == "Job":
        live["metadata"]["labels"] = dict(live["spec"]["template"]["metadata"]["labels"])
    return live


@pytest.fixture
def cache():
    return make_cache


@pytest.fixture
def world():
    """A new cluster with one NIMCache, given or built from these spec fields."""

    def make(cr=None, **spec):
        return World(cr or make_cache(**spec))

    return make


@pytest.fixture
def hub():
    """A Ready cache of Hugging Face, with these spec fields, beside these objects."""

    def make(objects=None, **spec):
        return Hub(make_cache(source=Hub.hugging(), **spec), objects or {}).become_ready()

    return make
