# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Resources that are too large, stored before the CRDs had bounds."""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

from nimops_harness.cluster import Json
from nimops_harness.errors import HarnessError
from nimops_harness.workload import make_nimservice

from .harness import Scene, attack, conditions_of
from .policies import is_bound, without

MOST_MIB = {"the runtime": 200, "nimops-apiproxy": 80}
"""Peaks with 20 resources of 1.3 MB. The limit of the pod is 1.5 GiB."""
KIND, REASON = "NIMService", "TooLarge"
ENTRIES, DEPTH = 40_000, 800


def make_env(entries: int) -> list[Json]:
    return [{"name": f"VARIABLE_{number}", "value": "v"} for number in range(entries)]


def make_large(name: str) -> Json:
    return make_nimservice(name, env=make_env(ENTRIES))


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


def store(scene: Scene, *resources: Json) -> None:
    with without(scene.cluster, is_bound, [KIND]):
        for item in resources:
            if not scene.wait_for(lambda: scene.create(item) is None, 30):  # noqa: B023 called at once
                raise HarnessError(f"{item['metadata']['name']} could not be stored")


def peak_mib(pid: int) -> float:
    """The peak memory of a process."""
    found = re.search(r"^VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return int(found[1]) / 1024 if found else 0.0


def judge_memory(scene: Scene) -> str:
    operator = scene.harness.ensure()
    pids = {"the runtime": [operator.runtime_pid], "nimops-apiproxy": operator.api_proxy_pids()}
    peaks = {name: max(map(peak_mib, found), default=0.0) for name, found in pids.items()}
    for name, most in MOST_MIB.items():
        scene.expect(peaks[name] <= most, f"{name} took {peaks[name]:.0f} MiB")
    memory = ", ".join(f"{name} {peak:.0f} MiB" for name, peak in peaks.items())
    return f"at most {memory}; all processes {operator.memory().pss:.0f} MiB"


def judge(scene: Scene, name: str, field: str) -> None:
    """Problems with the conditions of one resource."""
    found = scene.read(KIND, name)
    conditions = {item["type"]: item for item in conditions_of(found)}
    for kind in ("Failed", "Stalled"):
        said = conditions.get(kind) or {}
        reason, message = said.get("reason"), str(said.get("message"))
        is_named = reason == REASON and message.startswith(f"{field}: ")
        scene.expect(is_named, f"{name}: {kind} says {reason}: {message}")
    is_whole = found["metadata"].get("finalizers") and found.get("spec")
    scene.expect(is_whole, f"{name}: it lost its spec, or got no finalizer")


def judge_events(scene: Scene, names: t.Sequence[str]) -> None:
    found = [
        item["involvedObject"]["name"]
        for item in scene.events()
        if "more than" in (item.get("message") or "") and item["type"] == "Warning"
    ]
    for name in names:
        scene.expect(found.count(name) == 1, f"{name}: {found.count(name)} events")


@attack(
    "size-oversized-stored",
    "resources of 1.3 MB, and deep ones, take no memory; conditions and events name the field",
    sides=("prefork",),
    quick=True,
)
def attack_stored(scene: Scene) -> str:
    """The operator starts beside stored resources; one of them is shortened, all are deleted."""
    scene.harness.stop()
    large = [f"large-{number}" for number in range(2 if scene.quick else 20)]
    store(scene, *map(make_large, large), make_deep("deep"))
    scene.harness.start()
    scene.expect_answered(180)
    for name in large:
        judge(scene, name, "spec.env")
        env = (scene.read(KIND, name).get("spec") or {}).get("env") or []
        scene.expect(len(env) == ENTRIES, f"{name}: it has {len(env)} variables left")
    judge(scene, "deep", "spec.expose.router.eppConfig.config" + ".a" * 3)
    judge_events(scene, [*large, "deep"])
    memory = judge_memory(scene)
    judge_shortened(scene, large[0])
    scene.expect_served()
    scene.expect_deleted(180)
    return f"{len(large) + 1} reported, and deleted; {memory}"


def judge_shortened(scene: Scene, name: str) -> None:
    """A shortened resource is served; when it is too large again, its pods stay unchanged."""
    scene.change(name, {"spec": {"env": [{"name": "A", "value": "b"}]}})
    if not scene.wait_state(name, limit=90):
        raise HarnessError(f"{name}: it is not Ready when it has been shortened")
    before = scene.read("Deployment", name)
    place, change = scene.path(KIND, name), {"spec": {"env": make_env(ENTRIES)}}
    with without(scene.cluster, is_bound, [KIND]):
        if not scene.wait_for(lambda: not scene.cluster.merge(place, change).refusal, 30):
            raise HarnessError(f"{name}: it could not be made large again")
    is_failed = scene.wait_state(name, "Failed")
    scene.expect(is_failed, f"{name}: it is not Failed when it is too large again")
    after = scene.read("Deployment", name)
    is_same = after["metadata"].get("generation") == before["metadata"].get("generation", 0)
    scene.expect(is_same, f"{name}: its Deployment was changed")
    judge(scene, name, "spec.env")
