# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Passes over a NeMo service, on an in-memory API server and in a simulated cluster."""

from __future__ import annotations

import base64
import json
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._builders.inputs import (
    RECORD_ANNOTATION,
    RESTART_ANNOTATION,
)
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._cluster.facts import Facts
from ansible_collections.nimops.nim.plugins.module_utils._cluster.live import LiveCluster
from ansible_collections.nimops.nim.plugins.module_utils._cluster.simulated import SimulatedCluster
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import (
    ObjectKey,
    api_path,
    key_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.reconcile import Pass, reconcile
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_of

Json = dict[str, t.Any]

PASSWORD = b"s3cr3t@:/% \n\xff"
ENCODED = "s3cr3t%40%3A%2F%25%20%0A%FF"
KIND = "NemoEvaluator"
ALWAYS = ["ServiceAccount", "Role", "RoleBinding", "Service"]
INPUTS = {
    "pg": ("password",),
    "giteaadmin": ("GITEA_ADMIN_USERNAME", "GITEA_ADMIN_PASSWORD"),
    "lfsjwt": ("jwtSecret",),
    "datastoreinit": ("init_directory_structure.sh", "configure_gitea.sh"),
    "datastoreconfig": ("config_environment.sh",),
    "datastoreinlineconfig": ("any",),
}


class Harness:
    """A NeMo service, on an API server whose controllers do nothing."""

    def __init__(self, nemo: t.Any, server: t.Any, folder: Path, kind: str, spec: Json) -> None:
        self.nemo, self.server = nemo, server
        self.client = Client(server.kubeconfig(folder))
        self.cr = nemo.cr(kind, spec)
        self.put(self.cr)
        self.passes: list[Pass] = []

    def put(self, item: Json) -> None:
        self.server.put(self.path(item["kind"], item["metadata"]["name"]), item)

    @staticmethod
    def path(kind: str, name: str = "x") -> str:
        return api_path(kind, "ns", name)

    def live(self, kind: str, name: str = "x") -> Json:
        return t.cast("Json", self.server.objects[self.path(kind, name)])

    def drop(self, kind: str, name: str = "x") -> None:
        del self.server.objects[self.path(kind, name)]

    def set_password(self, value: bytes = PASSWORD, **metadata: t.Any) -> None:
        self.put(self.nemo.secret("pg", {"password": value}, **metadata))

    def run(self) -> list[str]:
        """Run one pass; returns the kinds of written objects."""
        cr = self.live(self.cr["kind"]) | {"kind": self.cr["kind"]}
        with LiveCluster(self.client, "ns", is_shared=False) as cluster:
            self.passes.append(reconcile(kind_of(cr), cr, cluster))
        return [key.partition("/")[0] for key in self.passes[-1].outcome.written]

    def start_pods(self) -> None:
        self.put(self.nemo.rolled_out(self.live("Deployment")))

    def settle(self) -> Harness:
        """Two passes, with a password and running pods."""
        self.set_password()
        self.run()
        self.start_pods()
        self.run()
        return self

    @property
    def status(self) -> Json:
        return t.cast("Json", self.live(self.cr["kind"])["status"])

    def condition(self, kind: str) -> tuple[str, str, str]:
        found = [item for item in self.status["conditions"] if item["type"] == kind]
        return tuple(found[0][key] for key in ("status", "reason", "message")) if found else ()  # type: ignore[return-value]

    @property
    def template(self) -> Json:
        return t.cast("Json", self.live("Deployment")["spec"]["template"])

    @property
    def url(self) -> str:
        return base64.b64decode(self.live("Secret")["data"]["uri"]).decode()


@pytest.fixture
def harness(nemo: t.Any, cluster: t.Any, tmp_path: Path) -> t.Callable[..., Harness]:
    cluster.texts["/apis/security.openshift.io"] = "{}"
    return lambda kind=KIND, **spec: Harness(nemo, cluster, tmp_path, kind, spec)


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("NemoDatastore", []),
        ("NemoEntitystore", []),
        ("NemoEvaluator", ["Secret"]),
        ("NemoGuardrail", ["Secret"]),
    ],
)
def test_second_pass_writes_nothing(
    harness: t.Any, nemo: t.Any, kind: str, more: list[str]
) -> None:
    found = harness(kind, databaseConfig=nemo.database)
    for name, keys in INPUTS.items():
        found.put(nemo.secret(name, dict.fromkeys(keys, "v")))
    rails = nemo.secret("rails", {"config.yml": "v"})
    found.put(rails | {"kind": "ConfigMap"})
    assert found.run() == [*ALWAYS, *more, "Deployment"]
    assert found.status["state"] == "NotReady"
    found.start_pods()
    assert found.run() == []
    assert found.status["state"] == "Ready"
    assert found.run() == []
    assert not found.passes[-1].report.changed


