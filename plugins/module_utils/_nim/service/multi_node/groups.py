# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A LeaderWorkerSet and the objects that its pods need: a ComputeDomain, and files for MPI."""

from __future__ import annotations

from ...._engine.desired import Child
from ...._engine.reads import Read, ReadObject, ReadPresence
from ..app import NIMServiceApp
from ..compute_domain import build_domain, creates_domain, domain_name
from ..expose.service import selects
from ..model_store import Store
from ..workload import groups_of, has_workload, live_workload
from . import mpi
from .leader_worker_set import build_groups, count_groups


def group_children(app: NIMServiceApp, store: Store) -> list[Child]:
    """The objects that the pods need, then the LeaderWorkerSet."""
    children = []
    if creates_domain(app):
        children.append(Child(build_domain(app)))
    if not app.spec.multi_node.ray_port:
        children += [
            Child(mpi.build_hostfiles(app, count_groups(app))),
            Child(mpi.build_start_script(app)),
            Child(mpi.build_ssh_key(app), create_only=True),
        ]
    return [*children, Child(build_groups(app, store))]


def group_reads(app: NIMServiceApp) -> list[Read]:
    """The wanted objects, or leftovers; none if there cannot be groups.

    For possible groups without traffic, the first read only checks whether they exist.
    """
    namespace = app.namespace
    if app.spec.is_multi_node:
        wanted = [] if app.spec.multi_node.ray_port else _config_maps(app)
        wanted += [("ComputeDomain", domain_name(app))] if domain_name(app) else []
    elif has_leftovers(app):
        wanted = group_leftovers(app)[:-1]
    elif _may_have_groups(app):
        kind, name = groups_of(app)
        return [ReadObject(kind, namespace, name)]
    else:
        return []
    names = (*wanted, groups_of(app))
    reads: list[Read] = [ReadObject(kind, namespace, name) for kind, name in names]
    if app.spec.is_multi_node and not app.spec.multi_node.ray_port:
        reads.append(ReadPresence("Secret", namespace, mpi.key_name(app)))
    return reads


def has_leftovers(app: NIMServiceApp) -> bool:
    """Whether groups of a service that now fits on one node still serve or exist."""
    groups = groups_of(app)
    return selects(app, groups) or has_workload(app, groups)


def group_leftovers(app: NIMServiceApp) -> list[tuple[str, str]]:
    """The groups' objects to delete; the groups, which reveal the other leftovers, come last.

    The SSH key stays until the service is deleted: the operator may not delete Secrets.
    """
    return [*_config_maps(app), ("ComputeDomain", app.name), groups_of(app)]


def _may_have_groups(app: NIMServiceApp) -> bool:
    """Whether groups may exist that no Service selects, left by the reference operator.

    This is possible after a takeover (the reference never writes `observedGeneration`, and a
    resource restored from a backup has no status), after a change of the spec, and after a failure.
    Passes with nothing to do skip the read.
    """
    if not app.status:
        return live_workload(app) is not None
    return not app.is_served


def _config_maps(app: NIMServiceApp) -> list[tuple[str, str]]:
    return [("ConfigMap", name) for name in (mpi.hostfiles_name(app), mpi.script_name(app))]
