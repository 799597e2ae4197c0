# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What a reconcile of a NIMCache reads."""

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._common.manifest_pod import read_log_of
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import (
    Observed,
    Read,
    read_nodes,
    read_object,
    read_objects,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.pvc import claim_name
from ansible_collections.nimops.nim.plugins.module_utils._nimcache.flavour import source_of
from ansible_collections.nimops.nim.plugins.module_utils._nimcache.names import (
    CONTAINER,
    READY,
    ROLE,
    ROLE_BINDING,
    SERVICE_ACCOUNT,
    Resource,
    config_map_name,
    job_name,
    pod_name,
    state_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimcache.probe import (
    PROTOCOL,
    needs_probe,
    needs_protocol,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimcache.steps import has_claim

USERS = ("NIMBuild", "NIMService")
"""Kinds that wait for a cache; no watch tells them of its state."""


def reads(cr: Resource, observed: Observed) -> list[Read]:
    """First the children; then, if the cache is not settled, what the next steps need."""
    namespace = cr["metadata"]["namespace"]
    wanted = [
        read_object(kind, namespace, name)
        for kind, name in (
            ("PersistentVolumeClaim", claim_name(cr)),
            ("ConfigMap", config_map_name(cr)),
            ("Job", job_name(cr)),
            ("Pod", pod_name(cr)),
            ("ServiceAccount", SERVICE_ACCOUNT),
            ("Role", ROLE),
            ("RoleBinding", ROLE_BINDING),
        )
    ]
    if all(observed.has(read.key) for read in wanted):
        wanted += _further_reads(cr, observed)
    return wanted


def _further_reads(cr: Resource, observed: Observed) -> list[Read]:
    namespace = cr["metadata"]["namespace"]
    is_claimed = has_claim(cr, observed)
    settled = state_of(cr) == READY and is_claimed
    wanted = [] if settled else [read_objects(kind, namespace) for kind in USERS]
    if not is_claimed:
        return wanted
    probing = needs_probe(cr, observed)
    if probing or not settled:
        wanted.append(read_nodes())
    if probing:
        wanted += read_log_of(cr, observed.object("Pod", pod_name(cr)), CONTAINER)
    if needs_protocol(cr, observed):
        source = source_of(cr)
        secrets = (source["pullSecret"],) if source.get("pullSecret") else ()
        wanted.append(
            Read(
                PROTOCOL,
                "protocol",
                namespace=namespace,
                image=source["modelPuller"],
                pull_secrets=secrets,
            )
        )
    return wanted
