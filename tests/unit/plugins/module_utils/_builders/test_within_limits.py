# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._builders.app import App
from ansible_collections.nimops.nim.plugins.module_utils._builders.tenant_limits import (
    read_switches,
)
from ansible_collections.nimops.nim.plugins.module_utils._builders.within_limits import (
    within_limits,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import Child, Desired
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed

Json = dict[str, t.Any]

CRDS = Path(__file__).resolve().parents[5] / "config/crd/bases"
POD: Json = {"kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [{"name": "c"}]}}
OWN = {"kind": "Service", "metadata": {"name": "a"}, "spec": {}}


def check(spec: Json, *children: Json, live: Json | None = None, **switches: str) -> Desired:
    """The decorated result; the decorated function returns these children."""
    answers = {"operator": read_switches(switches), **(live or {})}
    resource = {
        "kind": "Toy", "metadata": {"name": "a", "namespace": "ns", "uid": "u"}, "spec": spec,
    }  # fmt: skip
    wanted = Desired([Child(item) for item in children])
    return within_limits(lambda _app: wanted)(App(resource, Observed(answers)))


def violations_of(spec: Json, *children: Json, **switches: str) -> list[str]:
    check(spec, *children)  # by default, all is allowed
    try:
        check(spec, *children, **switches)
    except NimError as error:
        reason, message = error.reason, str(error)
    else:
        return []
    assert reason == "Forbidden"
    return message.removesuffix(" (running workloads stay unchanged)").split("; ")


def test_within_limits_removes_root() -> None:
    assert check({}, POD).children[0].manifest == POD
    (child,) = check({}, POD, NIMOPS_ROOT_USER="forbid").children
    assert child.manifest["spec"]["containers"][0]["securityContext"]["runAsNonRoot"] is True


def fields_of(schema: Json, path: str = "spec") -> t.Iterator[str]:
    """All fields of a schema; of lists, their first item."""
    for name, inner in (schema.get("properties") or {}).items():
        yield f"{path}.{name}"
        yield from fields_of(inner, f"{path}.{name}")
    for key, suffix in (("items", "[0]"), ("additionalProperties", ".x")):
        if isinstance(schema.get(key), dict):
            yield from fields_of(schema[key], path + suffix)


def fields_named(*endings: str) -> list[tuple[str, str]]:
    """Kind and field of each field of our CRDs that ends so."""
    found = []
    for file in sorted(CRDS.glob("*.yaml")):
        crd = yaml.safe_load(file.read_text())
        for version in crd["spec"]["versions"]:
            spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
            kind = crd["spec"]["names"]["kind"]
            found += [(kind, field) for field in fields_of(spec) if field.endswith(endings)]
    return found


def spec_with(field: str, value: t.Any) -> Json:
    made: t.Any = value
    for part in reversed(field.split(".")[1:]):
        name, is_list, _rest = part.partition("[")
        made = {name: [made] if is_list else made}
    return t.cast(Json, made)


HOSTS = fields_named(".httpGet.host", ".tcpSocket.host")


@pytest.mark.parametrize(("kind", "field"), HOSTS, ids=[" ".join(item) for item in HOSTS])
def test_within_limits_probe_hosts_complete(kind: str, field: str) -> None:
    spec = spec_with(field, "169.254.169.254")
    assert violations_of(spec, NIMOPS_PROBE_HOSTS="") == [
        f'{field}: "169.254.169.254" is forbidden: the operator\'s NIMOPS_PROBE_HOSTS allows none'
    ]
    assert violations_of(spec, NIMOPS_PROBE_HOSTS="169.254.*") == []


def test_within_limits_probe_hosts_of_all_kinds() -> None:
    assert {kind for kind, _field in HOSTS} >= {"NIMService", "NIMPipeline", "NemoDatastore"}
    assert fields_named(".lifecycle") == [], "hooks have hosts as well: test them here"


@pytest.mark.parametrize(
    ("patterns", "host", "is_allowed"),
    [
        ("", "", True),
        ("", "a.example", False),
        ("*.example", "A.example", True),
        ("*.example", "a.example.org", False),
        ("fd00::1, 10.0.0.?", "FD00::1", True),
        ("*;", "a", False),
    ],
)
def test_within_limits_probe_host_patterns(patterns: str, host: str, is_allowed: bool) -> None:
    spec = {"livenessProbe": {"probe": {"httpGet": {"host": host}}}}
    assert (not violations_of(spec, NIMOPS_PROBE_HOSTS=patterns)) is is_allowed


def test_within_limits_ignores_picker_config() -> None:
    inner = {"httpGet": {"host": "a"}, "securityContext": {"privileged": True}}
    spec = {"expose": {"router": {"eppConfig": {"config": inner}}}}
    assert violations_of(spec, NIMOPS_PROBE_HOSTS="", NIMOPS_ROOT_USER="forbid") == []


@pytest.mark.parametrize(
    ("security", "fields"),
    [
        ({"runAsUser": 0}, ["runAsUser: 0"]),
        ({"runAsNonRoot": False}, ["runAsNonRoot: False"]),
        ({"privileged": True}, ["privileged: True"]),
        ({"allowPrivilegeEscalation": True}, ["allowPrivilegeEscalation: True"]),
        ({"capabilities": {"add": ["SYS_ADMIN"]}}, ["capabilities.add: ['SYS_ADMIN']"]),
        ({"runAsUser": 1, "privileged": False, "capabilities": {"drop": ["ALL"]}}, []),
    ],
)
@pytest.mark.parametrize("where", ["modelDownloadJobs", "sidecarContainers[0]"])
def test_within_limits_security_contexts(where: str, security: Json, fields: list[str]) -> None:
    spec = spec_with(f"spec.{where}.securityContext", security)
    violations = violations_of(spec, NIMOPS_ROOT_USER="forbid")
    assert [violation.split(" is forbidden")[0] for violation in violations] == [
        f"spec.{where}.securityContext.{field}" for field in fields
    ]


def ingress(*backends: Json, default: Json | None = None) -> Json:
    paths = [{"path": "/", "backend": item} for item in backends]
    spec = {
        "rules": [{"http": {"paths": paths}}],
        **({"defaultBackend": default} if default else {}),
    }
    return {"kind": "Ingress", "metadata": {"name": "a", "namespace": "ns"}, "spec": spec}


def to(name: str) -> Json:
    return {"service": {"name": name, "port": {"number": 1}}}


def route(route_kind: str = "HTTPRoute", /, **backend: str) -> Json:
    spec = {"rules": [{"backendRefs": [backend]}]}
    return {"kind": route_kind, "metadata": {"name": "a", "namespace": "ns"}, "spec": spec}


BUCKET = {"resource": {"apiGroup": "x.example", "kind": "Bucket", "name": "a"}}
POOL = {"kind": "InferencePool", "metadata": {"name": "a"}, "spec": {}}
POOLS = "inference.networking.k8s.io"


WITHIN_LIMITS_EXPOSED_SERVICES_CASES = {
    "its own": ([OWN, ingress(to("a"))], []),
    "not its own": ([ingress(to("a"))], ["a"]),
    "one of several": ([OWN, ingress(to("a"), to("db"), to("db"))], ["db"]),
    "by default": ([OWN, ingress(to("a"), default=to("db"))], ["db"]),
    "a resource": ([OWN, ingress(BUCKET)], ["Bucket/a"]),
    "route to its own": ([OWN, route(name="a")], []),
    "route": ([OWN, route(name="db")], ["db"]),
    "gRPC route": ([OWN, route("GRPCRoute", name="db")], ["db"]),
    "its own namespace": ([OWN, route(name="a", namespace="ns")], []),
    "another namespace": ([OWN, route(name="a", namespace="b")], ["b/a"]),
    "group": ([OWN, route(name="a", kind="Service", group="x")], ["Service/a"]),
    "own pool": ([POOL, route(name="a", kind="InferencePool", group=POOLS)], []),
    "pool": ([OWN, route(name="a", kind="InferencePool", group=POOLS)], ["InferencePool/a"]),
    "other pool": ([POOL, route(name="a", kind="InferencePool", group="x")], ["InferencePool/a"]),
}


@pytest.mark.parametrize(
    ("children", "shown"),
    WITHIN_LIMITS_EXPOSED_SERVICES_CASES.values(),
    ids=WITHIN_LIMITS_EXPOSED_SERVICES_CASES,
)
def test_within_limits_exposed_services(children: list[Json], shown: list[str]) -> None:
    violations = violations_of({}, *children, NIMOPS_EXPOSED_SERVICES="")
    assert [violation.split('"')[1] for violation in violations] == shown
    assert all("NIMOPS_EXPOSED_SERVICES allows none" in violation for violation in violations)
    assert violations_of({}, *children, NIMOPS_EXPOSED_SERVICES="a,db,b/*,*/a") == []


def test_within_limits_own_backends() -> None:
    """Such as a Service that waits for its predecessor."""
    live = {"kind": "Service", "metadata": {"ownerReferences": [{"controller": True, "uid": "u"}]}}
    answers = {"Service/ns/a": live}
    assert check({}, ingress(to("a")), live=answers, NIMOPS_EXPOSED_SERVICES="").children


def test_within_limits_traffic() -> None:
    pod = {**POD, "metadata": {"name": "a", "labels": {"app": "db"}}}
    found = {"Service/ns/*": [{"metadata": {"name": "db"}, "spec": {"selector": {"app": "db"}}}]}
    assert check({}, pod, live=found).children
    with pytest.raises(NimError, match='Service "db" selects pods with app=db'):
        check({}, pod, live=found, NIMOPS_POD_LABELS="team")