def scale(found: Harness, replicas: int) -> None:
    """Scale the Deployment like `kubectl scale`."""
    live = found.live("Deployment")
    fields = {"f:spec": {"f:replicas": {}}}
    live["metadata"]["managedFields"].append(
        {"manager": "kubectl", "operation": "Update", "subresource": "scale", "fieldsV1": fields}
    )
    live["spec"]["replicas"] = replicas
    found.start_pods()


def change_spec(found: Harness, **fields: t.Any) -> None:
    cr = found.live(found.cr["kind"])
    cr["spec"] |= fields
    cr["metadata"]["generation"] = cr["metadata"].get("generation", 0) + 1


def test_scaled_manually(harness: t.Any) -> None:
    found = harness(replicas=1).settle()
    scale(found, 3)
    assert (found.run(), found.live("Deployment")["spec"]["replicas"]) == (["Deployment"], 3)
    assert found.condition("ScaledExternally")[:2] == ("True", "ScaledManually")
    found.start_pods()
    assert found.run() == []
    assert found.condition("Ready")[0] == "True"
    change_spec(found, labels={"team": "x"})
    found.run()
    live = found.live("Deployment")
    assert (live["spec"]["replicas"], live["metadata"]["labels"]["team"]) == (3, "x")
    change_spec(found, replicas=2)
    found.run()
    assert found.live("Deployment")["spec"]["replicas"] == 2
    assert found.condition("ScaledExternally") == ()


def test_autoscaled_by_others(harness: t.Any) -> None:
    found = harness(replicas=1).settle()
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "x"}
    found.put(
        {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "keda-hpa-x", "namespace": "ns"},
            "spec": {"scaleTargetRef": target},
        }
    )
    scale(found, 3)
    assert (found.run(), found.live("Deployment")["spec"]["replicas"]) == ([], 3)
    assert found.condition("ScaledExternally")[:2] == ("True", "Autoscaled")
    change_spec(found, replicas=0)
    found.run()
    assert found.live("Deployment")["spec"]["replicas"] == 0


def test_unscaled_lists_no_autoscalers(harness: t.Any) -> None:
    found = harness(replicas=1).settle()
    before = len(found.server.server.requests)
    assert found.run() == []
    requests = found.server.server.requests[before:]
    assert not [item for item in requests if item.path.endswith("horizontalpodautoscalers")]


def test_password_only_in_url(harness: t.Any) -> None:
    found = harness().settle()
    assert found.url == f"postgresql://me:{ENCODED}@pg.ns.svc:5432/db"
    hidden = [
        "s3cr3t",
        base64.b64encode(PASSWORD).decode(),
        found.live("Secret")["data"]["uri"],
    ]
    texts = [repr(item) for item in found.passes]
    texts += [
        json.dumps(request.body)
        for request in found.server.server.requests
        if (request.method, request.path) != ("PATCH", found.path("Secret"))
    ]
    texts += [
        json.dumps(item) for item in found.server.objects.values() if item["kind"] != "Secret"
    ]
    assert [text for text in texts for value in hidden if value in text] == []


def test_write_error_hides_password(harness: t.Any, refused: t.Any) -> None:
    found = harness()
    found.set_password()
    found.server.refuse[("PATCH", found.path("Secret"))] = [refused(422, "too big", "Invalid")]
    found.run()
    message = 'Secret "x": too big; Deployment "x": waits for Secret "x"'
    assert found.condition("Failed") == ("True", "SecretFailed", message)
    assert found.run() == ["Secret", "Deployment"]


