# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Writes that the operator's account may make, as real requests with its token and permissions.

`test_stolen_token.py` has the forbidden writes.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import (
    KINDS,
    api_path,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.metadata import (
    FIELD_MANAGER,
    owner_metadata,
    owner_reference,
)
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_names
from nimops_account import NAMESPACE as HOME
from nimops_account import POLICY
from nimops_harness.cluster import Api, NotFoundError, kubectl, path_of
from nimops_harness.progress import wait_until

Manifest = dict[str, Any]

FOLDER = Path(__file__).parent
GOLDEN = FOLDER.parent / "golden/samples"
NAMESPACE = "nimops-admission-account"
SPECS: dict[str, Manifest] = {
    **yaml.safe_load((FOLDER / "gpu.yaml").read_text()),
    **yaml.safe_load((FOLDER / "nemo.yaml").read_text()),
    "NIMService": {"image": {"repository": "a", "tag": "b"}, "storage": {"emptyDir": {}}},
    "NIMBuild": {"image": {"repository": "a", "tag": "b"}, "nimCache": {"name": "a"}},
    "NIMCache": {
        "source": {"ngc": {"modelPuller": "a/a:1", "pullSecret": "a", "authSecret": "a"}},
        "storage": {"pvc": {"create": True, "size": "1Gi"}},
    },
    "NIMPipeline": {"services": []},
}
POLICY_KINDS = ("validatingadmissionpolicies", "validatingadmissionpolicybindings")
STACK = "gpu-operator"
"""The namespace of the GPU stack in the golden files; ours is that of the operator."""

SHARED = {"nim-cache-sa", "nim-cache-role", "nim-cache-rolebinding"}
MARK = {"app.kubernetes.io/managed-by": "k8s-nim-operator"}
POD = {"containers": [{"name": "a", "image": "a"}]}


def make(kind: str, name: str, namespace: str = NAMESPACE, **fields: Any) -> Manifest:
    metadata = {"name": name} | ({"namespace": namespace} if KINDS[kind].is_namespaced else {})
    metadata |= fields.pop("metadata", {})
    return {"apiVersion": KINDS[kind].version, "kind": kind, "metadata": metadata, **fields}


def owned(item: Manifest, kind: str, home: str = NAMESPACE) -> Manifest:
    """The object with the metadata of an owner of this kind, which need not exist."""
    whose = make(kind, "mine", home, metadata={"uid": "11111111-1111-1111-1111-111111111111"})
    marks = owner_metadata(whose, KINDS[item["kind"]], item["metadata"].get("namespace", ""))
    given = item["metadata"].get("annotations") or {}
    more = {"annotations": given | marks["annotations"]} if "annotations" in marks else marks
    return {**item, "metadata": item["metadata"] | more}


def load_children() -> list[Manifest]:
    """All objects rendered from the samples, with their namespaces here."""
    text = "---\n".join(file.read_text() for file in sorted(GOLDEN.rglob("*.yaml")))
    found = []
    for item in yaml.safe_load_all(text):
        item["metadata"].pop("ownerReferences", None)
        if item["kind"] == "Secret":
            item.pop("data")  # filled in by the task
        plain = json.dumps(item)
        for old, new in ((STACK, HOME), ("nim", NAMESPACE)):
            plain = plain.replace(f'"namespace": "{old}"', f'"namespace": "{new}"')
        found.append(json.loads(plain))
    return found


CHILDREN = [
    *load_children(),
    make("Pod", "a", spec=POD),
    make("Job", "a", spec={"template": {"spec": {**POD, "restartPolicy": "Never"}}}),
]
"""The last two are kinds that no sample creates."""


def path(item: Manifest) -> str:
    metadata = item["metadata"]
    return api_path(item["kind"], metadata.get("namespace"), metadata["name"])


def owner_of(item: Manifest) -> str:
    """The kind of resource that owns a child."""
    if item["metadata"].get("namespace") in (HOME, None):
        return "ClusterPolicy"
    return "NIMPipeline" if item["kind"] == "NIMService" else "NIMService"


def identify(item: Manifest) -> str:
    return f"{item['kind']}-{item['metadata']['name']}"


@pytest.fixture(scope="module", autouse=True)
def namespace(api_server: Any) -> Iterator[None]:
    kubectl("create", "namespace", NAMESPACE)
    yield
    kubectl("delete", "namespace", NAMESPACE)


@pytest.fixture
def store(admin: Api) -> Iterator[Callable[[Manifest], Manifest]]:
    """Stores objects as an administrator, and removes them."""
    stored: list[str] = []

    def put(item: Manifest) -> Manifest:
        place = f"{path(item)}?fieldManager=somebody"
        stored.append(path(item))
        return admin.request("PATCH", place, item, "application/apply-patch+yaml")

    yield put
    for place in reversed(stored):
        with contextlib.suppress(NotFoundError):
            admin.patch(place, {"metadata": {"finalizers": None}})
            admin.request("DELETE", place)


@pytest.fixture(scope="module")
def served(admin: Api) -> set[str]:
    """The kinds that the API server serves: the sandbox lacks some."""
    found = set()
    for version in {item.version for item in KINDS.values()}:
        group = admin.find(f"/{'apis' if '/' in version else 'api'}/{version}") or {}
        names = {item["name"] for item in group.get("resources") or []}
        found |= {
            kind for kind, item in KINDS.items() if item.version == version and item.plural in names
        }
    return found


@pytest.mark.parametrize("item", CHILDREN, ids=identify)
def test_child_with_and_without_owner(account, served, store, item) -> None:
    if item["kind"] not in served:
        pytest.skip(f"the API server has no {item['kind']}")
    if "ResourceClaimTemplate" not in served and '"resourceClaims"' in json.dumps(item):
        pytest.skip("the API server does not serve DRA")
    if role := item.get("roleRef"):
        is_bound = {"kind": role["kind"], "name": role["name"]}.items()
        [bound] = [
            child
            for child in CHILDREN
            if is_bound <= {"kind": child["kind"], "name": child["metadata"]["name"]}.items()
        ]
        store(bound)
    if item["metadata"]["name"] not in SHARED:
        assert POLICY in account.apply(path(item), item)
        item = owned(item, owner_of(item))
    assert account.apply(path(item), item) == ""


@pytest.mark.parametrize("kind", kind_names())
def test_owner_our_kinds(account, kind) -> None:
    item = make("ConfigMap", "a")
    marked = owned(item, kind)
    assert account.apply(path(item), marked) == ""
    # An owner is not necessarily the controller.
    marked["metadata"]["ownerReferences"][0]["controller"] = False
    assert POLICY in account.apply(path(item), marked)


@pytest.mark.parametrize(
    "change",
    [{"kind": "Deployment"}, {"apiVersion": "apps.nvidia.com/v2"}, {"apiVersion": "apps/v1"}],
    ids=str,
)
def test_owner_foreign_kind(account, change) -> None:
    item = owned(make("ConfigMap", "a"), "NIMService")
    item["metadata"]["ownerReferences"][0] |= change
    assert POLICY in account.apply(path(item), item)


def test_owner_annotation_other_namespace(account) -> None:
    far = owned(make("ConfigMap", "a"), "NIMService", "elsewhere")
    assert "ownerReferences" not in far["metadata"]
    assert account.apply(path(far), far) == ""
    far["metadata"]["annotations"]["operator-sdk/primary-resource-type"] = "Deployment.apps"
    assert POLICY in account.apply(path(far), far)


def test_own_namespace_objects(account) -> None:
    item = make("ConfigMap", "a", HOME)
    assert account.apply(path(item), owned(item, "NVIDIADriver")) == ""
    for marked in (owned(item, "NIMService", HOME), owned(item, "NIMService")):
        answer = account.apply(path(item), marked)
        assert POLICY in answer
        assert "use a namespace other than the operator's" in answer


def test_adoption_from_reference(account, store) -> None:
    """As `plan.adopt`: first the field managers, then an apply that also sets the owner."""
    item = make("ConfigMap", "handed", data={"a": "b"}, metadata={"labels": MARK})
    store(item)
    fields = {
        "manager": FIELD_MANAGER,
        "operation": "Apply",
        "apiVersion": "v1",
        "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {"f:a": {}}},
    }
    assert account.patch_merge(path(item), {"metadata": {"managedFields": [fields]}}) == ""
    changed = {**item, "data": {"a": "c"}}
    assert account.apply(path(item), owned(changed, "NIMCache")) == ""
    assert POLICY in account.apply(path(item), changed)
    assert POLICY in account.refuses("DELETE", path(item))


SCC_RULE = {
    "apiGroups": ["security.openshift.io"],
    "resources": ["securitycontextconstraints"],
    "resourceNames": ["nonroot"],
    "verbs": ["use"],
}


@pytest.mark.parametrize(
    ("labels", "rule", "account_name", "is_deleted"),
    [
        pytest.param(MARK, SCC_RULE, "nim-cache-sa", True, id="usual"),
        pytest.param({}, SCC_RULE, "nim-cache-sa", False, id="without-label"),
        pytest.param(
            MARK, SCC_RULE | {"resourceNames": ["privileged"]}, "default", False, id="unusual"
        ),
    ],
)
def test_shared_deletion(account, store, labels, rule, account_name, is_deleted) -> None:
    """As `find_shared_leftovers`: what NIMCaches share on OpenShift only."""
    group, metadata = "rbac.authorization.k8s.io", {"labels": labels}
    role = make("Role", "nim-cache-role", metadata=metadata, rules=[rule])
    binding = make(
        "RoleBinding",
        "nim-cache-rolebinding",
        metadata=metadata,
        roleRef={"apiGroup": group, "kind": "Role", "name": "nim-cache-role"},
        subjects=[{"kind": "ServiceAccount", "name": account_name, "namespace": NAMESPACE}],
    )
    for item in (role, binding):
        store(item)
        answer = account.refuses("DELETE", path(item))
        assert answer == "" if is_deleted else POLICY in answer
    shared = make("ServiceAccount", "nim-cache-sa", metadata=metadata)
    store(shared)
    assert POLICY in account.refuses("DELETE", path(shared))


def test_owned_object_changes(account, store) -> None:
    # The owner must exist, or the garbage collector deletes the object first.
    service = store(make("NIMService", "mine", spec=SPECS["NIMService"]))
    reference = owner_reference(service)
    item = make("ConfigMap", "a", data={"a": "b"}, metadata={"ownerReferences": [reference]})
    store(item)
    assert account.patch_merge(path(item), {"data": {"a": "c"}}) == ""
    for owners in ([], [reference | {"controller": False}], [reference | {"kind": "Other"}]):
        change = {"metadata": {"ownerReferences": owners}}
        assert POLICY in account.patch_merge(path(item), change)
    assert account.refuses("DELETE", path(item)) == ""


def test_claim_that_outlives_its_cache(account, store) -> None:
    """As `claim_fate.py`: it loses its owner, and the next NIMCache takes it."""
    cache = store(make("NIMCache", "mine", spec=SPECS["NIMCache"]))
    reference = owner_reference(cache)
    size = {"requests": {"storage": "1Gi"}}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": size}
    item = make("PersistentVolumeClaim", "a", spec=spec)
    item["metadata"] |= {"ownerReferences": [reference], "labels": MARK}
    store(item)
    record: Manifest = {"annotations": {"nimops.nim/cached-model": "{}"}}
    left = {"metadata": record | {"ownerReferences": None}}
    for change in (
        {"metadata": {"ownerReferences": None}},
        {"metadata": left["metadata"] | {"labels": {"a": "b"}}},
        left | {"spec": {"resources": {"requests": {"storage": "2Gi"}}}},
        {"metadata": record | {"ownerReferences": [reference | {"controller": False}]}},
    ):
        assert account.patch_merge(path(item), change) != ""
    assert account.patch_merge(path(item), left) == ""
    kept = make("PersistentVolumeClaim", "b", spec=spec, metadata=record | {"labels": MARK})
    store(kept)
    assert POLICY in account.refuses("DELETE", path(kept))
    taken = {"annotations": {"nimops.nim/cached-model": None}, "ownerReferences": [reference]}
    assert account.patch_merge(path(kept), {"metadata": taken}) == ""
    other = make("ConfigMap", "a", metadata={"ownerReferences": [reference], "labels": MARK})
    store(other)
    assert POLICY in account.patch_merge(path(other), left)


@pytest.mark.parametrize("kind", kind_names())
def test_custom_resource_metadata_and_status(account, store, kind) -> None:
    item = store(make(kind, "account", spec=SPECS[kind]))
    notes = {"annotations": {"a": "b"}, "finalizers": ["nimops.nim/test"]}
    assert account.patch_merge(path(item), {"metadata": notes}) == ""
    assert POLICY not in account.patch_merge(f"{path(item)}/status", {"status": {"state": "ready"}})
    # But not the owner.
    label = {"metadata": {"labels": MARK}}
    reference = owned(make("ConfigMap", "a"), "ClusterPolicy")["metadata"]["ownerReferences"]
    owners = {"metadata": {"ownerReferences": reference}}
    for change in (label, owners):
        assert POLICY in account.patch_merge(path(item), change)
    assert account.refuses("DELETE", path(item))


def test_service_spec_of_pipeline(account, store) -> None:
    item = store(make("NIMService", "account", spec=SPECS["NIMService"]))
    change = {"spec": {"replicas": 2}}
    assert POLICY in account.patch_merge(path(item), change)
    pipeline = store(make("NIMPipeline", "account", spec=SPECS["NIMPipeline"]))
    metadata = {"ownerReferences": [owner_reference(pipeline)]}
    store(make("NIMService", "account", spec=SPECS["NIMService"], metadata=metadata))
    assert account.patch_merge(path(item), change) == ""
    assert account.refuses("DELETE", path(item)) == ""


def test_evictions_events_and_leases(account, store) -> None:
    pod = store(make("Pod", "account", spec=POD))
    eviction = {"metadata": {"name": "account", "namespace": NAMESPACE}}
    eviction |= {"apiVersion": "policy/v1", "kind": "Eviction"}
    assert account.refuses("POST", f"{path(pod)}/eviction", eviction) == ""
    event = {"metadata": {"name": "a"}, "involvedObject": {"namespace": "kube-system"}}
    assert account.refuses("POST", path_of("Event", "kube-system"), event) == ""
    leases = path_of("Lease", HOME)
    lease = {"metadata": {"name": "a0715c6e.nvidia.com"}}
    assert account.refuses("POST", leases, lease) == ""
    assert "may create only" in account.refuses("POST", leases, {"metadata": {"name": "other"}})
    others = path_of("Lease", NAMESPACE)
    assert "may create only" in account.refuses("POST", others, lease)


def test_node_labels_and_cordon(account, admin) -> None:
    [node, *_] = admin.get("/api/v1/nodes")["items"]
    change = {"metadata": {"labels": {"a": "b"}}, "spec": {"unschedulable": True}}
    assert account.patch_merge(f"/api/v1/nodes/{node['metadata']['name']}", change) == ""


def test_driver_pods_replaced(account, store) -> None:
    labels = {"labels": {"app.kubernetes.io/component": "nvidia-driver"}}
    driver = store(make("Pod", "driver", HOME, spec=POD, metadata=labels))
    other = store(make("Pod", "other", HOME, spec=POD))
    assert account.refuses("DELETE", path(driver)) == ""
    assert POLICY in account.refuses("DELETE", path(other))


def test_namespace_pod_security_labels(account) -> None:
    good = {"labels": {"pod-security.kubernetes.io/enforce": "privileged"}}
    place = f"/api/v1/namespaces/{HOME}"
    assert account.patch_merge(place, {"metadata": good}) == ""
    for change in ({"labels": {"a": "b"}}, {"annotations": {"a": "b"}}):
        assert POLICY in account.patch_merge(place, {"metadata": change})
    system = "/api/v1/namespaces/kube-system"
    assert POLICY in account.patch_merge(system, {"metadata": good})


@pytest.fixture
def more_power(account) -> Iterator[None]:
    """Rules on pods and tokens in the namespace that none of our roles grants."""
    group = "rbac.authorization.k8s.io"
    parts = ["pods/exec", "pods/attach", "pods/ephemeralcontainers", "serviceaccounts/token"]
    rules = [{"apiGroups": [""], "resources": parts, "verbs": ["create", "update", "patch"]}]
    subject = {"kind": "ServiceAccount", "name": "nimops-controller-manager", "namespace": HOME}
    items = [
        make("Role", "more", rules=rules),
        make(
            "RoleBinding",
            "more",
            roleRef={"apiGroup": group, "kind": "Role", "name": "more"},
            subjects=[subject],
        ),
    ]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    kubectl("apply", "-f", "-", stdin=text)
    yield
    kubectl("delete", "-f", "-", stdin=text)


@pytest.mark.usefixtures("more_power")
def test_other_role_grants_nothing(account, store) -> None:
    place = path(store(make("Pod", "theirs", spec=POD)))
    token = f"{path_of('ServiceAccount', NAMESPACE, 'default')}/token"
    debug = {"spec": {"ephemeralContainers": [{"name": "b", "image": "b"}]}}
    for ask in (
        lambda: account.refuses("POST", token, {"spec": {"audiences": []}}),
        lambda: account.refuses("POST", f"{place}/exec?command=id", {}, dry=False),
        lambda: account.refuses("POST", f"{place}/attach", {}, dry=False),
        lambda: account.patch_merge(f"{place}/ephemeralcontainers", debug),
    ):
        # The authorizer may need a moment.
        deadline = time.monotonic() + 10
        while POLICY not in (answer := ask()):
            assert time.monotonic() < deadline, answer
            time.sleep(0.1)


def test_other_accounts_unlimited(account, admin) -> None:
    place = f"{path_of('ConfigMap', 'kube-system')}?dryRun=All"
    body = {"metadata": {"name": "a"}}
    assert POLICY in account.refuses("POST", place, body)
    assert admin.request("POST", place, body)


SECOND = "nimops-admission-second"
"""The namespace and the account of a second installation, and a part of its policy's name."""
AS_SECOND = ("--as", f"system:serviceaccount:{SECOND}:{SECOND}", "--as-group", "system:masters")


def try_write(*arguments: str) -> str:
    """Try to create a ConfigMap, as a dry run; the reason if it is refused."""
    command = ["kubectl", "-n", NAMESPACE, "create", "configmap", "a", "--dry-run=server"]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


def count_account_reads() -> float:
    """How many requests for one ServiceAccount the API server has answered."""
    text = kubectl("get", "--raw", "/metrics")
    wanted = ('resource="serviceaccounts"', 'verb="GET"', 'scope="resource"')
    return sum(
        float(line.rpartition(" ")[2])
        for line in text.splitlines()
        if line.startswith("apiserver_request_total{") and all(part in line for part in wanted)
    )


@pytest.fixture
def second_account(account) -> Iterator[None]:
    """A second installation's account, limited by its own policy."""
    kubectl("create", "namespace", SECOND)
    live = (f"{kind}/nimops-{POLICY}" for kind in POLICY_KINDS)
    items = json.loads(kubectl("get", *live, "-o", "json"))["items"]
    for item in items:
        item["metadata"] = {"name": SECOND}
    [labels] = [item["spec"]["paramRef"]["selector"]["matchLabels"] for item in items[1:]]
    items[1]["spec"]["policyName"] = SECOND
    items[1]["spec"]["paramRef"]["namespace"] = SECOND
    items.append(make("ServiceAccount", SECOND, SECOND, metadata={"labels": labels}))
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    kubectl("apply", "-f", "-", stdin=text)
    wait_until(lambda: SECOND in try_write(*AS_SECOND), "the second policy", 120)
    yield
    kubectl("delete", "--ignore-not-found", "-f", "-", stdin=text)
    kubectl("delete", "namespace", SECOND)


@pytest.mark.usefixtures("second_account")
def test_missing_account_costs_no_request() -> None:
    kubectl("-n", SECOND, "delete", "serviceaccount", SECOND)
    wait_until(lambda: not try_write(*AS_SECOND), "the deletion of the account", 30)
    before, writes = count_account_reads(), 20
    assert [try_write() for _ in range(writes)] == [""] * writes
    # Controllers read accounts as well.
    assert count_account_reads() - before < writes / 2
