# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Workloads whose repeated claims server-side apply does not accept."""

from __future__ import annotations

import typing as t

from ..._base.types import Json, Manifest
from ..._engine.desired import Child


def workload_child(deployment: Manifest, live: Manifest | None) -> Child:
    """The Deployment as a child.

    Kubernetes lets a container use several requests of one claim, as entries of the same name in
    `resources.claims`. Server-side apply treats these as duplicates and refuses them, so a merge
    patch writes them once the Deployment exists. Until then it is paused, so that no pod starts
    without its devices.
    """
    containers = _containers(deployment)
    if not any(map(_repeats_claims, containers)):
        return Child(deployment)
    bare = [_without_claims(item) for item in containers]
    spec = _with_containers(deployment["spec"], bare)
    if live is None or _claims_of(_containers(live)) != _claims_of(containers):
        spec["paused"] = True
    return Child(deployment, applied=deployment | {"spec": spec})


def _containers(deployment: Manifest) -> list[Json]:
    return t.cast(list[Json], deployment["spec"]["template"]["spec"]["containers"])


def _with_containers(spec: Manifest, containers: list[Json]) -> Manifest:
    template = spec["template"]
    pod = template["spec"] | {"containers": containers}
    return spec | {"template": template | {"spec": pod}}


def _repeats_claims(container: Manifest) -> bool:
    names = [claim["name"] for claim in (container.get("resources") or {}).get("claims") or []]
    return len(names) != len(set(names))


def _without_claims(container: Manifest) -> Manifest:
    resources = {key: value for key, value in container["resources"].items() if key != "claims"}
    bare = {key: value for key, value in container.items() if key != "resources"}
    return bare | ({"resources": resources} if resources else {})


def _claims_of(containers: list[Json]) -> dict[str, t.Any]:
    return {item["name"]: (item.get("resources") or {}).get("claims") for item in containers}
