# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Fields that the switches of a hardened operator forbid, and excessive annotations of the runtime."""

from __future__ import annotations

import contextlib
import typing as t
from functools import partial
from pathlib import Path

import yaml
from nimops_harness.cluster import Json
from nimops_harness.errors import HarnessError
from nimops_harness.workload import make_nimservice

from .harness import Scene, attack, messages_of
from .policies import without_policies

SWITCHES = {
    "NIMOPS_HOST_PATHS": "/data/models",
    "NIMOPS_ROOT_USER": "forbid",
    "NIMOPS_INGRESS_ANNOTATIONS": "example.com/allowed",
    "NIMOPS_POD_LABELS": "team",
    "NIMOPS_PROBE_HOSTS": "*.example",
    "NIMOPS_EXPOSED_SERVICES": "shared",
}
FORBIDDEN: list[Json] = yaml.safe_load(Path(__file__).with_name("switches.yaml").read_text())
PREFIX = "ansible.sdk.operatorframework.io/"
CRUEL = {
    "verbosity": "9000000000000000000",
    "max-runner-artifacts": "0",
    "reconcile-period": "1ns",
}


@attack(
    "switches",
    "each spec of switches.yaml is refused by the name of its switch",
    sides=("prefork",),
)
def attack_switches(scene: Scene) -> str:
    ports = [{"port": 5432}]
    scene.plant("Service", "db", {"spec": {"ports": ports, "selector": {"app": "postgres"}}})
    scene.harness.start(**SWITCHES)
    for case in FORBIDDEN:
        scene.make(make_nimservice(case["name"], **case["spec"]))
    scene.expect_answered()
    for name, switch in [(case["name"], case["switch"]) for case in FORBIDDEN]:
        found = scene.read("NIMService", name)
        state = (found.get("status") or {}).get("state")
        is_refused = state == "Failed" and switch in " ".join(messages_of(found))
        scene.expect(is_refused, f"{name} is {state}, and does not name {switch}")
        scene.expect(not scene.find("Deployment", name), f"{name} has a Deployment")
    scene.expect_served()
    scene.expect_deleted()
    scene.harness.start()
    return f"{len(FORBIDDEN)} resources refused, each by the name of the switch; others are served"


def attack_annotations(is_stored: bool, scene: Scene) -> str:
    """Resources are annotated without the policy, before the operator starts or while it runs."""
    if is_stored:
        scene.harness.stop()
    scene.make(*map(make_nimservice, CRUEL))
    with cleaning(scene):
        with without_policies(scene.cluster):
            for key, value in CRUEL.items():
                change = {"metadata": {"annotations": {PREFIX + key: value}}}
                place = scene.path("NIMService", key)
                if not scene.wait_for(lambda: not scene.cluster.merge(place, change).refusal, 20):  # noqa: B023 called at once
                    raise HarnessError(f"{key} could not be annotated")
            if not is_stored:
                judge_annotations(scene)
        if is_stored:
            scene.harness.start()
            judge_annotations(scene)
    return f"{len(CRUEL)} resources harmless; each has an event, others are served"


def judge_annotations(scene: Scene) -> None:
    def list_silent() -> list[str]:
        said = [(it["involvedObject"]["name"], it.get("message") or "") for it in scene.events]
        return [key for key in CRUEL if not any(of == key and PREFIX + key in text for of, text in said)]  # fmt: skip

    scene.expect_served(150)
    scene.wait_for(lambda: not list_silent(), 30)
    scene.problems += [f"no event about the annotation {key}" for key in list_silent()]
    for key in CRUEL:
        left = scene.read("NIMService", key)["metadata"].get("annotations") or {}
        scene.expect(PREFIX + key not in left, f"the annotation {key} is still there")


@contextlib.contextmanager
def cleaning(scene: Scene) -> t.Iterator[None]:
    """After the block, resources go without finalizers, and the operator starts for the next attacks."""
    try:
        yield
    finally:
        scene.delete()
        for key in CRUEL:
            change: Json = {"metadata": {"finalizers": None, "annotations": None}}
            scene.cluster.merge(scene.path("NIMService", key), change)
        scene.harness.start()


for _name in ("stored", "live"):
    attack(
        f"annotations-{_name}",
        "an operator without the policy removes it, creates an event, and serves others",
    )(partial(attack_annotations, _name == "stored"))
