# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Small resources that become large objects: one list is copied into each element of another."""

from __future__ import annotations

import time
import typing as t
from functools import partial

from nimops_harness.cluster import Json
from nimops_harness.runtime import MemoryWatch
from nimops_harness.workload import make_nimcache, make_nimservice

from .harness import Scene, attack, conditions_of

ENTRIES, LEAST_BYTES = 900, 10
IMAGE = {"repository": "a/b", "tag": "1"}
GROWTH_MIB = {"prefork": 300, "stock": 600}
"""Growth of memory of all processes; the pod's limit is 1536 MiB. With stock, each of
the four runs, and that of a neighbor, has its own interpreter."""

_MULTI_NODE = {"parallelism": {"pipeline": 2, "tensor": 1}}


def numbered(count: int, **more: t.Any) -> list[Json]:
    return [{"name": f"n{number}", **more} for number in range(count)]


def make_service(name: str, count: int, into: str, **spec: t.Any) -> Json:
    lists = {"env": numbered(count, value="v"), into: numbered(count, image=IMAGE)}
    return make_nimservice(name, **lists | spec)


def make_cache(name: str, count: int) -> Json:
    containers = numbered(count, image=IMAGE)
    return make_nimcache(name, env=numbered(count, value="v"), initContainers=containers)


def make_claims(name: str, count: int) -> Json:
    """Claims of devices, which each container uses."""
    claims = [{"resourceClaimName": f"claim-{number}"} for number in range(count)]
    return make_service(name, count, "sidecarContainers", env=[], draResources=claims)


def make_proxy(name: str, count: int) -> Json:
    """One long text instead of a list."""
    proxy = {"noProxy": ",".join(f"host-{number}" for number in range(count))}
    return make_service(name, count, "initContainers", env=[], proxy=proxy)


PRODUCTS: dict[str, tuple[t.Callable[[str, int], Json], tuple[str, ...]]] = {
    "sidecars": (partial(make_service, into="sidecarContainers"), ("spec.env", "spec.sidecarContainers")),
    "init": (partial(make_service, into="initContainers"), ("spec.env", "spec.initContainers")),
    "nodes": (
        partial(make_service, into="sidecarContainers", multiNode=_MULTI_NODE, replicas=1),
        ("spec.env", "spec.sidecarContainers"),
    ),
    "claims": (make_claims, ("spec.draResources", "spec.sidecarContainers")),
    "proxy": (make_proxy, ("spec.proxy", "spec.initContainers")),
    "cache": (make_cache, ("spec.env", "spec.initContainers")),
}  # fmt: skip
"""Name → a function that makes the resource, and the fields that its status has to name."""


def attack_product(name: str, scene: Scene) -> str:
    """Four resources at once, one for each worker, as large as the API server accepts."""
    make, fields = PRODUCTS[name]
    began, count = time.monotonic(), ENTRIES
    while count > 1 and scene.dry_run(make("first", count)):
        count = count * 3 // 4
    with MemoryWatch(scene.harness.ensure().memory) as memory:
        for number in range(1 if scene.quick else 4):
            scene.create(make(f"product-{number}", count))
        scene.expect(scene.made, "none was accepted, however small: nothing took place")
        left = scene.wait_answered(120)
        scene.problems += [f"{place} got no status" for place in left]
        for place, found in scene.read_made().items():
            if place not in left and is_large(count):
                scene.problems += unnamed(found, fields)
        scene.expect_served()
    more = f"{memory.growth:.0f} MiB more"
    scene.expect(memory.growth <= GROWTH_MIB[scene.side], f"the operator's memory: {more}")
    scene.expect_deleted()
    seconds = time.monotonic() - began
    return f"{count} times {count} entries: refused by the fields' names in {seconds:.0f} s, {more}"


def is_large(count: int) -> bool:
    """Whether so many entries make an object that is refused; admission may allow fewer."""
    return count * count * LEAST_BYTES > 1 << 20


def unnamed(resource: Json, fields: t.Iterable[str]) -> list[str]:
    """The fields that its status does not name."""
    said = [item["message"] for item in conditions_of(resource) if item["type"] == "Stalled"]
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
