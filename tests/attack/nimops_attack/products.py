# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Small resources that become large objects: one list is copied into each element of another."""

from __future__ import annotations

import time
import typing as t
from functools import partial

from nimops_harness.runtime import MemoryWatch
from nimops_harness.workload import make_nimcache, make_nimservice

from .fields import Json
from .harness import Harness, Seen, attack

ENTRIES, LEAST_BYTES = 900, 10
IMAGE = {"repository": "a/b", "tag": "1"}
GROWTH_MIB = {"prefork": 300, "stock": 600}
"""Growth of memory of all processes; the pod's limit is 1536 MiB. With stock, each of
the four runs, and that of a neighbor, has its own interpreter."""

_MULTI_NODE = {"parallelism": {"pipeline": 2, "tensor": 1}}


def numbered(count: int, **more: t.Any) -> list[Json]:
    return [{"name": f"n{number}", **more} for number in range(count)]


def make_service(name: str, count: int, into: str, **spec: t.Any) -> Json:
    made = make_nimservice(name)
    made["spec"] |= {"env": numbered(count, value="v"), into: numbered(count, image=IMAGE), **spec}
    return made


def make_cache(name: str, count: int) -> Json:
    made = make_nimcache(name)
    containers = numbered(count, image=IMAGE)
    made["spec"] |= {"env": numbered(count, value="v"), "initContainers": containers}
    return made


def make_claims(name: str, count: int) -> Json:
    """Claims of devices, which each container uses."""
    made = make_service(name, count, "sidecarContainers", env=[])
    claims = [{"resourceClaimName": f"claim-{number}"} for number in range(count)]
    made["spec"] |= {"draResources": claims}
    return made


def make_proxy(name: str, count: int) -> Json:
    """One long text instead of a list."""
    made = make_service(name, count, "initContainers", env=[])
    made["spec"]["proxy"] = {"noProxy": ",".join(f"host-{number}" for number in range(count))}
    return made


PRODUCTS: dict[str, tuple[t.Callable[[str, int], Json], tuple[str, ...]]] = {
    "sidecars": (
        lambda name, count: make_service(name, count, "sidecarContainers"),
        ("spec.env", "spec.sidecarContainers"),
    ),
    "init": (
        lambda name, count: make_service(name, count, "initContainers"),
        ("spec.env", "spec.initContainers"),
    ),
    "nodes": (
        lambda name, count: make_service(
            name, count, "sidecarContainers", multiNode=_MULTI_NODE, replicas=1
        ),
        ("spec.env", "spec.sidecarContainers"),
    ),
    "claims": (make_claims, ("spec.draResources", "spec.sidecarContainers")),
    "proxy": (make_proxy, ("spec.proxy", "spec.initContainers")),
    "cache": (make_cache, ("spec.env", "spec.initContainers")),
}
"""Name → a function that makes the resource, and the fields that its status has to name."""


def attack_product(name: str, harness: Harness) -> Seen:
    """Four resources at once, one for each worker."""
    make, fields = PRODUCTS[name]
    namespace = harness.namespace(f"products-{name}")
    began = time.monotonic()
    problems: list[str] = []
    with MemoryWatch(harness.ensure().memory) as memory:
        created, count = create(harness, namespace, make)
        problems += [] if created else ["none was accepted, however small: nothing took place"]
        kind = created[0]["kind"] if created else "NIMService"
        names = [item["metadata"]["name"] for item in created]
        left = harness.wait_answered(kind, namespace, names, 120)
        problems += [f"{item} got no status" for item in left]
        for item in set(names) - set(left):
            found = harness.read(kind, namespace, item) or {}
            problems += unnamed(found, fields) if is_large(count) else []
        problems += harness.find_unserved(namespace)
    if memory.growth > GROWTH_MIB[harness.side]:
        problems.append(f"the operator's memory grew by {memory.growth:.0f} MiB")
    problems += harness.find_undeleted(kind, namespace, names)
    return Seen.of(
        problems,
        f"{len(names)} of {count} times {count} entries: refused by the fields' names in"
        f" {time.monotonic() - began:.0f} s, {memory.growth:.0f} MiB more",
    )


def create(
    harness: Harness, namespace: str, make: t.Callable[[str, int], Json]
) -> tuple[list[Json], int]:
    """Four resources with as many entries as the API server accepts, and this number."""
    count = ENTRIES
    while count > 1 and harness.dry_run(namespace)(make("first", count)):
        count = count * 3 // 4
    made = [make(f"product-{number}", count) for number in range(1 if harness.quick else 4)]
    return [item for item in made if not harness.create(namespace, item)], count


def is_large(count: int) -> bool:
    """Whether so many entries make an object that is refused; admission may allow fewer."""
    return count * count * LEAST_BYTES > 1 << 20


def unnamed(resource: Json, fields: t.Iterable[str]) -> list[str]:
    """The fields that its status does not name."""
    conditions = (resource.get("status") or {}).get("conditions") or []
    said = [item["message"] for item in conditions if item["type"] == "Stalled"]
    if not said:
        return [f"{resource['metadata']['name']} is not Stalled"]
    return [
        f"Stalled does not name {field}: {said[0][:200]}"
        for field in fields
        if field not in said[0]
    ]


for _name in PRODUCTS:
    attack(
        f"products-{_name}",
        "refused by the names of the fields, in memory as before; others are served",
        quick=_name == "sidecars",
    )(partial(attack_product, _name))
