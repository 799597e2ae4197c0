# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What stands beside a LeaderWorkerSet: a ComputeDomain, and what MPI needs."""

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._common.desired import Child
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import (
    Observed,
    Read,
    read_object,
    read_presence,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice import mpi
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.compute_domain import (
    build_domain,
    creates_domain,
    domain_name,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.features import (
    Resource,
    is_multi_node,
    name_of,
    namespace_of,
    ray_port,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.leader_worker_set import (
    build_groups,
    count_groups,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.service import leads_to
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.store import Store
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.workload import groups_of

Names = list[tuple[str, str]]


def group_children(cr: Resource, observed: Observed, store: Store) -> list[Child]:
    """The LeaderWorkerSet, and before it what its pods need."""
    children = []
    if creates_domain(cr):
        children.append(Child(build_domain(cr, observed)))
    if not ray_port(cr):
        children += [
            Child(mpi.build_hostfiles(cr, observed, count_groups(cr, observed))),
            Child(mpi.build_start_script(cr, observed)),
            Child(mpi.build_ssh_key(cr, observed), create_only=True),
        ]
    return [*children, Child(build_groups(cr, observed, store))]


def group_reads(cr: Resource, observed: Observed) -> list[Read]:
    """What is to be had, or what is left of it; nothing where there never were groups."""
    if is_multi_node(cr):
        wanted = [] if ray_port(cr) else _config_maps(cr)
        wanted += [("ComputeDomain", domain_name(cr))] if domain_name(cr) else []
    elif leads_to(cr, observed, groups_of(cr)):
        wanted = group_leftovers(cr)[:-1]
    else:
        return []
    namespace = namespace_of(cr)
    reads = [read_object(kind, namespace, name) for kind, name in (*wanted, groups_of(cr))]
    if is_multi_node(cr) and not ray_port(cr):
        reads.append(read_presence("Secret", namespace, mpi.key_name(cr)))
    return reads


def group_leftovers(cr: Resource) -> Names:
    """What goes with the groups, which are last: as long as they are there, this can be found.

    The SSH key stays until the service goes: the operator may not delete Secrets.
    """
    return [*_config_maps(cr), ("ComputeDomain", name_of(cr)), groups_of(cr)]


def _config_maps(cr: Resource) -> Names:
    return [("ConfigMap", name) for name in (mpi.hostfiles_name(cr), mpi.script_name(cr))]
