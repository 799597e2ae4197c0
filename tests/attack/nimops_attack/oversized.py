# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Resources that are too large, stored before the CRDs had bounds."""

from __future__ import annotations

import contextlib
import typing as t
from pathlib import Path

import yaml
from nimops_harness import proc
from nimops_harness.runtime import ROOT
from nimops_harness.workload import make_nimservice

from .fields import Json
from .harness import Harness, Seen, attack, path_to

MOST_MIB = {"the runtime": 200, "nimops-apiproxy": 80}
"""Peaks with 20 resources of 1.3 MB. The limit of the pod is 1.5 GiB."""
KIND, REASON = "NIMService", "TooLarge"
FILE = ROOT / "config" / "crd" / "bases" / "apps.nvidia.com_nimservices.yaml"
CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nimservices.apps.nvidia.com"
BOUNDS = ("maxItems", "maxLength", "maxProperties", "x-kubernetes-validations")
ENTRIES, DEPTH = 40_000, 800


def make_env(entries: int) -> list[Json]:
    return [{"name": f"VARIABLE_{number}", "value": "v"} for number in range(entries)]


def make_large(name: str, entries: int = ENTRIES) -> Json:
    resource = make_nimservice(name)
    resource["spec"]["env"] = make_env(entries)
    return resource


def make_deep(name: str) -> Json:
    """A deep value in a field that preserves unknown fields, which has no bounds."""
    resource = make_nimservice(name)
    deep: Json = {}
    for _level in range(DEPTH):
        deep = {"a": deep}
    config = {
        "plugins": [{"type": "queue-scorer"}],
        "schedulingProfiles": [{"name": "default", "plugins": [{"pluginRef": "queue-scorer"}]}],
        **deep,
    }
    image = {"repository": "registry.example/acme/epp", "tag": "1.0.0"}
    picker = {"containerSpec": {"name": "epp", "image": image}, "config": config}
    resource["spec"]["expose"]["router"] = {"eppConfig": picker}
    return resource


def without_bounds(schema: t.Any) -> t.Any:
    if isinstance(schema, dict):
        return {key: without_bounds(item) for key, item in schema.items() if key not in BOUNDS}
    return [without_bounds(item) for item in schema] if isinstance(schema, list) else schema


@contextlib.contextmanager
def unbounded(harness: Harness) -> t.Iterator[None]:
    """During the block, the CRD has no bounds."""
    bounded = yaml.safe_load(FILE.read_text())
    replace_crd(harness, without_bounds(bounded))
    try:
        yield
    finally:
        replace_crd(harness, bounded)


def replace_crd(harness: Harness, wanted: Json) -> None:
    live = harness.cluster.get(CRD)
    harness.cluster.request("PUT", CRD, {**live, "spec": {**live["spec"], **wanted["spec"]}})


def store(harness: Harness, namespace: str, resources: t.Sequence[Json]) -> str:
    """The problem if one cannot be stored; a new CRD takes effect a moment later."""
    with unbounded(harness):
        for item in resources:
            said: list[t.Any] = []

            def is_stored(item: Json = item, said: list[t.Any] = said) -> bool:
                said[:] = [harness.create(namespace, item)]
                return said == [None]

            if not harness.wait_for("an unbounded CRD", is_stored, 30):
                return f"{item['metadata']['name']} could not be stored: {said}"
    return ""


