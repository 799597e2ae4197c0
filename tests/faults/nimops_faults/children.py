# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Which objects there must be, and what is wrong with those that there are; pure."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from nimops_harness.cluster import Json, Resource

RBAC = "apis/rbac.authorization.k8s.io/v1"

# Kinds that the operator makes, or has made by what it makes.
KINDS: tuple[Resource, ...] = (
    ("apis/apps/v1", "deployments"),
    ("apis/apps/v1", "replicasets"),
    ("api/v1", "services"),
    ("api/v1", "serviceaccounts"),
    ("api/v1", "configmaps"),
    ("api/v1", "persistentvolumeclaims"),
    ("api/v1", "pods"),
    ("apis/batch/v1", "jobs"),
    (RBAC, "roles"),
    (RBAC, "rolebindings"),
    ("apis/monitoring.coreos.com/v1", "servicemonitors"),
)
# Of these there is one for each workload or run, of a name that nobody can foretell.
UNNAMED = ("replicasets", "pods")
# All caches of a namespace share these, and nobody owns them: they outlive the caches.
SHARED = {
    "serviceaccounts/nim-cache-sa",
    "roles/nim-cache-role",
    "rolebindings/nim-cache-rolebinding",
}
# What every namespace has, and what we put there.
OTHERS = {"serviceaccounts/default", "configmaps/kube-root-ca.crt"}

Listing = dict[str, list[Json]]


def expected_of(resource: Json) -> set[str]:
    """The children of one NIMService or NIMCache of ours, as `plural/name`."""
    name = resource["metadata"]["name"]
    if resource["kind"] == "NIMCache":
        return {
            f"persistentvolumeclaims/{name}-pvc",
            f"jobs/{name}-job",
            f"configmaps/{name}-manifest",
        }
    kinds = ["deployments", "services", "serviceaccounts", "roles", "rolebindings"]
    return {f"{plural}/{name}" for plural in kinds} | (
        {f"servicemonitors/{name}"} if "metrics" in resource["spec"] else set()
    )


def flatten(listing: Listing) -> dict[str, Json]:
    """The metadata of each object by `plural/name`, without those that are none of our business."""
    found = {
        f"{plural}/{item['metadata']['name']}": item["metadata"]
        for plural, items in listing.items()
        for item in items
    }
    return {place: metadata for place, metadata in found.items() if place not in OTHERS}


@dataclass
class Census:
    """All objects that were ever seen: more than one uid of a name means that it was made twice."""

    uids: dict[str, set[str]] = field(default_factory=dict)

    def note(self, listing: Listing) -> None:
        for place, metadata in flatten(listing).items():
            if place.partition("/")[0] not in UNNAMED:
                self.uids.setdefault(place, set()).add(metadata["uid"])

    def forget(self, plural: str = "") -> None:
        """What was seen of a kind, or of all: it may be made again."""
        self.uids = {
            place: uids
            for place, uids in self.uids.items()
            if plural and place.partition("/")[0] != plural
        }

    def list_repeated(self) -> list[str]:
        return sorted(place for place, uids in self.uids.items() if len(uids) > 1)


def describe(what: str, places: t.Iterable[str], most: int = 4) -> list[str]:
    """One problem with the first few names, none if there are none."""
    names = sorted(places)
    if not names:
        return []
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return [f"{what}: {', '.join(names[:most])}{more}"]


def judge_settled(resources: t.Sequence[Json], listing: Listing, census: Census) -> list[str]:
    """What is wrong once all have settled: lost, not asked for, made twice, of a foreign owner."""
    owners: dict[str, Json] = {}
    for resource in resources:
        owners.update(dict.fromkeys(expected_of(resource), resource))
    found = flatten(listing)
    named = {place for place in found if place.partition("/")[0] not in UNNAMED}
    foreign = [
        place
        for place in named & owners.keys()
        if not is_owned_by(found[place], owners[place]["metadata"]["uid"])
    ]
    return [
        *describe("lost", owners.keys() - named),
        *describe("not asked for", named - owners.keys() - SHARED),
        *describe("made twice", census.list_repeated()),
        *describe("more than one ReplicaSet", list_restarted(listing)),
        *describe("foreign owner", foreign),
    ]


def is_owned_by(metadata: Json, uid: str) -> bool:
    """Whether this is its one controller, and nobody else owns it."""
    references = metadata.get("ownerReferences") or []
    return [(it["uid"], it.get("controller")) for it in references] == [(uid, True)]


def list_restarted(listing: Listing) -> list[str]:
    """Deployments whose pods were replaced: their template changed on the way."""
    owners: list[str] = [
        reference["name"]
        for item in listing.get("replicasets", [])
        for reference in item["metadata"].get("ownerReferences") or []
    ]
    return [f"deployments/{name}" for name in {*owners} if owners.count(name) > 1]


def judge_deleted(listing: Listing) -> list[str]:
    """What is left of the children after the deletion of all resources."""
    return describe("left behind", flatten(listing).keys() - SHARED)
