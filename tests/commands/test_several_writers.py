# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Objects with several writers: a Role shared by passes, and objects of the reference operator."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._cluster.live import LiveCluster
from ansible_collections.nimops.nim.plugins.module_utils._engine import steps
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import api_path
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import Outcome
from ansible_collections.nimops.nim.plugins.module_utils._engine.kind import AnyKind
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._engine.plan import Plan
from ansible_collections.nimops.nim.plugins.module_utils._engine.reconcile import reconcile
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_of
from nimops_harness.cluster import kubectl

NIMCACHE = kind_of({"kind": "NIMCache", "apiVersion": "apps.nvidia.com/v1alpha1"})
BOTH = ["anyuid", "nonroot"]

Json = dict[str, Any]


def make_cache(namespace: str, name: str, *, with_proxy: bool) -> Json:
    """A NIMCache in the cluster; one with a proxy needs the SCC `anyuid`."""
    spec: Json = {
        "source": {"hf": {"endpoint": "https://127.0.0.1:9", "namespace": "n", "modelName": "m",
                          "modelPuller": "127.0.0.1:9/puller:1", "pullSecret": "s",
                          "authSecret": "s"}},
        "storage": {"pvc": {"create": True, "size": "1Gi", "volumeAccessMode": "ReadWriteOnce"}},
    }  # fmt: skip
    if with_proxy:
        spec["proxy"] = {"httpsProxy": "http://127.0.0.1:9"}
    head = {"apiVersion": "apps.nvidia.com/v1alpha1", "kind": "NIMCache"}
    body = {**head, "metadata": {"name": name, "namespace": namespace}, "spec": spec}
    made = kubectl("create", "-o", "json", "-f", "-", stdin=json.dumps(body))
    return dict(json.loads(made))


def granted(namespace: str) -> list[str]:
    role = json.loads(kubectl("-n", namespace, "get", "role", "nim-cache-role", "-o", "json"))
    return sorted(role["rules"][0]["resourceNames"])


def plan_of(kind: AnyKind, resource: Json, cluster: LiveCluster) -> Plan:
    """The pending writes of a pass."""
    answers = steps.observe(kind, resource, cluster)
    return steps.plan(kind, resource, Observed(answers))[1]


class GatheredCluster(LiveCluster):
    """The first pass writes when all others have read as well."""

    def __init__(self, client: Client, others: Barrier) -> None:
        super().__init__(client)
        self.others = others

    def write(self, plan: Plan) -> Outcome:
        self.others.wait(60)
        return super().write(plan)


def settle(resource: Json, others: Barrier | None = None) -> int:
    """Run passes like the runtime until none was raced; returns their number."""
    for count in range(1, 30):
        first = GatheredCluster(Client(), others) if others and count == 1 else None
        with first or LiveCluster(Client()) as cluster:
            latest = cluster.refetch(resource) or resource
            if not reconcile(kind_of(resource), latest, cluster).outcome.raced:
                return count
    raise AssertionError(f"{resource['metadata']['name']} is raced again and again")


@pytest.fixture
def role_rules(namespace: str, request: Any) -> Any:
    """The Role before the test: absent, or with rules that every cache must change."""
    kubectl("-n", namespace, "delete", "nimcaches", "--all")
    kubectl("-n", namespace, "delete", "role", "nim-cache-role", "--ignore-not-found")
    if request.param:
        labels = {"app.kubernetes.io/managed-by": "k8s-nim-operator"}
        metadata = {"name": "nim-cache-role", "namespace": namespace, "labels": labels}
        api = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": metadata}
        kubectl("create", "-f", "-", stdin=json.dumps({**api, "rules": request.param}))


@pytest.mark.parametrize(
    "role_rules", [None, [{"apiGroups": [""], "resources": ["x"], "verbs": ["get"]}]], indirect=True
)
@pytest.mark.usefixtures("openshift", "role_rules")
def test_role_rule_added_since_read(namespace: str) -> None:
    slow = make_cache(namespace, "slow", with_proxy=False)
    fast = make_cache(namespace, "fast", with_proxy=True)
    with LiveCluster(Client()) as cluster:
        outdated = plan_of(NIMCACHE, slow, cluster)
        settle(fast)
        assert granted(namespace) == BOTH
        outcome = cluster.write(outdated)
        assert outcome.raced
        assert granted(namespace) == BOTH
        assert not outcome.refusals
    settle(slow)
    assert granted(namespace) == BOTH


@pytest.mark.parametrize("role_rules", [None], indirect=True)
@pytest.mark.usefixtures("openshift", "role_rules")
def test_twenty_caches_concurrently(namespace: str) -> None:
    caches = [make_cache(namespace, f"cache-{index}", with_proxy=index == 7) for index in range(20)]

    others = Barrier(len(caches))
    with ThreadPoolExecutor(len(caches)) as pool:
        passes = list(pool.map(settle, caches, [others] * len(caches)))
    assert max(passes) > 1, "no pass was raced, so this shows nothing"
    assert granted(namespace) == BOTH


def test_reference_duplicates_restart_nothing(namespace: str) -> None:
    """An update may list a variable or a pull secret twice; a server-side apply may not."""
    image = {"repository": "127.0.0.1:9/nim", "tag": "1", "pullSecrets": ["pull", "pull"]}
    env = [{"name": "A", "value": "1"}, {"name": "A", "value": "1"}]
    spec = {"image": image, "authSecret": "s", "storage": {"emptyDir": {}}, "env": env}
    head = {"apiVersion": "apps.nvidia.com/v1alpha1", "kind": "NIMService"}
    body = {**head, "metadata": {"name": "twice", "namespace": namespace}, "spec": spec}
    service = json.loads(kubectl("create", "-o", "json", "-f", "-", stdin=json.dumps(body)))
    kind = kind_of(service)
    with LiveCluster(Client()) as cluster:
        planned = plan_of(kind, service, cluster).apply
        made = next(item for item in planned if item["kind"] == "Deployment")
        pod = made["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        container["env"] = [*env, *(item for item in container["env"] if item["name"] != "A")]
        pod["imagePullSecrets"] *= 2
        made["metadata"].pop("resourceVersion")
        kubectl("create", "--field-manager=manager", "-f", "-", stdin=json.dumps(made))

        settle(service)
        taken = Client().get(api_path("Deployment", namespace, "twice"))
        pod = taken["spec"]["template"]["spec"]
        assert [item["name"] for item in pod["containers"][0]["env"]].count("A") == 2
        assert len(pod["imagePullSecrets"]) == 2
        assert taken["metadata"]["generation"] == 1
        assert "nimops.nim" in [item["manager"] for item in taken["metadata"]["managedFields"]]
        service = cluster.refetch(service) or service
        assert plan_of(kind, service, cluster).is_empty

        service["spec"]["env"] = [{"name": "A", "value": "2"}]
        Client().patch(
            api_path("NIMService", namespace, "twice"), {"spec": {"env": service["spec"]["env"]}}
        )
        settle(service)
        changed = Client().get(api_path("Deployment", namespace, "twice"))
        found = changed["spec"]["template"]["spec"]["containers"][0]["env"]
        assert [item["value"] for item in found if item["name"] == "A"] == ["2"]
        assert plan_of(kind, cluster.refetch(service) or service, cluster).is_empty
