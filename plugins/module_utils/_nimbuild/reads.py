# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What a reconcile of a NIMBuild reads."""

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._common.desired import Manifest
from ansible_collections.nimops.nim.plugins.module_utils._common.manifest import manifest_map_name
from ansible_collections.nimops.nim.plugins.module_utils._common.manifest_pod import read_log_of
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import (
    Observed,
    Read,
    read_nodes,
    read_object,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.pvc import claim_name
from ansible_collections.nimops.nim.plugins.module_utils._nimbuild.names import (
    MANIFEST_CONTAINER,
    READY,
    Resource,
    build_pod_name,
    cache_name,
    is_built,
    is_finished,
    manifest_pod_name,
)


def reads(cr: Resource, observed: Observed) -> list[Read]:
    """The pods; while something is left to do the cache, then what the next step needs."""
    namespace = cr["metadata"]["namespace"]
    wanted = [
        read_object("Pod", namespace, name) for name in (build_pod_name(cr), manifest_pod_name(cr))
    ]
    if is_finished(cr):
        return wanted
    wanted.append(read_object("NIMCache", namespace, cache_name(cr)))
    cache = observed.object("NIMCache", cache_name(cr))
    return wanted + (_further_reads(cr, cache, observed) if cache else [])


def _further_reads(cr: Resource, cache: Manifest, observed: Observed) -> list[Read]:
    """The claim that pods work on, and what a new one needs to know."""
    namespace = cr["metadata"]["namespace"]
    building, reading = (
        observed.object("Pod", name) for name in (build_pod_name(cr), manifest_pod_name(cr))
    )
    wanted: list[Read] = []
    if building or reading or is_built(cr):
        wanted.append(read_object("PersistentVolumeClaim", namespace, claim_name(cache)))
    if (cache.get("status") or {}).get("state") != READY:
        return wanted
    if not (reading if is_built(cr) else building):
        return [*wanted, read_nodes()]
    if is_built(cr):
        name = manifest_map_name(cache["metadata"]["name"])
        wanted += [
            read_object("ConfigMap", namespace, name),
            *read_log_of(cr, reading, MANIFEST_CONTAINER),
        ]
    return wanted
