# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Objects and builds of others between two steps of the operator."""

from __future__ import annotations

from nimops_harness.cluster import Json
from nimops_harness.errors import HarnessError
from nimops_harness.workload import make_nimbuild, make_nimcache, make_nimservice

from .harness import Scene, attack, conditions_of
from .tenants import make_deployment

INPUT_TAG = "input_profile"
MOST_BUILT = 32
"""The limit of profiles that builds may add to a NIMCache."""


@attack("races", "objects that others create first are left alone", sides=("prefork",))
def attack_races(scene: Scene) -> str:
    """A Deployment of a child's name is created when the operator has decided to create it.

    That is so once its account is there, for which the operator's Deployment waits.
    """
    names = [f"race-{number}" for number in range(20)]
    theirs: dict[str, Json] = {}
    for name in names:
        scene.make(make_nimservice(name))
        account = scene.path("ServiceAccount", name)
        if not scene.wait_for(lambda: scene.cluster.find(account), pause=0.002):  # noqa: B023 called at once
            raise HarnessError(f"{name} got no child")
        body = {"metadata": {"name": name}} | make_deployment({"app": "theirs"})
        answer = scene.cluster.ask("POST", scene.path("Deployment"), body)
        if answer.status < 300:
            theirs[name] = answer.body
    scene.expect_answered()
    scene.expect_deleted()
    places = [scene.path("Deployment", name) for name in names if name not in theirs]
    scene.wait_for(lambda: not any(map(scene.cluster.find, places)), 10)
    for before in theirs.values():
        scene.expect_untouched("Deployment", before)
    scene.expect(theirs, "none came first: the attack did not take place")
    return f"{len(theirs)} of {len(names)} came first, and are left alone"


def make_profile(name: str, **tags: str) -> Json:
    return {"name": name, "model": "m", "release": "1.0.0", "config": tags}


@attack("full-cache", "builds do not fill the status of a NIMCache", sides=("prefork",))
def attack_full_cache(scene: Scene) -> str:
    """Builds of one tenant fill the status of another's NIMCache."""
    scene.make(make_nimcache("cache"))
    if not scene.wait_state("cache", kind="NIMCache"):
        raise HarnessError("no NIMCache became Ready")
    place = f"{scene.path('NIMCache', 'cache')}/status"
    built = [make_profile(f"b{number}", **{INPUT_TAG: "a"}) for number in range(MOST_BUILT)]
    profiles = [make_profile("a", trtllm_buildable="true"), *built]
    scene.cluster.patch(place, {"status": {"profiles": profiles}})
    for name in ("one", "other"):
        build = make_nimbuild(name)
        build["spec"]["nimCache"] = {"name": "cache", "profile": "a"}
        scene.make(build)
    scene.expect_answered()
    for name in ("one", "other"):
        reasons = [item.get("reason") for item in conditions_of(scene.read("NIMBuild", name))]
        scene.expect("NIMCacheFull" in reasons, f"NIMBuild {name}: {reasons}")
    listed = len(scene.status("NIMCache", "cache")["profiles"])
    scene.expect(listed == len(profiles), f"the NIMCache lists {listed} profiles")
    scene.expect_deleted()
    return f"two builds more than {MOST_BUILT} were refused, with a reason"
