# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Excessive values in annotations of the runtime."""

from __future__ import annotations

import contextlib
import typing as t

from nimops_harness.cluster import Json
from nimops_harness.errors import HarnessError
from nimops_harness.workload import make_nimservice

from .bases import rename
from .harness import Scene, attack
from .policies import without_policies

PREFIX = "ansible.sdk.operatorframework.io/"
CRUEL = {
    "verbosity": "9000000000000000000",
    "max-runner-artifacts": "0",
    "reconcile-period": "1ns",
}
REMOVED = "an operator without the policy removes it, creates an event, and serves others"


@attack("annotations-stored", REMOVED)
def attack_stored(scene: Scene) -> str:
    """The operator starts beside resources that were annotated without the policy."""
    scene.harness.stop()
    with without_policies(scene.cluster):
        for key, value in CRUEL.items():
            resource = rename(make_nimservice(key), key, annotations={PREFIX + key: value})
            if not scene.wait_for(lambda: scene.create(resource) is None, 20):  # noqa: B023 called at once
                raise HarnessError(f"{key} could not be stored")
    with cleaning(scene):
        scene.harness.start()
        return judge(scene)


@attack("annotations-live", REMOVED)
def attack_live(scene: Scene) -> str:
    """Resources are annotated without the policy while the operator runs."""
    scene.make(*map(make_nimservice, CRUEL))
    with cleaning(scene), without_policies(scene.cluster):
        for key, value in CRUEL.items():
            place = scene.path("NIMService", key)
            change = {"metadata": {"annotations": {PREFIX + key: value}}}
            if not scene.wait_for(lambda: not scene.cluster.merge(place, change).refusal, 20):  # noqa: B023 called at once
                raise HarnessError(f"{key} could not be annotated")
        return judge(scene)


def judge(scene: Scene) -> str:
    def list_silent() -> list[str]:
        said = [(it["involvedObject"]["name"], it.get("message") or "") for it in scene.events()]
        return [key for key in CRUEL if not any(of == key and PREFIX + key in text for of, text in said)]  # fmt: skip

    scene.expect_served(150)
    scene.wait_for(lambda: not list_silent(), 30)
    scene.problems += [f"no event about the annotation {key}" for key in list_silent()]
    for key in CRUEL:
        left = scene.read("NIMService", key)["metadata"].get("annotations") or {}
        scene.expect(PREFIX + key not in left, f"the annotation {key} is still there")
    return f"{len(CRUEL)} resources harmless; each has an event, others are served"


@contextlib.contextmanager
def cleaning(scene: Scene) -> t.Iterator[None]:
    """After the block, resources go without finalizers, and the operator starts for the next attacks.

    It starts with the policies, so they must be there again.
    """
    try:
        yield
    finally:
        scene.delete()
        for key in CRUEL:
            change: Json = {"metadata": {"finalizers": None, "annotations": None}}
            scene.cluster.merge(scene.path("NIMService", key), change)
        scene.harness.start()
