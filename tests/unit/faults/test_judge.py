# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Problems with the objects and the files after a fault."""

from __future__ import annotations

import copy
import typing as t
from pathlib import Path

import pytest
from nimops_faults.judge import (
    Census,
    Listing,
    expected_of,
    judge_deleted,
    judge_paths,
    judge_settled,
)
from nimops_harness.workload import make_nimcache, make_nimservice

SERVICE = make_nimservice("a") | {"metadata": {"name": "a", "uid": "u-a"}}
CACHE = make_nimcache("c") | {"metadata": {"name": "c", "uid": "u-c"}}


def make(name: str, owner: str = "", uid: str = "", **more: t.Any) -> t.Any:
    references = [{"uid": owner, "name": owner[2:], "controller": True}] if owner else []
    return {"metadata": {"name": name, "uid": uid or f"of-{name}", "ownerReferences": references}}


def make_whole() -> Listing:
    """The objects without problems."""
    listing: Listing = {"ReplicaSet": [make("a-1", "u-a")], "Pod": [make("a-1-x", "a-1")]}
    for resource in (SERVICE, CACHE):
        for place in expected_of(resource):
            kind, _, name = place.partition("/")
            listing.setdefault(kind, []).append(make(name, resource["metadata"]["uid"]))
    listing["ServiceAccount"] += [make("default"), make("nim-cache-sa")]
    listing["ConfigMap"].append(make("kube-root-ca.crt"))
    return listing


def owner(listing: Listing, kind: str) -> t.Any:
    """The owner reference of the first object of a kind."""
    return listing[kind][0]["metadata"]["ownerReferences"][0]


CHANGES: dict[str, tuple[t.Callable[[Listing], object], list[str]]] = {
    "whole": (lambda _: None, []),
    "lost": (lambda it: it["Deployment"].clear(), ["lost: Deployment/a"]),
    "foreign": (lambda it: owner(it, "Service").update(uid="u-c"), ["foreign owner: Service/a"]),
    "two-owners": (
        lambda it: it["Job"][0]["metadata"]["ownerReferences"].append(owner(it, "Job")),
        ["foreign owner: Job/c-job"],
    ),
    "no-controller": (
        lambda it: owner(it, "Job").update(controller=False),
        ["foreign owner: Job/c-job"],
    ),
    "orphan": (
        lambda it: it["Job"][0]["metadata"].pop("ownerReferences"),
        ["foreign owner: Job/c-job"],
    ),
    "restarted": (
        lambda it: it["ReplicaSet"].append(make("a-2", "u-a")),
        ["more than one ReplicaSet: Deployment/a"],
    ),
    "extra": (
        lambda it: it["Service"].append(make("b", "u-a")),
        ["not asked for: Service/b"],
    ),
}


@pytest.mark.parametrize(("change", "expected"), CHANGES.values(), ids=CHANGES)
def test_judge_settled(change: t.Callable[[Listing], object], expected: list[str]) -> None:
    listing = make_whole()
    change(listing)
    census = Census()
    census.note(listing)
    assert judge_settled([SERVICE, CACHE], listing, census) == expected


def test_judge_settled_made_twice() -> None:
    listing, census = make_whole(), Census()
    for uid in ("first", "second"):
        for kind in ("Job", "Pod"):  # a pod may have a namesake
            listing[kind][0]["metadata"]["uid"] = uid
        census.note(copy.deepcopy(listing))
    assert judge_settled([SERVICE, CACHE], listing, census) == ["made twice: Job/c-job"]


@pytest.mark.parametrize(
    ("listing", "expected"),
    [
        ({"ServiceAccount": [make("default"), make("nim-cache-sa")], "ConfigMap": [make("kube-root-ca.crt")]}, []),
        ({"Service": [make(f"s{n}") for n in range(6)]},
         ["left behind: Service/s0, Service/s1, Service/s2, Service/s3 and 2 more"]),
        ({"Pod": [make("a-1-x")]}, ["left behind: Pod/a-1-x"]),
    ],
    ids=["nothing", "many", "pod"],
)  # fmt: skip
def test_judge_deleted(listing: Listing, expected: list[str]) -> None:
    assert judge_deleted(listing) == expected


RUNS = "ansible-operator/runner/apps.nvidia.com/v1alpha1"


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        ([], []),
        (["ansible-operator/", "ansible-operator/runner/", f"{RUNS}/NIMService/", ".ansible/tmp/"], []),
        ([f"{RUNS}/NIMService/x/a/env/extravars", f"{RUNS}/NIMService/x/a/inventory/hosts"],
         ["1 work folders: NIMService/x/a"]),
        (["kubeconfig1", ".ansible/tmp/ansible-local-7/x/y", ".ansible/tmp/ansible-local-7/z"],
         ["2 temporary files: .ansible/tmp/ansible-local-7, kubeconfig1"]),
        ([".ansible/tmp/ansible-local-7/"], ["1 temporary files: .ansible/tmp/ansible-local-7"]),
    ],
    ids=["nothing", "made-once", "one-run", "files", "empty-folder-of-a-run"],
)  # fmt: skip
def test_judge_paths(paths: list[str], expected: list[str]) -> None:
    assert judge_paths(paths) == expected


def test_judge_paths_mounted() -> None:
    paths = ["checkout/", "checkout/file", "other/"]
    assert judge_paths(paths, [Path("/tmp/checkout")]) == [
        "2 temporary files: checkout/file, other"
    ]