def peak_mib(pid: int) -> float:
    """The peak memory of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0


def judge_memory(harness: Harness) -> tuple[list[str], str]:
    operator = harness.ensure()
    pids = {"the runtime": [operator.runtime_pid], "nimops-apiproxy": operator.api_proxy_pids()}
    peaks = {name: max(map(peak_mib, found), default=0.0) for name, found in pids.items()}
    all_mib = proc.read_memory(operator.processes()).pss
    memory = ", ".join(f"{name} {peak:.0f} MiB" for name, peak in peaks.items())
    problems = [
        f"{name} took {peaks[name]:.0f} MiB"
        for name, most in MOST_MIB.items()
        if peaks[name] > most
    ]
    return problems, f"at most {memory}; all processes {all_mib:.0f} MiB"


def judge(harness: Harness, namespace: str, name: str, field: str) -> list[str]:
    """Problems with the conditions of one resource."""
    found = harness.read(KIND, namespace, name) or {"metadata": {}, "spec": {}}
    conditions = {
        item["type"]: item for item in (found.get("status") or {}).get("conditions") or []
    }
    problems = []
    for kind in ("Failed", "Stalled"):
        said = conditions.get(kind) or {}
        if said.get("reason") != REASON or not str(said.get("message")).startswith(f"{field}: "):
            problems.append(f"{name}: {kind} says {said.get('reason')}: {said.get('message')}")
    if not found["metadata"].get("finalizers") or "spec" not in found or not found["spec"]:
        problems.append(f"{name}: it lost its spec, or got no finalizer")
    return problems


def judge_events(harness: Harness, namespace: str, names: t.Sequence[str]) -> list[str]:
    events = harness.cluster.get(f"/api/v1/namespaces/{namespace}/events")["items"]
    found = [
        item["involvedObject"]["name"]
        for item in events
        if "more than" in (item.get("message") or "") and item["type"] == "Warning"
    ]
    return [f"{name}: {found.count(name)} events" for name in names if found.count(name) != 1]


@attack(
    "size-oversized-stored",
    "resources of 1.3 MB, and deep ones, take no memory; conditions and events name the field",
    sides=("prefork",),
    quick=True,
)
def attack_stored(harness: Harness) -> Seen:
    """The operator starts beside stored resources; one of them is shortened, all are deleted."""
    harness.stop()
    namespace = harness.namespace("oversized")
    large = [f"large-{number}" for number in range(2 if harness.quick else 20)]
    names = [*large, "deep"]
    if fault := store(harness, namespace, [*map(make_large, large), make_deep("deep")]):
        return Seen(False, f"{fault}: the attack did not take place")
    harness.start()
    problems = harness.find_unanswered(KIND, namespace, names, 180)
    for name in large:
        problems += judge(harness, namespace, name, "spec.env")
        env = ((harness.read(KIND, namespace, name) or {}).get("spec") or {}).get("env") or []
        problems += [f"{name}: it has {len(env)} variables left"] if len(env) != ENTRIES else []
    field = "spec.expose.router.eppConfig.config" + ".a" * 3
    problems += judge(harness, namespace, "deep", field)
    problems += judge_events(harness, namespace, names)
    worse, memory = judge_memory(harness)
    problems += worse + judge_shortened(harness, namespace, large[0])
    problems += harness.find_unserved(namespace)
    problems += harness.find_undeleted(KIND, namespace, names, 180)
    return Seen.of(problems, f"{len(names)} reported, and deleted; {memory}")


def judge_shortened(harness: Harness, namespace: str, name: str) -> list[str]:
    """A shortened resource is served; when it is too large again, its pods stay unchanged."""
    place = path_to(KIND, namespace, name)
    harness.cluster.patch(place, {"spec": {"env": [{"name": "A", "value": "b"}]}})
    if not harness.wait_state(KIND, namespace, name, limit=90):
        return [f"{name}: it is not Ready when it has been shortened"]
    home = f"/apis/apps/v1/namespaces/{namespace}/deployments/{name}"
    before = harness.cluster.get(home)
    with unbounded(harness):
        change = {"spec": {"env": make_env(ENTRIES)}}
        if not harness.wait_for(
            "an unbounded CRD", lambda: harness.cluster.merge(place, change).refusal is None, 30
        ):  # fmt: skip
            return [f"{name}: it could not be made large again"]
    if not harness.wait_state(KIND, namespace, name, "Failed"):
        return [f"{name}: it is not Failed when it is too large again"]
    after = harness.cluster.find(home) or {"metadata": {}}
    is_same = after["metadata"].get("generation") == before["metadata"]["generation"]
    return [*judge(harness, namespace, name, "spec.env")] + (
        [] if is_same else [f"{name}: its Deployment was changed"]
    )