SHOWS = {"HorizontalPodAutoscaler", "Ingress", "ServiceMonitor"}
WAITING = {
    "Deployment": SHOWS,
    "Role": {"RoleBinding"},
    "Service": {"Ingress", "ServiceMonitor"},
    "ServiceAccount": {"Deployment", "RoleBinding", *SHOWS},
}
"""Kinds that are not written without an object of this kind, because they refer or lead to it."""


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        *((kind, f"{kind}Failed") for kind in (*ALWAYS, "Ingress", "ServiceMonitor", "Deployment")),
        ("HorizontalPodAutoscaler", "HPAFailed"),
    ],
)
def test_refused_child(harness: t.Any, refused: t.Any, kind: str, reason: str) -> None:
    found = harness(
        expose={"router": {"hostDomainName": "example.com", "ingress": {"ingressClass": "nginx"}}},
        scale={"enabled": True, "hpa": {"maxReplicas": 2}},
        metrics={"enabled": True},
    )
    found.set_password()
    found.server.refuse[("PATCH", found.path(kind))] = [refused(422, "bad value", "Invalid")]
    written = found.run()
    waiting = WAITING.get(kind, set())
    failed = found.condition("Failed")
    assert (failed[:2], failed[2].partition("; ")[0]) == (
        ("True", reason),
        f'{kind} "x": bad value',
    )
    assert failed[2].count("waits for") == len(waiting)
    assert (waiting.isdisjoint(written), len(written)) == (True, 8 - len(waiting))
    assert kind not in written
    events = [item for item in found.server.objects.values() if item["kind"] == "Event"]
    assert {item["source"]["component"] for item in events} == {"nemo-evaluator-service-controller"}
    assert {*found.run()} == {kind, *waiting}
    found.start_pods()
    found.run()
    assert found.status["state"] == "Ready"


def test_changed_password_restarts_once(harness: t.Any) -> None:
    found = harness().settle()
    assert RESTART_ANNOTATION not in found.template["metadata"]["annotations"]
    found.set_password(b"new")
    assert found.run() == ["Secret", "Deployment"]
    assert ":new@" in found.url
    assert RESTART_ANNOTATION in found.template["metadata"]["annotations"]
    assert found.run() == []


def test_password_metadata_restarts_nothing(harness: t.Any) -> None:
    found = harness()
    found.set_password()
    found.run()
    before = found.template, found.live("Deployment")["metadata"]["annotations"][RECORD_ANNOTATION]
    found.set_password(labels={"a": "b"})
    assert found.run() == ["Deployment"]
    assert found.template == before[0]
    assert found.live("Deployment")["metadata"]["annotations"][RECORD_ANNOTATION] != before[1]
    assert found.run() == []


def test_takeover_restarts_nothing(harness: t.Any) -> None:
    found = harness()
    found.set_password()
    found.run()
    del found.live("Deployment")["metadata"]["annotations"][RECORD_ANNOTATION]
    before = found.template
    found.set_password(b"changed before the takeover")
    assert found.run() == ["Secret", "Deployment"]
    assert found.template == before
    assert RECORD_ANNOTATION in found.live("Deployment")["metadata"]["annotations"]
    assert found.run() == []


def test_foreign_secret_refused(harness: t.Any, nemo: t.Any) -> None:
    """This includes the Secret with the password, which would be lost."""
    credentials = nemo.database["credentials"] | {"secretName": "x"}
    found = harness(databaseConfig=nemo.database | {"credentials": credentials})
    found.put(nemo.secret("x", {"password": "mine"}))
    before = found.live("Secret")
    assert "Secret" not in found.run()
    assert found.live("Secret") == before
    assert found.condition("Failed")[:2] == ("True", "NameTaken")
    assert "was not created by this NemoEvaluator" in found.condition("Failed")[2]


@pytest.mark.parametrize(
    ("data", "reason", "message"),
    [
        pytest.param(None, "SecretNotFound", "does not exist", id="no Secret"),
        pytest.param({"pw": "p"}, "SecretKeyNotFound", 'to have "password"', id="no key"),
    ],
)
def test_missing_password(
    harness: t.Any, nemo: t.Any, data: Json | None, reason: str, message: str
) -> None:
    found = harness()
    if data:
        found.put(nemo.secret("pg", data))
    assert found.run() == ALWAYS
    assert found.status["state"] == "NotReady"
    assert found.condition("Ready")[1] == reason
    assert message in found.condition("Ready")[2]
    found.set_password()
    assert found.run() == ["Secret", "Deployment"]


