# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A takeover on an API server whose controllers and operators are simulated."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._commands import waiting
from ansible_collections.nimops.nim.plugins.module_utils._commands.takeover.backup import Backup
from ansible_collections.nimops.nim.plugins.module_utils._commands.takeover.handover import (
    Order,
    Takeover,
    describe,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import (
    KINDS as RESOURCES,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import (
    api_path,
    collection_path,
)

NIM = json.loads(Path(__file__).parents[5].joinpath("nimservice.json").read_text())
HOME = "nim-operator"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
LEASE = collection_path("coordination.k8s.io/v1", "leases", HOME, "a0715c6e.nvidia.com")
HASHED = {"nvidia.com/last-applied-hash": "1"}
MANAGED = {"app.kubernetes.io/managed-by": "k8s-nim-operator"}
KINDS = {
    "CustomResourceDefinition": ("apiextensions.k8s.io/v1", "customresourcedefinitions"),
    "ValidatingWebhookConfiguration": (
        "admissionregistration.k8s.io/v1",
        "validatingwebhookconfigurations",
    ),
    "MutatingWebhookConfiguration": (
        "admissionregistration.k8s.io/v1",
        "mutatingwebhookconfigurations",
    ),
    "ReplicaSet": ("apps/v1", "replicasets"),
    "Lease": ("coordination.k8s.io/v1", "leases"),
    "Namespace": ("v1", "namespaces"),
    "NemoThing": ("apps.nvidia.com/v1alpha1", "nemothings"),
}


OUR_STATUS = {"properties": {"status": {"properties": {"operatorVersion": {}}}}}
OUR_VERSION = {"name": "v1alpha1", "schema": {"openAPIV3Schema": OUR_STATUS}}


class Harness:
    """A cluster that creates pods of Deployments, and whose leading operator reconciles."""

    def __init__(self, cluster, lease):
        self.cluster = cluster
        self.lease = lease
        self.messages = []
        self.steps = 0
        self.now = 0.0
        self.is_image_missing = False
        self.is_idle = False
        self.also = lambda: None

    def step(self, seconds=0.0):
        self.steps += 1
        self.now += seconds
        self.also()
        for path, item in list(self.cluster.objects.items()):
            if item.get("kind") == "Deployment" and item["metadata"]["namespace"] == HOME:
                self._follow(path, item)
        self._lead()

    def _follow(self, path, deployment):
        name, count = deployment["metadata"]["name"], deployment["spec"]["replicas"]
        running = api_path("Pod", HOME, f"{name}-5d-x2x")
        is_ours = name.startswith("nimops")
        if count and running not in self.cluster.objects:
            owner = {"uid": deployment["metadata"]["uid"]}
            metadata = {"name": f"{name}-5d", "namespace": HOME, "ownerReferences": [owner]}
            path_of_set = collection_path("apps/v1", "replicasets", HOME, f"{name}-5d")
            owner = {
                "uid": self.cluster.put(path_of_set, {"metadata": metadata})["metadata"]["uid"]
            }
            labels = deployment["spec"]["selector"]["matchLabels"]
            waiting = {"reason": "ImagePullBackOff", "message": "no such image"}
            state = {"waiting": waiting} if is_ours and self.is_image_missing else {}
            metadata = {"name": f"{name}-5d-x2x", "namespace": HOME, "labels": labels}
            metadata["ownerReferences"] = [owner]
            pod = {"kind": "Pod", "apiVersion": "v1", "metadata": metadata}
            self.cluster.put(running, pod | {"status": {"containerStatuses": [{"state": state}]}})
        if not count:
            self.cluster.objects.pop(running, None)
        up = 0 if is_ours and self.is_image_missing else count
        status = {"updatedReplicas": up, "availableReplicas": up}
        if deployment.get("status") != status:
            self.cluster.put(path, deployment | {"status": status})

    def _lead(self):
        pods = [item for item in self.cluster.objects.values() if item.get("kind") == "Pod"]
        names = [item["metadata"]["name"] for item in pods]
        operators = [name for name in names if name.endswith("-5d-x2x")]
        lease = self.cluster.objects.get(LEASE)
        if lease is None and operators:
            lease = self.cluster.put(LEASE, self.lease(f"{operators[0]}_1"))
        holder = lease["spec"]["holderIdentity"].partition("_")[0] if lease else ""
        if holder in operators and holder.startswith("nimops") and not self.is_idle:
            for path, item in list(self.cluster.objects.items()):
                if "/nimservices/" in path:
                    status = (item.get("status") or {}) | {"operatorVersion": "0.1.0"}
                    self.cluster.put(path, item | {"status": status})

    def of(self, kind):
        return [item for item in self.cluster.objects.values() if item.get("kind") == kind]

    def replicas(self):
        return {x["metadata"]["name"]: x["spec"]["replicas"] for x in self.of("Deployment")}


@pytest.fixture
def harness(new_cluster, reference, lease, monkeypatch):
    """The reference operator with a webhook, a CRD and a NIMService that is Ready."""
    cluster = new_cluster()
    cluster.kinds |= KINDS
    cluster.cluster_scoped_kinds |= {
        "Namespace",
        "CustomResourceDefinition",
        "ValidatingWebhookConfiguration",
    }
    path = api_path("Deployment", HOME, "k8s-nim-operator")
    cluster.put(path, reference() | {"kind": "Deployment"})
    cluster.put(LEASE, lease("k8s-nim-operator-5d-x2x_1"))
    names = {"kind": "NIMService", "plural": "nimservices"}
    spec = {"group": "apps.nvidia.com", "names": names, "versions": [{"name": "v1alpha1"}]}
    cluster.put(f"{CRDS}/nimservices", {"metadata": {"name": "nimservices"}, "spec": spec})
    other = {"metadata": {"name": "others"}, "spec": spec | {"group": "example.com"}}
    cluster.put(f"{CRDS}/others", other)
    service = {"namespace": HOME, "name": "webhooks"}
    hook = {"clientConfig": {"service": service}, "rules": [{"apiGroups": ["apps.nvidia.com"]}]}
    cluster.put(f"{HOOKS}/nim", {"metadata": {"name": "nim"}, "webhooks": [hook]})
    status = {"state": "Ready", "operatorVersion": "0.0.9"}
    cluster.put(api_path("NIMService", "nim", "llm"), NIM | {"status": status})
    made = Harness(cluster, lease)
    made.step()
    clock = SimpleNamespace(monotonic=lambda: made.now, sleep=made.step)
    monkeypatch.setattr(waiting, "time", clock)
    yield made
    cluster.server.close()


@pytest.fixture
def handle(harness, tmp_path):
    """A Takeover in the simulated cluster."""

    def make(manifests=(), seconds=20, **order):
        client = Client(harness.cluster.kubeconfig(tmp_path))
        return Takeover(
            client, Order(list(manifests), seconds=seconds, **order), harness.messages.append
        )

    return make


@pytest.fixture
def manifests(ours):
    """The manifests of our operator."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}}
    names = {"kind": "NIMService", "plural": "nimservices"}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "nimservices"},
        "spec": {"group": "apps.nvidia.com", "names": names, "versions": [OUR_VERSION]},
    }
    return [ours(), namespace, crd]


def stop(installed):
    installed["spec"]["replicas"] = 0
    installed["metadata"]["annotations"] = {"nimops.nim/former-replicas": "2"}
    return installed


def test_take_over(harness, handle, manifests):
    harness.cluster.put(f"/api/v1/namespaces/{HOME}", {"metadata": {"name": HOME, "labels": {}}})
    there = handle(manifests)
    now = there.inspect()
    there.check(now)
    found = there.take_over(now)
    assert found.lost == []
    assert "1 of 1 resources are still Ready" in found.kept
    assert harness.replicas() == {"k8s-nim-operator": 0, "nimops-controller-manager": 1}
    assert harness.cluster.objects[f"{CRDS}/nimservices"]["spec"]["versions"] == [OUR_VERSION]
    assert f"{HOOKS}/nim" not in harness.cluster.objects
    namespace = harness.cluster.objects[f"/api/v1/namespaces/{HOME}"]
    assert namespace["metadata"]["labels"] == {}, "Helm's namespace is left alone"
    stopped = harness.cluster.objects[api_path("Deployment", HOME, "k8s-nim-operator")]
    assert stopped["metadata"]["annotations"] == {"nimops.nim/former-replicas": "1"}
    after = handle().inspect()
    assert after.is_taken_over
    assert "leader" in after.ours.describe()


def test_take_over_missing_namespace(harness, handle, manifests):
    there = handle(manifests)
    there.take_over(there.inspect())
    assert f"/api/v1/namespaces/{HOME}" in harness.cluster.objects


def test_take_over_missing_image(harness, handle, manifests):
    harness.is_image_missing = True
    there = handle(manifests, seconds=5)
    now = there.inspect()
    with pytest.raises(NimError, match=r"is not available after .*ImagePullBackOff: no such image"):
        there.take_over(now)
    assert harness.replicas()["k8s-nim-operator"] == 1
    assert f"{HOOKS}/nim" in harness.cluster.objects


def test_take_over_unreconciled_resource(harness, handle, manifests):
    harness.is_idle = True
    there = handle(manifests, seconds=5)
    with pytest.raises(NimError, match=r"has not reconciled after .* NIMService nim/llm"):
        there.take_over(there.inspect())


def test_take_over_loss(harness, handle, manifests, monkeypatch):
    there = handle(manifests, seconds=5)
    now = there.inspect()
    path = api_path("NIMService", "nim", "llm")
    stop_pods = there._release_lease

    def break_service(installation):
        harness.cluster.objects[path]["status"]["state"] = "NotReady"
        stop_pods(installation)

    monkeypatch.setattr(there, "_release_lease", break_service)
    assert there.take_over(now).lost == ["NIMService nim/llm: was Ready, now NotReady"]


def test_check_refused(harness, handle, manifests, ours):
    names = {"kind": "NemoThing", "plural": "nemothings"}
    spec = {"group": "apps.nvidia.com", "names": names, "versions": [{"name": "v1alpha1"}]}
    harness.cluster.put(f"{CRDS}/nemo", {"metadata": {"name": "nemo"}, "spec": spec})
    there = handle(manifests)
    there.check(there.inspect())
    path = "/apis/apps.nvidia.com/v1alpha1/namespaces/nim/nemothings/g"
    harness.cluster.put(path, {"metadata": {"name": "g", "namespace": "nim"}})
    with pytest.raises(NimError, match="the cluster has 1 NemoThing, which"):
        there.check(there.inspect())


@pytest.mark.parametrize("namespace", ["other", ""])
def test_check_other_namespace(harness, handle, ours, namespace):
    deployment = ours(namespace) if namespace else ours()
    if not namespace:
        del deployment["metadata"]["namespace"]
    there = handle([deployment])
    with pytest.raises(NimError, match=f"namespace is {namespace or 'not set'}, the reference"):
        there.check(there.inspect())


def test_check_without_manifests(harness, handle, reference):
    there = handle()
    with pytest.raises(NimError, match="manifests: missing"):
        there.check(there.inspect())
    there = handle([reference()])
    with pytest.raises(NimError, match="manifests: have no Deployment of nimops"):
        there.check(there.inspect())


def test_check_without_version(harness, handle, ours):
    deployment = ours()
    del deployment["spec"]["template"]["spec"]["containers"][0]["env"]
    there = handle([deployment])
    with pytest.raises(NimError, match="does not set OPERATOR_VERSION"):
        there.check(there.inspect())


@pytest.mark.parametrize(
    ("watched", "messages"), [("a, b", "WATCH_NAMESPACE leaves out nim"), ("a,nim", ""), ("", "")]
)
def test_check_unwatched_namespaces(harness, handle, manifests, watched, messages):
    deployment = manifests[0]
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    container["env"].append({"name": "WATCH_NAMESPACE", "value": watched})
    there = handle(manifests)
    if not messages:
        there.check(there.inspect())
        return
    with pytest.raises(NimError, match=messages):
        there.check(there.inspect())


def test_check_olm(harness, handle, manifests):
    path = api_path("Deployment", HOME, "k8s-nim-operator")
    owner = {"kind": "ClusterServiceVersion", "name": "nim.v3", "uid": "1"}
    harness.cluster.objects[path]["metadata"]["ownerReferences"] = [owner]
    there = handle(manifests)
    with pytest.raises(NimError, match=r"belongs to OLM's ClusterServiceVersion nim\.v3"):
        there.check(there.inspect())


def test_check_without_reference(harness, handle):
    del harness.cluster.objects[api_path("Deployment", HOME, "k8s-nim-operator")]
    there = handle()
    now = there.inspect()
    assert now.webhooks == []
    with pytest.raises(NimError, match="no other operator to take over from"):
        there.check(now)
    with pytest.raises(NimError, match="the reference operator is not installed"):
        there.check_return(now)


def test_take_over_installed_operator(harness, handle, ours):
    path = api_path("Deployment", HOME, "nimops-controller-manager")
    harness.cluster.put(path, stop(ours()))
    there = handle()
    there.take_over(there.inspect())
    assert harness.replicas() == {"k8s-nim-operator": 0, "nimops-controller-manager": 2}
    assert harness.cluster.objects[path]["metadata"]["annotations"] == {}


def test_take_over_active_operator(harness, handle, manifests):
    there = handle(manifests)
    there.take_over(there.inspect())
    harness.is_idle = True  # a leader does not reconcile unchanged resources again
    again = handle(manifests, seconds=5)
    again.take_over(again.inspect())


@pytest.fixture
def taken(harness, handle, manifests):
    """Runs a takeover; returns the backup."""
    there = handle(manifests)
    now = there.inspect()
    saved = there.backup(now)
    there.take_over(now)
    return copy.deepcopy(saved)


def put(harness, kind, name, **annotations):
    metadata = {"name": name, "namespace": "nim", "labels": MANAGED, "annotations": annotations}
    item = {"kind": kind, "metadata": metadata}
    harness.cluster.put(api_path(kind, "nim", name), item)


def test_give_back(harness, handle, taken):
    put(harness, "ResourceClaimTemplate", "theirs", **HASHED)
    put(harness, "ResourceClaimTemplate", "idle")
    put(harness, "InferencePool", "pool")
    put(harness, "ComputeDomain", "domain")
    back = handle()
    now = back.inspect()
    back.check_return(now)
    assert [text.split(":")[0] for text in back.obstacles().describe()] == [
        "ComputeDomain nim/domain"
    ]
    found = back.give_back(now, taken)
    assert found.lost == []
    assert harness.replicas() == {"k8s-nim-operator": 1, "nimops-controller-manager": 0}
    left = {item["metadata"]["name"] for item in harness.of("ResourceClaimTemplate")}
    assert left == {"theirs"}
    assert harness.of("InferencePool") == []
    assert len(harness.of("ComputeDomain")) == 1
    assert f"{HOOKS}/nim" in harness.cluster.objects
    assert harness.cluster.objects[LEASE]["spec"]["holderIdentity"].startswith("k8s-nim-operator")
    definition = harness.cluster.objects[f"{CRDS}/nimservices"]
    assert definition["spec"]["names"]["plural"] == "nimservices"


def test_give_back_gpu_finalizers(harness, handle, taken):
    """NVIDIA's operators do not know them; those of other kinds are the same there."""
    finalizers = {
        "ClusterPolicy": "finalizer.clusterpolicy.nvidia.com",
        "NVIDIADriver": "finalizer.nvidiadriver.nvidia.com",
        "NIMService": "finalizer.nimservice.apps.nvidia.com",
    }
    for kind, name in finalizers.items():
        metadata = {"name": "x", "finalizers": [name, "example.com/a"]}
        metadata |= {"namespace": "nim"} if kind == "NIMService" else {}
        head = {"apiVersion": RESOURCES[kind].version, "kind": kind, "spec": {}}
        item = head | {"metadata": metadata, "status": {"operatorVersion": "0.1.0"}}
        harness.cluster.put(api_path(kind, "nim", "x"), item)
    back = handle()
    assert len(back.foreign_finalizers()) == 2
    back.give_back(back.inspect(), taken)
    left = {
        kind: harness.cluster.objects[api_path(kind, "nim", "x")]["metadata"]["finalizers"]
        for kind in finalizers
    }
    assert left == {
        "ClusterPolicy": ["example.com/a"],
        "NVIDIADriver": ["example.com/a"],
        "NIMService": [finalizers["NIMService"], "example.com/a"],
    }


def test_give_back_without_backup(harness, handle, taken):
    back = handle()
    back.give_back(back.inspect(), Backup())
    assert harness.cluster.objects[f"{CRDS}/nimservices"]["spec"]["versions"] == [OUR_VERSION]
    assert f"{HOOKS}/nim" not in harness.cluster.objects


def test_take_over_after_return(harness, handle, taken, manifests):
    back = handle()
    back.give_back(back.inspect(), taken)
    bare = handle()
    with pytest.raises(NimError, match=r"has the reference operator's CRDs of NIMService, which"):
        bare.check(bare.inspect())
    again = handle(manifests)
    now = again.inspect()
    again.check(now)
    assert again.take_over(now).lost == []
    found = handle().inspect()
    assert found.is_taken_over
    assert found.foreign_definitions == {}


def test_is_taken_over_with_reference_crds(harness, handle, taken):
    definition = taken.definitions[0]
    harness.cluster.put(f"{CRDS}/nimservices", definition)
    found = handle().inspect()
    assert found.foreign_definitions == {"nimservices": "NIMService"}
    assert not found.is_taken_over


def test_version_hidden_by_reference_crds(harness, handle, taken, manifests):
    """A stored version from the last takeover is visible again with our CRDs."""
    back = handle()
    back.give_back(back.inspect(), taken)
    harness.cluster.server.requests.clear()
    path, hidden = api_path("NIMService", "nim", "llm"), handle(manifests)
    now = hidden.inspect()
    del now.resources[0]["status"]["operatorVersion"]
    hidden.take_over(now)
    written = [
        asked.path
        for asked in harness.cluster.server.requests
        if asked.method == "PATCH" and asked.path.endswith(("/nimservices", "-manager", "/status"))
    ]
    assert [text.rpartition("/")[2] for text in written][:3] == [
        "nimservices",
        "status",
        "nimops-controller-manager",
    ]
    assert written[1] == f"{path}/status"


def test_take_over_after_dropped_status(harness, handle, taken, manifests):
    """An active operator does not reconcile again only because its CRDs are back."""
    harness.cluster.put(f"{CRDS}/nimservices", taken.definitions[0])
    del harness.cluster.objects[api_path("NIMService", "nim", "llm")]["status"]["operatorVersion"]
    harness.is_idle = True

    def wake():
        harness.is_idle = harness.is_idle and harness.replicas()["nimops-controller-manager"] > 0

    harness.also = wake
    again = handle(manifests, seconds=2)
    again.take_over(again.inspect())
    assert handle().inspect().is_taken_over


def test_take_over_ends_contest(harness, handle, manifests):
    path = api_path("NIMService", "nim", "llm")
    contested, ready = {"type": "Contested", "status": "True"}, {"type": "Ready", "status": "True"}
    harness.cluster.objects[path]["status"]["conditions"] = [contested, ready]
    there = handle(manifests)
    there.take_over(there.inspect())
    assert harness.cluster.objects[path]["status"]["conditions"] == [ready]


def test_give_back_waits_for_reference(harness, handle, taken):
    """It compares after workloads have the reference's hashes again, and reports its panics."""
    path = api_path("Deployment", "nim", "llm")
    metadata = {"name": "llm", "namespace": "nim", "labels": MANAGED, "uid": "d"}
    template = {"spec": {"containers": [{"name": "llm-ctr"}]}}
    given = {"kind": "Deployment", "metadata": metadata, "spec": {"template": template}}
    harness.cluster.put(path, given)
    before = harness.steps

    def reconcile_late():
        reference = harness.cluster.objects.get(api_path("Pod", HOME, "k8s-nim-operator-5d-x2x"))
        if harness.steps == before + 30:
            reference["status"]["containerStatuses"] = [{"state": {}, "restartCount": 2}]
            hashed = metadata | {"annotations": HASHED}
            harness.cluster.put(path, given | {"metadata": hashed, "spec": {"template": {}}})

    harness.also = reconcile_late
    back = handle(seconds=60)
    found = back.give_back(back.inspect(), taken)
    assert found.lost == [
        "Pod nim-operator/k8s-nim-operator-5d-x2x: the reference operator has restarted 2 times;"
        " see kubectl logs --previous"
    ]
    assert "0 of 1 workloads have the same pod templates" in found.kept


def test_check_return_without_ours(harness, handle):
    back = handle()
    with pytest.raises(NimError, match="our operator is not installed"):
        back.check_return(back.inspect())


def test_describe(harness, handle, manifests):
    there = handle(manifests)
    now = there.inspect()
    lines = describe(now, there.preview(now)).splitlines()
    assert lines[0].startswith("# the reference operator v3.0.1: Deployment nim-operator/k8s")
    assert lines[1] == "# ValidatingWebhookConfiguration nim"
    assert lines[-1].endswith("to create")


def test_check_unserved_kinds(harness, handle, manifests):
    there = handle([*manifests, {"apiVersion": "x/v1", "kind": "Y", "metadata": {"name": "y"}}])
    with pytest.raises(NimError, match="manifests: the cluster does not serve Y of x/v1"):
        there.take_over(there.inspect())
