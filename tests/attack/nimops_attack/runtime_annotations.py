# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Excessive values in annotations of the runtime."""

from __future__ import annotations

from functools import partial

from nimops_harness.workload import make_nimservice

from .bases import rename
from .fields import Json
from .harness import KINDS, Harness, Seen, attack, path_to
from .policies import without_policies

PREFIX = "ansible.sdk.operatorframework.io/"
VALUES = {
    "verbosity": ("9000000000000000000", "2000000000", "-1", "x"),
    "max-runner-artifacts": ("0", "-5", "9000000000000000000"),
    "reconcile-period": ("1ns", "0s", "-1h", "x"),
}
CRUEL = (("verbosity", "9000000000000000000"), ("max-runner-artifacts", "0"), ("reconcile-period", "1ns"))  # fmt: skip


def with_annotation(resource: Json, key: str, value: str, name: str) -> Json:
    return rename(resource, name, annotations={PREFIX + key: value})


@attack("annotations-admission", "refused by the admission policy, by name", quick=True)
def attack_admission(harness: Harness) -> Seen:
    namespace = harness.namespace("annotations")
    ask = harness.dry_run(namespace)
    first = with_annotation(make_nimservice("a"), *CRUEL[0], "a")
    harness.wait_for("the admission policy", lambda: ask(first), 20)
    problems, count = [], 0
    for kind in KINDS:
        for key, values in VALUES.items():
            for value in values:
                count += 1
                refusal = ask(with_annotation(harness.bases[kind][0], key, value, "a"))
                if refusal is None:
                    problems.append(f"accepted: {kind} {key}={value}")
                elif key not in str(refusal):
                    problems.append(
                        f"{kind} {key}={value} is refused without being named: {refusal}"
                    )
    return Seen.of(problems, f"{count} values refused, each by the name of its annotation")


def is_created(harness: Harness, namespace: str, resource: Json) -> bool:
    return harness.create(namespace, resource) is None


@attack(
    "annotations-stored",
    "an operator without the policy removes it, creates an event, and serves others",
)
def attack_stored(harness: Harness) -> Seen:
    """The operator starts beside resources that were annotated without the policy."""
    harness.stop()
    namespace = harness.namespace("annotated")
    names = []
    with without_policies(harness):
        for key, value in CRUEL:
            resource = with_annotation(make_nimservice(key), key, value, key)
            is_stored = partial(is_created, harness, namespace, resource)
            if not harness.wait_for("no policy", is_stored, 20):
                return Seen(False, f"{key} could not be stored: the attack did not take place")
            names.append(key)
    try:
        harness.start()
        problems = judge(harness, namespace, names)
    finally:
        discard(harness, namespace, names)
    return Seen.of(
        problems, f"{len(names)} resources harmless; each has an event, others are served"
    )


@attack(
    "annotations-live",
    "an operator without the policy removes it, creates an event, and serves others",
)
def attack_live(harness: Harness) -> Seen:
    """Resources are annotated without the policy while the operator runs."""
    namespace = harness.namespace("annotating")
    names = [key for key, _ in CRUEL]
    for name in names:
        harness.create(namespace, make_nimservice(name))
    try:
        with without_policies(harness):
            for key, value in CRUEL:
                change = {"metadata": {"annotations": {PREFIX + key: value}}}
                place = path_to("NIMService", namespace, key)
                said: Json = {}

                def annotate(place: str = place, change: Json = change, said: Json = said) -> bool:
                    answer = harness.cluster.merge(place, change)
                    said["refusal"] = answer.refusal
                    return answer.refusal is None

                if not harness.wait_for("no policy", annotate, 20):
                    return Seen(False, f"not annotated, so not attacked: {said['refusal']}")
            problems = judge(harness, namespace, names)
    finally:
        discard(harness, namespace, names)
    return Seen.of(problems, "the operator continues; each has an event, others are served")


def judge(harness: Harness, namespace: str, names: list[str]) -> list[str]:
    problems = []
    problems += harness.find_unserved(namespace, limit=150)

    def find_silent() -> list[str]:
        events = harness.cluster.get(f"/api/v1/namespaces/{namespace}/events")["items"]
        reported = [
            (item["involvedObject"]["name"], item.get("message") or "")
            for item in events
        ]  # fmt: skip
        return [
            name
            for name in names
            if not any(of == name and PREFIX + name in text for of, text in reported)
        ]

    harness.wait_for("events", lambda: not find_silent(), 30)
    problems += [f"no event about the annotation {name}" for name in find_silent()]
    left = [
        name
        for name in names
        if PREFIX + name
        in (
            (harness.read("NIMService", namespace, name) or {"metadata": {}})["metadata"].get(
                "annotations"
            )
            or {}
        )
    ]
    return problems + [f"the annotation {name} is still there" for name in left]


def discard(harness: Harness, namespace: str, names: list[str]) -> None:
    """Delete resources without their finalizers, and restart the operator for the next attacks."""
    for name in names:
        place = path_to("NIMService", namespace, name)
        harness.cluster.ask("DELETE", place)
        change: Json = {"metadata": {"finalizers": None, "annotations": None}}
        harness.cluster.merge(place, change)
    harness.start()