def test_missing_password_with_running_pods(harness: t.Any) -> None:
    found = harness().settle()
    template = found.template
    found.drop("Secret", "pg")
    assert found.run() == []
    assert found.status["state"] == "Ready"
    assert found.condition("Reconciling")[1] == "SecretNotFound"
    assert "does not exist" in found.condition("Reconciling")[2]
    found.set_password()
    assert found.run() == ["Deployment"], "the record: it is another version"
    assert found.template == template
    found.start_pods()
    found.run()
    assert (found.status["state"], found.condition("Reconciling")) == ("Ready", ())


def test_disabled_features_deleted(harness: t.Any, nemo: t.Any) -> None:
    """This includes the Secret of a guardrail without a database, but no foreign Secret."""
    router = {"hostDomainName": "example.com", "ingress": {"ingressClass": "nginx"}}
    found = harness(
        "NemoGuardrail",
        databaseConfig=nemo.database,
        expose={"router": router},
        metrics={"enabled": True},
    )
    found.put(nemo.secret("rails", {"config.yml": "v"}) | {"kind": "ConfigMap"})
    found.set_password()
    found.run()
    resource = found.live("NemoGuardrail")
    for field in ("databaseConfig", "expose", "metrics"):
        del resource["spec"][field]
    monitor = found.live("ServiceMonitor")
    monitor["metadata"]["ownerReferences"][0]["uid"] = "u-other"
    found.run()
    deleted = [key.partition("/")[0] for key in found.passes[-1].outcome.deleted]
    assert deleted == ["Ingress", "Secret"]
    assert found.run() == []
    assert "uri" not in json.dumps(found.passes[-2].answers["Secret/ns/x"])


def test_idle_pass_reads_once(harness: t.Any) -> None:
    found = harness().settle()
    found.run()
    before = len(found.server.calls("GET"))
    assert found.run() == []
    asked = [request.path for request in found.server.calls("GET")[before:]]
    assert sorted(asked) == sorted(set(asked))
    assert found.path("Secret", "pg") in asked


def test_failed_deletion_retried(harness: t.Any, nemo: t.Any, refused: t.Any) -> None:
    """After the first complete pass, leftovers of disabled features are no longer read."""
    found = harness(
        "NemoEntitystore", databaseConfig=nemo.database, metrics={"enabled": True}
    ).settle()
    resource = found.live("NemoEntitystore")
    del resource["spec"]["metrics"]
    resource["metadata"]["generation"] += 1
    found.server.refuse[("DELETE", found.path("ServiceMonitor"))] = [
        refused(403, "no", "Forbidden")
    ]
    found.run()
    assert found.passes[-1].outcome.deleted == []
    found.run()
    assert found.passes[-1].outcome.deleted == ["ServiceMonitor/ns/x"]
    found.run()
    assert found.status["state"] == "Ready"
    found.run()
    assert not {"ServiceMonitor/ns/x", "Ingress/ns/x"} & set(found.passes[-1].answers)


def test_simulated_cluster(nemo: t.Any) -> None:
    """An unknown password is assumed to exist; a known password is not shown."""
    cr = nemo.cr(KIND)
    harness = SimulatedCluster(Facts([cr]).ask)
    first = reconcile(kind_of(cr), cr, harness)
    assert [item["kind"] for item in first.plan.apply] == [*ALWAYS, "Secret", "Deployment"]
    secret = harness.find(ObjectKey("Secret", "ns", "x"))
    assert secret
    assert secret["data"]["uri"].startswith('<{"secret": "pg"')
    harness.put(nemo.secret("pg", {"password": PASSWORD}, "2"))
    second = reconcile(kind_of(cr), cr, harness)
    known = second.answers['Secret/ns/pg#["password"]']
    assert (known["version"], known["missing"]) == ("2", [])
    harness.remove(ObjectKey("Secret", "ns", "pg"))
    third = reconcile(kind_of(cr), cr, harness)
    assert third.report.status["conditions"][0]["reason"] == "SecretNotFound"
    assert "s3cr3t" not in repr([first, second, third])
    assert key_of(secret) == "Secret/ns/x"
