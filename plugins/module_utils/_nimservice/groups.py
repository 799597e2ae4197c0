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
    is_served,
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
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.workload import (
    groups_of,
    has_workload,
    live_workload,
)

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
    """What is to be had, or what is left of it; nothing where there never were groups.

    Of groups that serve nobody, whether they are there is asked first.
    """
    namespace = namespace_of(cr)
    if is_multi_node(cr):
        wanted = [] if ray_port(cr) else _config_maps(cr)
        wanted += [("ComputeDomain", domain_name(cr))] if domain_name(cr) else []
    elif has_leftovers(cr, observed):
        wanted = group_leftovers(cr)[:-1]
    elif _may_have_groups(cr, observed):
        kind, name = groups_of(cr)
        return [read_object(kind, namespace, name)]
    else:
        return []
    reads = [read_object(kind, namespace, name) for kind, name in (*wanted, groups_of(cr))]
    if is_multi_node(cr) and not ray_port(cr):
        reads.append(read_presence("Secret", namespace, mpi.key_name(cr)))
    return reads


def has_leftovers(cr: Resource, observed: Observed) -> bool:
    """Whether a service of one node has had groups: they serve, or are there though they do not."""
    groups = groups_of(cr)
    return leads_to(cr, observed, groups) or has_workload(cr, observed, groups)


def group_leftovers(cr: Resource) -> Names:
    """What goes with the groups, which are last: as long as they are there, this can be found.

    The SSH key stays until the service goes: the operator may not delete Secrets.
    """
    return [*_config_maps(cr), ("ComputeDomain", name_of(cr)), groups_of(cr)]


def _may_have_groups(cr: Resource, observed: Observed) -> bool:
    """Whether groups may be there that no Service leads to: those that the reference left behind.

    They are looked for after a takeover (the reference never writes `observedGeneration`, and what
    was restored from a backup has no status), when the spec changes, and while something fails: not
    in passes that find nothing to do.
    """
    if not cr.get("status"):
        return live_workload(cr, observed) is not None
    return not is_served(cr)


def _config_maps(cr: Resource) -> Names:
    return [("ConfigMap", name) for name in (mpi.hostfiles_name(cr), mpi.script_name(cr))]
