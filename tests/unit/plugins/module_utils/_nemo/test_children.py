# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import json
import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._builders.inputs import (
    RECORD_ANNOTATION,
    RESTART_ANNOTATION,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.reads import (
    Read,
    ReadDigest,
    ReadPods,
    ReadPresence,
    ReadSecretPlaceholders,
)
from ansible_collections.nimops.nim.plugins.module_utils._nemo.children import (
    build_deployment,
    desired,
    find_missing,
    reads,
)

Json = dict[str, t.Any]

SCC = {"openshift.io/required-scc": "nonroot"}
FEATURES = ["Ingress", "HTTPRoute", "HorizontalPodAutoscaler", "ServiceMonitor"]
ALWAYS = ["ServiceAccount", "Role", "RoleBinding", "Service"]
ROUTER = {"hostDomainName": "example.com", "annotations": {"r": "1"}}
INGRESS = ROUTER | {"ingress": {"ingressClass": "nginx", "tlsSecretName": "tls"}}
GATEWAY = ROUTER | {"gateway": {"name": "gw", "namespace": "infra"}}
HPA = {"minReplicas": 2, "maxReplicas": 4, "metrics": [{"type": "Resource"}, {"type": "Pods"}]}
ALL = {
    "expose": {
        "ingress": {"enabled": True, "spec": {"ingressClassName": "nginx"}},
        "router": GATEWAY,
    },
    "scale": {"enabled": True, "hpa": HPA, "annotations": {"h": "1"}},
    "metrics": {"enabled": True},
}
CLAIM = {
    "configStore": {"pvc": {"create": True, "size": "1Gi", "volumeAccessMode": "ReadWriteOnce"}}
}
BACKEND = {"service": {"name": "x", "port": {"name": "api"}}}


def order(app: t.Any) -> list[str]:
    return [child.manifest["kind"] for child in desired(app).children]


@pytest.mark.parametrize(
    ("kind", "spec", "wanted"),
    [
        pytest.param("NemoEntitystore", {}, [*ALWAYS, "Deployment"], id="entitystore"),
        pytest.param("NemoDatastore", {}, [*ALWAYS, "Deployment"], id="datastore"),
        pytest.param(
            "NemoDatastore",
            {"pvc": {"create": True, "size": "1Gi", "volumeAccessMode": "ReadWriteOnce"}},
            [*ALWAYS, "PersistentVolumeClaim", "Deployment"],
            id="datastore with a claim",
        ),
        pytest.param(
            "NemoEvaluator", ALL, [*ALWAYS, *FEATURES, "Secret", "Deployment"], id="evaluator"
        ),
        pytest.param("NemoGuardrail", {}, [*ALWAYS, "Deployment"], id="guardrail"),
        pytest.param(
            "NemoGuardrail",
            {"databaseConfig": "given"} | CLAIM,
            [*ALWAYS, "PersistentVolumeClaim", "Secret", "Deployment"],
            id="guardrail with all",
        ),
    ],
)
def test_desired_order(nemo: t.Any, kind: str, spec: Json, wanted: list[str]) -> None:
    spec = spec | ({"databaseConfig": nemo.database} if "databaseConfig" in spec else {})
    assert order(nemo.app(kind, spec)) == wanted


def test_desired_owners_and_names(nemo: t.Any) -> None:
    for kind, item in nemo.made("NemoGuardrail", ALL | CLAIM).items():
        (owner,) = item["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["uid"], owner["controller"]) == ("NemoGuardrail", "u-x", True)
        is_claim = kind == "PersistentVolumeClaim"
        assert item["metadata"]["name"] == ("x-pvc" if is_claim else "x")


@pytest.mark.parametrize("kind", ["NemoEntitystore", "NemoGuardrail"])
def test_desired_disabled_features(nemo: t.Any, kind: str) -> None:
    leftovers = ["Secret"] if kind == "NemoGuardrail" else []
    found = desired(nemo.app(kind)).unwanted
    assert found == [(item, "x") for item in [*FEATURES, *leftovers]]
    assert desired(nemo.app(kind, ALL)).unwanted == [(item, "x") for item in leftovers]


@pytest.mark.parametrize("kind", FEATURES)
def test_desired_single_feature(nemo: t.Any, kind: str) -> None:
    spec = {
        "Ingress": {"expose": {"router": INGRESS}},
        "HTTPRoute": {"expose": {"router": GATEWAY}},
        "HorizontalPodAutoscaler": {"scale": ALL["scale"]},
        "ServiceMonitor": {"metrics": {"enabled": True}},
    }[kind]
    found = desired(nemo.app("NemoEntitystore", spec))
    assert [item.manifest["kind"] for item in found.children][4:-1] == [kind]
    assert (kind, "x") not in found.unwanted


def test_ingress_of_router(nemo: t.Any) -> None:
    found = nemo.made("NemoEvaluator", {"expose": {"router": INGRESS}})["Ingress"]
    host = "x.ns.example.com"
    paths = [{"path": "/", "pathType": "Prefix", "backend": BACKEND}]
    assert found["spec"] == {
        "ingressClassName": "nginx",
        "rules": [{"host": host, "http": {"paths": paths}}],
        "tls": [{"hosts": [host], "secretName": "tls"}],
    }
    assert found["metadata"]["annotations"] == SCC | {"r": "1"}


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        pytest.param({}, {"http": {"paths": [{"path": "/", "pathType": "Prefix"}]}}, id="any host"),
        pytest.param(
            {"host": "h", "paths": [{}, {"path": "/v1", "pathType": "Exact"}]},
            {
                "host": "h",
                "http": {
                    "paths": [
                        {"path": "/", "pathType": "Prefix"},
                        {"path": "/v1", "pathType": "Exact"},
                    ]
                },
            },
            id="paths",
        ),
    ],
)
def test_ingress_legacy(nemo: t.Any, given: Json, rule: Json) -> None:
    legacy = {"enabled": True, "annotations": {"l": "1"}}
    legacy["spec"] = {"ingressClassName": "old", **given}
    both = {"expose": {"ingress": legacy, "router": GATEWAY}}
    made = nemo.made("NemoDatastore", both)
    for path in rule["http"]["paths"]:
        path["backend"] = BACKEND
    assert made["Ingress"]["spec"] == {"ingressClassName": "old", "rules": [rule]}
    assert made["Ingress"]["metadata"]["annotations"] == SCC | {"l": "1"}
    assert made["HTTPRoute"]["metadata"]["annotations"] == SCC | {"r": "1"}


