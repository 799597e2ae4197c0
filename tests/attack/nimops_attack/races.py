# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Attacks on another tenant's resources while the operator reconciles them."""

from __future__ import annotations

from nimops_harness.cluster import ACCOUNTS, SERVICES, path_of
from nimops_harness.workload import make_nimbuild, make_nimcache, make_nimservice

from .fields import Json
from .harness import Harness, Seen, attack, path_to

INPUT_TAG = "input_profile"
MOST_BUILT = 32
"""The limit of profiles that builds may add to a NIMCache."""


@attack("races", "objects that others create first are left alone", sides=("prefork",))
def attack_races(harness: Harness) -> Seen:
    """A Service of a child's name is created when the operator has decided to create it.

    That is so once the first child is there: the Service is among the next ones.
    """
    namespace = harness.namespace("races")
    harness.ensure()
    names = [f"race-{number}" for number in range(20)]
    theirs: dict[str, Json] = {}
    for name in names:
        harness.create(namespace, make_nimservice(name))
        account = path_of(ACCOUNTS, namespace, name)
        if not harness.wait_for("a child", lambda: harness.cluster.find(account), pause=0.002):  # noqa: B023 called at once
            return Seen(False, f"{name} got no child: the attack did not take place")
        body = {"metadata": {"name": name}, "spec": {"ports": [{"port": 4715}]}}
        answer = harness.cluster.ask("POST", path_of(SERVICES, namespace), body)
        if answer.status < 300:
            theirs[name] = answer.body
    problems = harness.find_unanswered("NIMService", namespace, names)
    problems += harness.find_undeleted("NIMService", namespace, names)
    places = [path_of(SERVICES, namespace, name) for name in names if name not in theirs]
    harness.wait_for("garbage collection", lambda: not any(map(harness.cluster.find, places)), 10)
    for name, before in theirs.items():
        after = harness.cluster.find(path_of(SERVICES, namespace, name)) or {"metadata": {}}
        if (
            after["metadata"].get("uid") != before["metadata"]["uid"]
            or after["metadata"].get("ownerReferences")
            or after.get("spec") != before["spec"]
        ):
            problems.append(f"Service {name} of another owner was taken")
    if not theirs:
        problems.append("none came first: the attack did not take place")
    return Seen.of(problems, f"{len(theirs)} of {len(names)} came first, and are left alone")


def make_profile(name: str, **tags: str) -> Json:
    return {"name": name, "model": "m", "release": "1.0.0", "config": tags}


@attack("full-cache", "builds do not fill the status of a NIMCache", sides=("prefork",))
def attack_full_cache(harness: Harness) -> Seen:
    """Builds of one tenant fill the status of another's NIMCache."""
    namespace = harness.namespace("full-cache")
    harness.ensure()
    harness.create(namespace, make_nimcache("cache"))
    if not harness.wait_state("NIMCache", namespace, "cache"):
        return Seen(False, "no NIMCache became Ready: the attack did not take place")
    place = f"{path_to('NIMCache', namespace, 'cache')}/status"
    built = [make_profile(f"b{number}", **{INPUT_TAG: "a"}) for number in range(MOST_BUILT)]
    profiles = [make_profile("a", trtllm_buildable="true"), *built]
    harness.cluster.patch(place, {"status": {"profiles": profiles}})
    names = ["one", "other"]
    for name in names:
        build = make_nimbuild(name)
        build["spec"]["nimCache"] = {"name": "cache", "profile": "a"}
        if refusal := harness.create(namespace, build):
            return Seen(False, f"no NIMBuild was made: {refusal}")
    problems = harness.find_unanswered("NIMBuild", namespace, names)
    for name in names:
        status = harness.read_status("NIMBuild", namespace, name)
        said = [item.get("reason") for item in status.get("conditions") or []]
        if "NIMCacheFull" not in said:
            problems.append(f"NIMBuild {name} is {status.get('state')}: {said}")
    listed = (harness.read_status("NIMCache", namespace, "cache"))["profiles"]
    if len(listed) != len(profiles):
        problems.append(f"the NIMCache lists {len(listed)} profiles")
    for kind, all_names in (("NIMBuild", names), ("NIMCache", ["cache"])):
        problems += harness.find_undeleted(kind, namespace, all_names)
    return Seen.of(problems, f"two builds more than {MOST_BUILT} were refused, with a reason")
