# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Oversized resources of every kind: no plan, a condition, an event, and finalization."""

from __future__ import annotations

import json
import re
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import FINAL, TOO_LARGE
from ansible_collections.nimops.nim.plugins.module_utils._cluster.facts import Facts
from ansible_collections.nimops.nim.plugins.module_utils._cluster.simulated import SimulatedCluster
from ansible_collections.nimops.nim.plugins.module_utils._engine import steps
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import Outcome
from ansible_collections.nimops.nim.plugins.module_utils._engine.metadata import owner_reference
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._engine.oversized import (
    ANNOTATION,
    MAX_BYTES,
    MAX_DEPTH,
    find_excess,
    is_stub,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.reconcile import reconcile
from ansible_collections.nimops.nim.plugins.module_utils._gpu.nodes import OWNER
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_names, kind_of

Json = dict[str, t.Any]

PROXY = Path(__file__).parents[5] / "packages" / "nimops-apiproxy" / "internal" / "stub" / "stub.go"
STAYS = " (running workloads stay unchanged)"
EXCESS = {"bytes": 1364992, "limit": 262144, "field": "spec.env", "fieldBytes": 1258496}
TEXT = (
    "spec.env: the resource has 1.3 MiB as JSON, more than 256 KiB: shorten spec.env (1.2 MiB)"
    + STAYS
)


def resource(kind: str = "NIMService", **fields: t.Any) -> Json:
    metadata = {"name": "a", "namespace": "nim", "uid": "u", "generation": 2}
    return {"apiVersion": "x/v1", "kind": kind, "metadata": metadata, **fields}


def stub(kind: str = "NIMService", annotation: t.Any = EXCESS, **fields: t.Any) -> Json:
    made = resource(kind, **fields)
    made["metadata"]["annotations"] = {
        ANNOTATION: annotation if annotation is str else json.dumps(annotation)
    }
    return made


def env(count: int) -> list[Json]:
    return [{"name": f"NAME_{number}", "value": "v"} for number in range(count)]


def nested(depth: int) -> t.Any:
    value: t.Any = 1
    for _level in range(depth):
        value = {"a": value}
    return value


def large(kind: str = "NIMService", **fields: t.Any) -> Json:
    """Few long variables: a pass measures each of them several times."""
    long = [item | {"value": "v" * 1000} for item in env(400)]
    return resource(kind, spec={"env": long}, **fields)


def deep(kind: str = "NIMService", depth: int = 100, **fields: t.Any) -> Json:
    config = {"expose": {"router": {"eppConfig": {"config": nested(depth)}}}}
    return resource(kind, spec=config, **fields)


def test_too_large_is_final() -> None:
    assert TOO_LARGE in FINAL


def test_limits_equal_those_of_apiproxy() -> None:
    if not PROXY.exists():
        pytest.skip("the proxy's sources are not here")
    text = PROXY.read_text()
    assert f'Annotation = "{ANNOTATION}"' in text
    assert re.search(r"MaxBytes = (.*)", text)[1] == f"{MAX_BYTES >> 10} << 10"  # type: ignore[index]
    assert re.search(r"MaxDepth = (.*)", text)[1] == str(MAX_DEPTH)  # type: ignore[index]


@pytest.mark.parametrize(
    "given",
    [
        resource(),
        resource(spec={"env": env(5000)}),
        resource(spec=nested(MAX_DEPTH - 1)),
        resource(spec={}, status={"profiles": ["x" * MAX_BYTES]}),
        resource(spec={}, metadata={"name": "a", "managedFields": ["x" * MAX_BYTES]}),
        {**stub(), "spec": {"a": 1}},
    ],
    ids=["empty", "usual", "as deep", "status", "managedFields", "annotated by a user"],
)
def test_find_excess_none(given: Json) -> None:
    assert find_excess(given) is None
    assert not is_stub(given)


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"env": env(10000)}, "spec.env"),
        (
            {"image": {}, "nodeSelector": {f"k{n}": "x" * 99 for n in range(4000)}},
            "spec.nodeSelector",
        ),
        ({"services": [{}, {"spec": {"env": env(10000)}}]}, "spec.services[1].spec.env"),
        ({"a": "x" * MAX_BYTES}, "spec.a"),
        ({"ä": "ö" * (MAX_BYTES // 2)}, "spec.ä"),
        ({"a\x1b\n" + "k" * 99: "x" * MAX_BYTES}, f"spec.a{'k' * 62}"),
        (dict.fromkeys("abc", "x" * (MAX_BYTES // 2)), "spec"),
    ],
    ids=["list", "map", "in a list", "text", "bytes count", "odd key", "many fields"],
)
def test_find_excess_names_field(spec: Json, field: str) -> None:
    found = find_excess(resource(spec=spec))
    assert found
    assert found.reason == TOO_LARGE
    assert re.fullmatch(
        rf"{re.escape(field)}: the resource has [\d.]+ [KM]iB as JSON, more than 256 KiB: shorten"
        rf" {re.escape(field)} \([\d.]+ [KM]iB\) \(running workloads stay unchanged\)",
        str(found),
    )


def test_find_excess_counts_metadata() -> None:
    given = resource(spec={})
    given["metadata"]["annotations"] = {"a": "x" * MAX_BYTES}
    assert str(find_excess(given)).startswith("metadata.annotations.a: ")


def test_find_excess_depth() -> None:
    assert str(find_excess(deep(depth=10000))) == (
        "spec.expose.router.eppConfig.config.a.a.a: lists and maps are nested 10005 levels deep,"
        f" more than 64: flatten them{STAYS}"
    )


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (EXCESS, TEXT),
        (
            {"depth": 100, "limit": 64, "field": "spec.a"},
            f"spec.a: lists and maps are nested 100 levels deep, more than 64: flatten them{STAYS}",
        ),
        ("no map", None),
        ([], None),
        ({"bytes": "x", "limit": -1, "field": {"a": []}, "fieldBytes": 1 << 80}, None),
        ({"field": "\x1b[31m" + "x" * 9999}, None),
    ],
)
def test_stub_error(annotation: t.Any, text: str | None) -> None:
    found = find_excess(stub(annotation=annotation))
    assert found
    assert found.reason == TOO_LARGE
    assert str(found) == text if text else len(str(found)) < 2000
    assert str(found).isprintable()


def test_stub_error_invalid_annotation() -> None:
    given = stub()
    given["metadata"]["annotations"][ANNOTATION] = "[" * 100000
    assert find_excess(given)


def conditions(status: Json) -> dict[str, tuple[str, str, str]]:
    return {
        item["type"]: (item["status"], item["reason"], item["message"])
        for item in status["conditions"]
    }


FAILING = {
    "NIMCache": "NIM_CACHE_RECONCILE_FAILED",
    "NIMBuild": "NIM_BUILD_RECONCILE_FAILED",
    "NIMPipeline": "Stalled",
    "ClusterPolicy": "Error",
    "NVIDIADriver": "Error",
}
STATES = {"NIMCache": "NotReady", "NIMBuild": "Pending", "ClusterPolicy": "notReady"}
STATES["NVIDIADriver"] = "notReady"


@pytest.mark.parametrize("make", [stub, large, deep])
@pytest.mark.parametrize("name", kind_names())
def test_pass_without_plan_reports_once(name: str, make: t.Callable[..., Json]) -> None:
    cluster, given = SimulatedCluster(Facts([]).ask), make(name)
    kind, excess = kind_of(given), find_excess(given)
    done = reconcile(kind, given, cluster)
    assert done.plan.is_empty
    assert set(done.answers) == {"operator"}
    assert not done.desired.children
    assert (done.report.error, done.report.period) == ("", "")
    status = done.report.status
    assert status["observedGeneration"] == 2
    assert status["state"] == STATES.get(name, "Failed")
    found = conditions(status)
    assert found["Stalled"] == ("True", TOO_LARGE, str(excess))
    assert found[FAILING.get(name, "Failed")][::2] == ("True", str(excess))
    assert "Reconciling" not in found
    if "Ready" in found:
        assert found["Ready"][0] == "False"
    assert kind.refuse
    assert excess
    app = kind.app(given, Observed({}))
    (event,) = kind.refuse(app, excess).events
    assert (event.kind, event.message[-len(str(excess)) :]) == ("Warning", str(excess))
    again = reconcile(kind, {**given, "status": status}, cluster)
    assert again.report.status == status
    assert not again.report.changed
    app = kind.app({**given, "status": status}, Observed({}))
    assert not kind.refuse(app, excess).events


@pytest.mark.parametrize("name", kind_names())
def test_pass_keeps_other_status_fields(name: str) -> None:
    """A stub may lack large fields of the status, which a merge patch then leaves alone."""
    ready = {"state": "Ready", "model": {"name": "m"}, "pvc": "p", "onDeletion": "x", "states": {}}
    given, cluster = stub(name, status=ready), SimulatedCluster(Facts([]).ask)
    status = reconcile(kind_of(given), given, cluster).report.status
    assert {key: status[key] for key in ("model", "pvc", "onDeletion", "states")} == {
        key: ready[key] for key in ("model", "pvc", "onDeletion", "states")
    }


@pytest.mark.parametrize("make", [stub, large, deep])
@pytest.mark.parametrize("name", kind_names())
def test_pass_finalizes_oversized_resource(name: str, make: t.Callable[..., Json]) -> None:
    given = make(name)
    given["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    done = reconcile(kind_of(given), given, SimulatedCluster(Facts([]).ask))
    assert (done.report.error, done.outcome.failure) == ("", "")
    assert done.plan.is_empty


@pytest.mark.parametrize("name", kind_names())
def test_pass_reason_despite_run_failure(name: str) -> None:
    given = stub(name)
    failed = Outcome(failure="the API server is away")
    report = steps.report(kind_of(given), given, {}, failed, SimulatedCluster(Facts([]).ask))
    assert report.error == ""
    assert conditions(report.status)["Stalled"][1] == TOO_LARGE


def test_nvidiadriver_oversized_releases_nodes() -> None:
    given = stub("NVIDIADriver")
    given["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    del given["metadata"]["namespace"]
    kind, cluster = kind_of(given), SimulatedCluster(Facts([gpu_node("a")]).ask)
    _desired, plan = steps.plan(kind, given, Observed(steps.observe(kind, given, cluster)))
    assert [item["metadata"]["labels"][OWNER] for item in plan.patch] == [None]


# Stubs as dependencies of resources of our kinds


def live_stub(kind: str, name: str, owner: Json | None = None, **status: t.Any) -> Json:
    made = stub(kind, status=status)
    made["apiVersion"] = kind_of(made).api_version
    made["metadata"] |= {"name": name, "uid": f"uid-{name}"}
    if owner:
        made["metadata"]["ownerReferences"] = [owner_reference(owner)]
    if not kind_of(made).is_namespaced:
        del made["metadata"]["namespace"]
    return made


def served(kind: str, spec: Json, name: str = "mine") -> Json:
    made = resource(kind, spec=spec)
    made["apiVersion"] = kind_of(made).api_version
    made["metadata"] |= {"name": name, "uid": f"uid-{name}"}
    if not kind_of(made).is_namespaced:
        del made["metadata"]["namespace"]
    return made


def applied(plan: t.Any) -> list[str]:
    return [f"{item['kind']}/{item['metadata']['name']}" for item in plan.apply]


IMAGE = {"repository": "registry.example/nim", "tag": "1.0"}
SERVICE = {"image": IMAGE, "authSecret": "s", "storage": {"emptyDir": {}}}


def test_nimpipeline_keeps_oversized_service() -> None:
    entries = [{"name": name, "enabled": True, "spec": SERVICE} for name in ("a", "b")]
    pipeline = served("NIMPipeline", {"services": entries})
    child, leftover = (live_stub("NIMService", name, pipeline) for name in ("a", "left"))
    done = reconcile(kind_of(pipeline), pipeline, SimulatedCluster(Facts([child, leftover]).ask))
    assert applied(done.plan) == ["NIMService/b"]
    assert [item["metadata"]["name"] for item in done.plan.prune] == ["left"]
    status, reason, message = conditions(done.report.status)["Stalled"]
    assert (status, reason) == ("True", "NIMServiceTooLarge")
    assert message == f"spec.services[0]: NIMService a: {TEXT}"
    assert (done.report.status["state"], done.report.error) == ("Failed", "")


def test_nimpipeline_ignores_foreign_oversized_service() -> None:
    entries = [{"name": "a", "enabled": True, "spec": SERVICE}]
    pipeline = served("NIMPipeline", {"services": entries})
    done = reconcile(
        kind_of(pipeline), pipeline, SimulatedCluster(Facts([live_stub("NIMService", "a")]).ask)
    )
    assert conditions(done.report.status)["Stalled"][1] == "NIMServiceNotOwned"


@pytest.mark.parametrize("state", ["Ready", "NotReady"])
def test_nimservice_reports_oversized_cache(state: str) -> None:
    service = served("NIMService", {**SERVICE, "storage": {"nimCache": {"name": "cache"}}})
    cache = live_stub("NIMCache", "cache", state=state)
    done = reconcile(kind_of(service), service, SimulatedCluster(Facts([cache]).ask))
    assert "Deployment/mine" not in applied(done.plan)
    _status, reason, message = conditions(done.report.status)["Failed"]
    assert reason == "NIMCacheTooLarge"
    assert message == f"NIMCache cache is too large to be served: {TEXT}"


def test_nimbuild_reports_oversized_cache() -> None:
    build = served("NIMBuild", {"image": IMAGE, "nimCache": {"name": "cache"}})
    cache = live_stub("NIMCache", "cache", state="Ready", pvc="p")
    done = reconcile(kind_of(build), build, SimulatedCluster(Facts([cache]).ask))
    assert done.plan.is_empty
    assert conditions(done.report.status)["Stalled"][1] == "NIMCacheTooLarge"


def test_nimcache_ignores_oversized_users() -> None:
    source = {
        "ngc": {"modelPuller": "registry.example/nim:1", "pullSecret": "p", "authSecret": "s"}
    }
    cache = served(
        "NIMCache",
        {
            "source": source,
            "storage": {
                "pvc": {"create": True, "size": "1Gi", "volumeAccessMode": "ReadWriteOnce"}
            },
        },
    )
    users = [live_stub(kind, "user") for kind in ("NIMService", "NIMBuild")]
    done = reconcile(kind_of(cache), cache, SimulatedCluster(Facts(users).ask))
    assert "PersistentVolumeClaim/mine-pvc" in applied(done.plan)


def gpu_node(owner: str) -> Json:
    nfd = {"feature.node.kubernetes.io/pci-10de.present": "true"}
    labels = {**nfd, "nvidia.com/gpu.present": "true", OWNER: owner}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": labels}}


def test_nvidiadriver_stays_with_oversized_policy() -> None:
    """Without a spec, a policy seems to install the drivers itself."""
    driver = served("NVIDIADriver", {"default": True})
    facts = Facts([live_stub("ClusterPolicy", "policy"), driver, gpu_node("mine")])
    done = reconcile(kind_of(driver), driver, SimulatedCluster(facts.ask))
    assert done.plan.is_empty
    assert conditions(done.report.status)["Stalled"][1] == TOO_LARGE


def test_nvidiadriver_oversized_keeps_nodes() -> None:
    """Without a spec, a driver seems to select all nodes."""
    policy = served("ClusterPolicy", {"driver": {"useNvidiaDriverCRD": True}}, "policy")
    image = {"repository": "registry.example", "image": "driver", "version": "1"}
    driver = served("NVIDIADriver", {"nodeSelector": {}, **image})
    others = [policy, driver, live_stub("NVIDIADriver", "other"), gpu_node("other")]
    done = reconcile(kind_of(driver), driver, SimulatedCluster(Facts(others).ask))
    assert [item for item in done.plan.patch if OWNER in str(item)] == []
    message = conditions(done.report.status)["Error"][2]
    assert message == f"node n keeps the driver of NVIDIADriver other: {TEXT}"