def test_http_route(nemo: t.Any) -> None:
    spec = {"expose": {"router": GATEWAY, "service": {"port": 81}}}
    found = nemo.made("NemoEvaluator", spec)["HTTPRoute"]["spec"]
    assert found["hostnames"] == ["x.ns.example.com"]
    assert found["rules"][0]["backendRefs"] == [{"name": "x", "port": 81}]


def test_http_route_disabled(nemo: t.Any) -> None:
    off = GATEWAY["gateway"] | {"httpRoutesEnabled": False}
    assert "HTTPRoute" not in nemo.made("NemoEvaluator", {"expose": {"router": {"gateway": off}}})


def test_exposure_without_domain(nemo: t.Any) -> None:
    with pytest.raises(NimError, match="hostDomainName is required"):
        nemo.made("NemoEvaluator", {"expose": {"router": {"gateway": GATEWAY["gateway"]}}})


def test_autoscaler(nemo: t.Any) -> None:
    found = nemo.made("NemoEntitystore", ALL)["HorizontalPodAutoscaler"]
    assert found["spec"] == {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "x"},
        "minReplicas": 2,
        "maxReplicas": 4,
        "metrics": [{"type": "Pods"}, {"type": "Resource"}],
    }
    assert found["metadata"]["annotations"] == SCC | {"h": "1"}


def test_service_monitor(nemo: t.Any) -> None:
    given = {"interval": "30s", "additionalLabels": {"release": "p", "app.kubernetes.io/name": "o"}}
    spec = {"metrics": {"enabled": True, "serviceMonitor": given}, "labels": {"release": "mine"}}
    found = nemo.made("NemoDatastore", spec)["ServiceMonitor"]
    assert found["spec"]["endpoints"] == [{"port": "api", "interval": "30s"}]
    labels = found["metadata"]["labels"]
    assert (labels["release"], labels["app.kubernetes.io/name"]) == ("p", "o")


