# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Large resources that were stored before the CRDs had bounds."""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

from nimops_harness.cluster import Json
from nimops_harness.errors import HarnessError
from nimops_harness.workload import conditions_of, make_nimservice

from .harness import Scene, attack
from .policies import is_bound, without

MOST_MIB = {"the runtime": 200, "nimops-apiproxy": 80}
"""Peaks with 20 resources of 1.3 MB. The limit of the pod is 1.5 GiB."""
ENTRIES, DEPTH = 40_000, 800
DEEP_FIELD = "spec.expose.router.eppConfig.config" + ".a" * 3
LARGE_ENV = [{"name": f"VARIABLE_{number}", "value": "v"} for number in range(ENTRIES)]


def make_deep(name: str) -> Json:
    """A deep value in a field that preserves unknown fields, which has no bounds."""
    config: Json = {}
    for _level in range(DEPTH):
        config = {"a": config}
    config["plugins"] = [{"type": "queue-scorer"}]
    scorer = {"pluginRef": "queue-scorer"}
    config["schedulingProfiles"] = [{"name": "default", "plugins": [scorer]}]
    image = {"repository": "registry.example/acme/epp", "tag": "1.0.0"}
    resource = make_nimservice(name)
    picker = {"containerSpec": {"name": "epp", "image": image}, "config": config}
    resource["spec"]["expose"]["router"] = {"eppConfig": picker}
    return resource


def expect_stored(scene: Scene, store: t.Callable[[], object], name: str) -> None:
    """Repeat a request until the CRD has no bounds."""
    if not scene.wait_for(store, 30):
        raise HarnessError(f"{name} could not be stored")


@attack(
    "size-oversized-stored",
    "resources of 1.3 MB, and deep ones, take no memory; conditions and events name the field",
    sides=("prefork",),
)
def attack_stored(scene: Scene) -> str:
    """The operator starts beside stored resources; one of them is shortened, all are deleted."""
    scene.harness.stop()
    names = [f"large-{number}" for number in range(20)]
    stored = [make_nimservice(name, env=LARGE_ENV) for name in names] + [make_deep("deep")]
    with without(scene.cluster, is_bound, ["NIMService"]):
        for item in stored:
            expect_stored(scene, lambda: scene.create(item) is None, item["metadata"]["name"])  # noqa: B023 called at once
    scene.harness.start()
    # Each write takes the API server seconds of CPU.
    scene.expect_answered(400)
    for name in names:
        judge_refusal(scene, name, "spec.env")
        env = (scene.read("NIMService", name).get("spec") or {}).get("env") or []
        scene.expect(len(env) == ENTRIES, f"{name}: it has {len(env)} variables left")
    judge_refusal(scene, "deep", DEEP_FIELD)
    about = [it["involvedObject"]["name"] for it in scene.events if "more than" in str(it.get("message"))]  # fmt: skip
    for name in (*names, "deep"):
        scene.expect(about.count(name) == 1, f"{name}: {about.count(name)} events")
    memory = judge_memory(scene)
    judge_shortened(scene, names[0])
    scene.expect_served()
    scene.expect_deleted(180)
    return f"{len(stored)} reported, and deleted; {memory}"


def judge_refusal(scene: Scene, name: str, field: str) -> None:
    """Problems with the conditions of one resource."""
    found = scene.read("NIMService", name)
    conditions = {item["type"]: item for item in conditions_of(found)}
    for kind in ("Failed", "Stalled"):
        said = conditions.get(kind) or {}
        reason, message = said.get("reason"), str(said.get("message"))
        is_named = reason == "TooLarge" and message.startswith(f"{field}: ")
        scene.expect(is_named, f"{name}: {kind} says {reason}: {message}")
    is_whole = found["metadata"].get("finalizers") and found.get("spec")
    scene.expect(is_whole, f"{name}: it lost its spec, or got no finalizer")


def judge_memory(scene: Scene) -> str:
    operator = scene.harness.ensure()
    pids = {"the runtime": [operator.runtime_pid], "nimops-apiproxy": operator.api_proxy_pids()}
    peaks = {name: max(map(peak_mib, found), default=0.0) for name, found in pids.items()}
    for name, most in MOST_MIB.items():
        scene.expect(peaks[name] <= most, f"{name} took {peaks[name]:.0f} MiB")
    return f"at most {', '.join(f'{name} {peak:.0f} MiB' for name, peak in peaks.items())}"


def peak_mib(pid: int) -> float:
    """The peak memory of a process."""
    found = re.search(r"^VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return int(found[1]) / 1024 if found else 0.0


def judge_shortened(scene: Scene, name: str) -> None:
    """A shortened resource is served; when it is too large again, its pods stay unchanged."""
    scene.change(name, {"spec": {"env": [{"name": "A", "value": "b"}]}})
    if not scene.wait_state(name, limit=90):
        raise HarnessError(f"{name}: it is not Ready when it has been shortened")
    before = scene.read("Deployment", name)
    place, change = scene.path("NIMService", name), {"spec": {"env": LARGE_ENV}}
    with without(scene.cluster, is_bound, ["NIMService"]):
        expect_stored(scene, lambda: not scene.cluster.merge(place, change).refusal, name)
    is_failed = scene.wait_state(name, "Failed")
    scene.expect(is_failed, f"{name}: it is not Failed when it is too large again")
    is_same = scene.read("Deployment", name).get("spec") == before.get("spec")
    scene.expect(is_same, f"{name}: its Deployment was changed")
    judge_refusal(scene, name, "spec.env")
