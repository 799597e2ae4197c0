# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Problems with the children that exist, and with the files that are left in /tmp; pure."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass, field
from pathlib import Path

from nimops_harness.cluster import Json

# Kinds that the operator creates, directly or through others.
KINDS = (
    *("Deployment", "Service", "ServiceAccount", "ConfigMap", "Pod", "Role", "RoleBinding"),
    *("ReplicaSet", "PersistentVolumeClaim", "Job"),
)
# Each workload or run has one of these, under a generated name.
UNNAMED = ("ReplicaSet", "Pod")
# All caches of a namespace share these; they have no owner and outlive the caches.
SHARED = {"ServiceAccount/nim-cache-sa"}
# Objects of every namespace.
OTHERS = {"ServiceAccount/default", "ConfigMap/kube-root-ca.crt"}

Listing = dict[str, list[Json]]


def expected_of(resource: Json) -> set[str]:
    """The children of one NIMService or NIMCache of ours, as `Kind/name`."""
    name = resource["metadata"]["name"]
    if resource["kind"] == "NIMCache":
        return {
            f"PersistentVolumeClaim/{name}-pvc",
            f"Job/{name}-job",
            f"ConfigMap/{name}-manifest",
        }
    return {f"{kind}/{name}" for kind in ("Deployment", "Service", "ServiceAccount")}


def flatten(listing: Listing) -> dict[str, Json]:
    """The metadata of each object by `Kind/name`, without foreign objects."""
    found = {
        f"{kind}/{item['metadata']['name']}": item["metadata"]
        for kind, items in listing.items()
        for item in items
    }
    return {place: metadata for place, metadata in found.items() if place not in OTHERS}


@dataclass
class Census:
    """All objects that ever existed: more than one uid of a name means that it was created twice."""

    uids: dict[str, set[str]] = field(default_factory=dict)

    def note(self, listing: Listing) -> None:
        for place, metadata in flatten(listing).items():
            if place.partition("/")[0] not in UNNAMED:
                self.uids.setdefault(place, set()).add(metadata["uid"])

    def list_repeated(self) -> list[str]:
        return sorted(place for place, uids in self.uids.items() if len(uids) > 1)


def describe(what: str, places: t.Iterable[str], most: int = 4) -> list[str]:
    """One problem with the first few names, or no problem."""
    names = sorted(places)
    if not names:
        return []
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return [f"{what}: {', '.join(names[:most])}{more}"]


def judge_settled(resources: t.Sequence[Json], listing: Listing, census: Census) -> list[str]:
    """Problems once all have settled: lost, not asked for, made twice, of a foreign owner."""
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
    """Whether this uid is its only owner, and its controller."""
    references = metadata.get("ownerReferences") or []
    return [(it["uid"], it.get("controller")) for it in references] == [(uid, True)]


def list_restarted(listing: Listing) -> list[str]:
    """Deployments whose pods were replaced, because their template changed."""
    owners: list[str] = [
        reference["name"]
        for item in listing.get("ReplicaSet", [])
        for reference in item["metadata"].get("ownerReferences") or []
    ]
    return [f"Deployment/{name}" for name in {*owners} if owners.count(name) > 1]


def judge_deleted(listing: Listing) -> list[str]:
    """Children that exist after the deletion of all resources."""
    return describe("left behind", flatten(listing).keys() - SHARED)


# --- files ---------------------------------------------------------------------------------------

WORK = re.compile(r"ansible-operator/runner/[^/]+/[^/]+/(?P<kind>[^/]+)/(?P<name>[^/]+/[^/]+)/")
# Folders that every operator makes once.
KEPT = re.compile(r"(ansible-operator/(runner(/[^/]+){0,4}/)?|\.ansible/tmp/)")


def list_work(paths: t.Iterable[str]) -> list[str]:
    """Files and empty folders in work folders of runs."""
    return [path for path in paths if WORK.match(path)]


def judge_paths(paths: t.Iterable[str], mounted: t.Iterable[Path] = ()) -> list[str]:
    """Problems: work folders of runs by resource, other files by the beginning of their path.

    ``mounted``: folders of the machine's /tmp that were mounted below it, such as a checkout. Their
    empty mount points are not a problem.
    """
    mount_points = {f"{path.name}/" for path in mounted}
    folders: set[str] = set()
    others: set[str] = set()
    for path in paths:
        if found := WORK.match(path):
            folders.add(f"{found['kind']}/{found['name']}")
        elif path and path not in mount_points and not KEPT.fullmatch(path):
            others.add("/".join(path.rstrip("/").split("/")[:3]))
    return [
        *describe(f"{len(folders)} work folders", folders, most=2),
        *describe(f"{len(others)} temporary files", others),
    ]