def test_user_labels_and_annotations(nemo: t.Any) -> None:
    ours = "app.kubernetes.io/name"
    scc, hashed = "openshift.io/required-scc", "nvidia.com/parent-spec-hash"
    service = {"labels": {ours: "z", "team": "b", "s": "1"}, "annotations": {scc: "z", "t": "2"}}
    spec = {
        "labels": {"app": "mine", ours: "y", "team": "a"},
        "annotations": {scc: "any", hashed: "1", "t": "1"},
        "expose": {"service": service},
    }
    made = nemo.made("NemoEvaluator", spec)
    labels = {kind: item["metadata"]["labels"] for kind, item in made.items()}
    assert {item[ours] for item in labels.values()} == {"x"}
    assert {item["team"] for item in labels.values()} == {"a"}
    assert [kind for kind, item in labels.items() if "s" in item] == ["Service"]
    template = made["Deployment"]["spec"]["template"]["metadata"]
    assert template["labels"] == labels["Deployment"] | {"app": "x"}, "as the selector says"
    assert labels["Deployment"]["app.kubernetes.io/part-of"] == "nemo-evaluator-service"
    for metadata in (made["Deployment"]["metadata"], made["Service"]["metadata"], template):
        assert metadata["annotations"] == SCC | {"t": "1"}
    for kind in ("ServiceAccount", "Role", "RoleBinding", "Secret"):
        assert "annotations" not in made[kind]["metadata"]


def test_pod_settings(nemo: t.Any) -> None:
    toleration = {"key": "gpu", "operator": "Exists", "tolerationSeconds": 60}
    spec = {
        "image": {
            "repository": "r",
            "tag": "1",
            "pullPolicy": "Always",
            "pullSecrets": list("aba"),
        },
        "nodeSelector": {"gpu": "true"},
        "tolerations": [toleration],
        "affinity": {"nodeAffinity": {"x": 1}},
        "podAffinity": {"ignored": True},
        "runtimeClass": "nvidia",
    }
    found = nemo.pod("NemoEntitystore", spec)
    assert found["nodeSelector"] == {"gpu": "true"}
    assert found["tolerations"] == [toleration]
    assert found["affinity"] == {"nodeAffinity": {"x": 1}}
    assert found["runtimeClassName"] == "nvidia"
    assert found["serviceAccountName"] == "x"
    assert found["imagePullSecrets"] == [{"name": "a"}, {"name": "b"}]
    container = found["containers"][0]
    assert (container["image"], container["imagePullPolicy"]) == ("r:1", "Always")


def test_pod_minimal(nemo: t.Any) -> None:
    assert set(nemo.pod("NemoGuardrail")) == {
        "containers", "securityContext", "serviceAccountName", "volumes",
    }  # fmt: skip
    assert not {"command", "args", "resources", "imagePullPolicy"} & set(
        nemo.container("NemoGuardrail")
    )


def test_container_settings(nemo: t.Any) -> None:
    given = {"command": ["c"], "args": ["a"], "resources": {"limits": {"cpu": "1"}}}
    found = nemo.container("NemoDatastore", given)
    assert {key: found[key] for key in given} == given
    for item in nemo.pod("NemoDatastore", given)["initContainers"]:
        assert "resources" not in item


def test_user_variables(nemo: t.Any) -> None:
    mine = [{"name": "Z", "value": "1"}, {"name": "POSTGRES_DB", "value": "mine"}]
    plain = nemo.rows(nemo.container("NemoEntitystore")["env"])
    found = nemo.rows(nemo.container("NemoEntitystore", {"env": mine})["env"])
    assert found == ["Z=1", "POSTGRES_DB=mine", *(row for row in plain if row != "POSTGRES_DB=db")]
    for item in nemo.pod("NemoEntitystore", {"env": mine})["initContainers"]:
        assert "Z=1" not in nemo.rows(item.get("env", []))


@pytest.mark.parametrize(
    ("spec", "metadata", "message", "reason"),
    [
        pytest.param({}, {"name": "a" * 60}, "at most 59", "Failed", id="long name"),
        pytest.param({}, {"name": "a.b"}, "has a dot", "Failed", id="dot"),
        pytest.param({}, {"name": "nim-cache-sa"}, "share", "NameReserved", id="reserved"),
        pytest.param({"labels": {"l": "1"}}, {}, "spec.labels", "Forbidden", id="label"),
        pytest.param(
            {"pvc": {"create": True, "size": "big"}}, {}, "spec.pvc.size", "Failed", id="size"
        ),
    ],
)
def test_desired_refused_spec(
    nemo: t.Any, spec: Json, metadata: Json, message: str, reason: str
) -> None:
    switches = {"NIMOPS_ROOT_USER": "forbid", "NIMOPS_POD_LABELS": "ok"}
    app = nemo.app("NemoDatastore", spec, nemo.observe(operator={"switches": switches}))
    app.resource["metadata"].update(metadata)
    with pytest.raises(NimError, match=message) as error:
        desired(app)
    assert error.value.reason == reason


def test_desired_root_user(nemo: t.Any) -> None:
    observed = nemo.observe(operator={"switches": {"NIMOPS_ROOT_USER": "forbid"}})
    for kind in ("NemoEntitystore", "NemoEvaluator", "NemoGuardrail"):
        with pytest.raises(NimError, match=r"spec\.userID: 0 is forbidden") as error:
            nemo.made(kind, {"userID": 0}, observed)
        assert error.value.reason == "Forbidden"
        assert nemo.pod(kind, observed=observed)["securityContext"]["runAsUser"] == 1000
    pod = nemo.pod("NemoDatastore", {"userID": 0}, observed=observed)
    assert pod["securityContext"] == {"fsGroup": 1000}, "the image's user"
    for container in [*pod["initContainers"], *pod["containers"]]:
        assert container["securityContext"]["runAsNonRoot"] is True


@pytest.mark.parametrize("is_running", [True, False])
def test_reads_selectors_before_deployment(nemo: t.Any, is_running: bool) -> None:
    live = (
        {"metadata": {"name": "x"}, "spec": {"replicas": 1}, "status": {}} if is_running else None
    )
    switches = {"operator": {"switches": {"NIMOPS_POD_LABELS": ""}}}
    app = nemo.app("NemoEvaluator", None, nemo.observe(**switches))
    app.observed.answers[app.key("Deployment")] = live
    app.resource["status"] = {"state": "Ready", "observedGeneration": 1}
    app.resource["metadata"]["generation"] = 1
    found = {read.key for read in reads(app)}
    assert ("Service/ns/*" in found) is not is_running


def test_claim_create_only(nemo: t.Any) -> None:
    children = desired(
        nemo.app(
            "NemoDatastore",
            {"pvc": {"create": True, "size": "1Gi", "volumeAccessMode": "ReadWriteOnce"}},
        )
    ).children
    assert [item.manifest["kind"] for item in children if item.create_only] == [
        "PersistentVolumeClaim"
    ]


def test_claim_existing(nemo: t.Any) -> None:
    """With any owner if it is named, and with any size in the spec."""
    claim = {"kind": "PersistentVolumeClaim", "metadata": {"name": "x-pvc", "namespace": "ns"}}
    spec = {"pvc": {"create": True, "size": "bad", "name": "x-pvc"}}
    assert "PersistentVolumeClaim" not in nemo.made("NemoDatastore", spec, nemo.observe(claim))
    with pytest.raises(NimError, match=r"set spec\.pvc\.name") as raised:
        nemo.made(
            "NemoDatastore",
            {"pvc": {"create": True, "size": "1Gi", "volumeAccessMode": "ReadWriteOnce"}},
            nemo.observe(claim),
        )
    assert raised.value.reason == "NameTaken"


@pytest.mark.parametrize("is_there", [True, False])
def test_claim_of_user_awaited(nemo: t.Any, *, is_there: bool) -> None:
    claim = {"kind": "PersistentVolumeClaim", "metadata": {"name": "mine", "namespace": "ns"}}
    key = "PersistentVolumeClaim/ns/mine"
    observed = nemo.observe(**{key: claim if is_there else None})
    app = nemo.app("NemoDatastore", {"pvc": {"name": "mine"}}, observed)
    assert order(app) == [*ALWAYS, *(["Deployment"] if is_there else [])]
    assert (find_missing(app) or ("",))[0] == ("" if is_there else "PersistentVolumeClaimNotFound")


def test_desired_without_input(nemo: t.Any) -> None:
    observed = nemo.observe(**{'Secret/ns/pg#["password"]': None})
    found = desired(nemo.app("NemoEvaluator", observed=observed))
    assert [child.manifest["kind"] for child in found.children] == ALWAYS
    assert found.unwanted == [(kind, "x") for kind in FEATURES]


SERVED = "apis/security.openshift.io"


def keys(app: t.Any, kind: type[Read] = Read) -> list[str]:
    return [read.key for read in reads(app) if isinstance(read, kind)]


@pytest.mark.parametrize("kind", ["NemoEntitystore", "NemoEvaluator", "NemoGuardrail"])
def test_reads_first_pass(nemo: t.Any, kind: str) -> None:
    sealed = ["Secret"] if kind == "NemoEvaluator" else []
    wanted = [*ALWAYS, "Deployment", *sealed]
    app = nemo.app(kind, observed=nemo.observe(**{SERVED: True}))
    assert keys(app) == [SERVED, *(f"{item}/ns/x" for item in wanted)]


@pytest.mark.parametrize(
    ("kind", "status", "roles"),
    [
        pytest.param("NemoGuardrail", {}, [], id="a new one"),
        pytest.param("NemoGuardrail", {"state": "Ready"}, ["Role", "RoleBinding"], id="leftovers"),
        pytest.param("NemoEvaluator", {}, ["Role", "RoleBinding"], id="more permissions"),
    ],
)
def test_reads_without_openshift(
    nemo: t.Any, kind: str, status: dict[str, t.Any], roles: list[str]
) -> None:
    app = nemo.app(kind, observed=nemo.observe(**{SERVED: False}), status=status)
    assert [key.partition("/")[0] for key in keys(app) if key.startswith("Role")] == roles


def test_reads_leftovers(nemo: t.Any) -> None:
    observed = nemo.observe(**{SERVED: True})
    app = nemo.app("NemoGuardrail", observed=observed, status={"state": "Ready"})
    wanted = [*ALWAYS, "Deployment", *FEATURES, "Secret"]
    assert keys(app) == [SERVED, *(f"{item}/ns/x" for item in wanted)]
    assert keys(app, ReadPresence) == ["Secret/ns/x"], "without its values"


def test_reads_without_secret_values(nemo: t.Any) -> None:
    spec = {"databaseConfig": nemo.database} | CLAIM
    deployment = nemo.made("NemoGuardrail", spec)["Deployment"]
    for status in ({}, {"state": "Ready"}):
        app = nemo.app("NemoGuardrail", spec, nemo.observe(deployment), status)
        found = {type(read) for read in reads(app) if read.target and read.target.kind == "Secret"}
        assert found == {ReadSecretPlaceholders, ReadDigest}
        assert "PersistentVolumeClaim/ns/x-pvc" in keys(app)


def test_reads_awaited_pods(nemo: t.Any) -> None:
    deployment = nemo.rolled_out(nemo.made("NemoEntitystore")["Deployment"])
    late = nemo.rolled_out(deployment, availableReplicas=0)
    for live, wanted in ((deployment, []), (late, ["Pod/ns/*?app=x"])):
        app = nemo.app("NemoEntitystore", observed=nemo.observe(live))
        assert keys(app, ReadPods) == wanted


def test_deployment_hashes(nemo: t.Any) -> None:
    key = 'Secret/ns/pg#["password"]'
    known = {"version": "1", "missing": [], "digest": "p1"}
    first = nemo.made("NemoEntitystore", observed=nemo.observe(**{key: known}))["Deployment"]
    record = first["metadata"]["annotations"].pop(RECORD_ANNOTATION)
    assert json.loads(record) == {"Secret/pg#password": ["1", "p1"]}
    assert first["spec"]["template"]["metadata"]["annotations"] == SCC
    assert first["metadata"]["annotations"] == SCC

    first["metadata"]["annotations"][RECORD_ANNOTATION] = record
    changed = {key: known | {"version": "2", "digest": "p2"}}
    app = nemo.app("NemoEntitystore", observed=nemo.observe(first, **changed))
    second = build_deployment(app)
    restarted = second["spec"]["template"]["metadata"]["annotations"]
    assert set(restarted) == {*SCC, RESTART_ANNOTATION}
    assert '["2","p2"]' in second["metadata"]["annotations"][RECORD_ANNOTATION]
    assert build_deployment(nemo.app("NemoEntitystore", observed=nemo.observe(second))) == second


def test_service_type(nemo: t.Any) -> None:
    service = {"type": "NodePort", "port": 80, "name": "ignored"}
    found = nemo.made("NemoDatastore", {"expose": {"service": service}})["Service"]
    assert (found["metadata"]["name"], found["spec"]["type"]) == ("x", "NodePort")
    assert found["spec"]["ports"][0]["port"] == 80
    assert nemo.made("NemoDatastore")["Service"]["spec"]["type"] == "ClusterIP"
