# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Desired objects of an NVIDIADriver: a DaemonSet for each node pool, and node labels."""

from __future__ import annotations

from ..._base.errors import NimError
from ..._base.types import Manifest
from ..._engine.desired import Child, Desired, Patch
from ..driver.pool import CLUSTER_RULES
from ..nodes import owner_of
from ..rbac import permissions, role_names
from ..upgrade.snapshot import Node
from ..upgrade.step import Step, switch_off
from .app import DriverApp
from .daemonset import build_daemon_set
from .owners import mark, release_nodes
from .pools import OS_LABEL, account_name, pool_of, pools_of


def desired(app: DriverApp) -> Desired:
    """Return all children that can be built; after a failure, nothing is deleted.

    While it conflicts with another NVIDIADriver, nothing changes.
    """
    if app.is_disabled:
        return Desired() if app.obstacle else _hand_back(app)
    if failure := app.obstacle or app.owners.errors.get(app.name):
        return Desired(failure=failure)
    children, failure = _children(app)
    taken, refused = _take_nodes(app)
    failure = (failure and (app.image_error or failure)) or refused or app.image_error
    try:
        upgrade = app.upgrade
    except NimError as error:
        upgrade, failure = Step(()), failure or error
    return Desired(
        children,
        [] if failure else _unwanted(app, children),
        failure,
        [*app.owners.patches(app.name, taken), *_marks(app), *upgrade.patches],
        upgrade.evictions,
        namespace=app.namespace,
    )


def finalize(app: DriverApp) -> Desired:
    """Release the nodes before the deletion; the garbage collector deletes the children."""
    nodes = app.nodes.items
    upgrade = switch_off(Node(node) for node in nodes)
    return Desired(
        patches=[*release_nodes(nodes, app.name), *mark(nodes, is_upgraded=False), *upgrade.patches]
    )


def _hand_back(app: DriverApp) -> Desired:
    """Hand the drivers to the ClusterPolicy: running pods stay until it replaces them."""
    orphaned = [("DaemonSet", str(item["metadata"]["name"])) for item in app.daemon_sets]
    patches = release_nodes(app.nodes.items, app.name)
    return Desired(patches=patches, namespace=app.namespace, orphaned=orphaned)


def _children(app: DriverApp) -> tuple[list[Child], NimError | None]:
    """The children, and the first error that prevented a child."""
    pools, errors = pools_of(app)
    children: list[Child] = []
    for tag in dict.fromkeys(pool.system.tag for pool in pools):
        for manifest in permissions(app, account_name(app, tag), (), CLUSTER_RULES):
            is_left_alone = manifest["kind"] == "ServiceAccount"
            children.append(Child(manifest, create_only=is_left_alone))
    for pool in pools:
        try:
            children.append(Child(build_daemon_set(app, pool)))
        except NimError as error:
            errors.append(error)
    return children, errors[0] if errors else None


def _take_nodes(app: DriverApp) -> tuple[list[Manifest], NimError | None]:
    """The nodes to take, and why others stay: a DaemonSet for them cannot be built."""
    taken, failure = list[Manifest](), app.owners.held(app.name)
    checked: set[str] = set()
    for node in app.owners.gained(app.name):
        try:
            pool = pool_of(app, node)
            if pool.name not in checked:
                build_daemon_set(app, pool)
                checked.add(pool.name)
            taken.append(node)
        except NimError as error:
            owner = owner_of(node)
            stays = f"keeps the driver of NVIDIADriver {owner}" if owner else "gets no driver"
            text = f"node {node['metadata']['name']} {stays}: {app.image_error or error}"
            failure = failure or NimError(text, reason=error.reason)
    return taken, failure


def _unwanted(app: DriverApp, children: list[Child]) -> list[tuple[str, str]]:
    """Objects of pools without nodes: DaemonSets whose pods are gone, and unused permissions."""
    wanted = {
        (str(child.manifest["kind"]), str(child.manifest["metadata"]["name"])) for child in children
    }
    kept, unwanted = set[str](), list[tuple[str, str]]()
    for item in app.daemon_sets:
        name, tag = str(item["metadata"]["name"]), _tag_of(item)
        status = (app.live("DaemonSet", name) or {}).get("status") or {}
        has_pods = status.get("desiredNumberScheduled") or status.get("numberMisscheduled")
        if has_pods or ("DaemonSet", name) in wanted:
            kept.add(tag)
        else:
            unwanted.append(("DaemonSet", name))
    return unwanted + [name for name in role_children(app) if _is_left(app, name, kept, wanted)]


def role_children(app: DriverApp) -> list[tuple[str, str]]:
    """The (kind, name) of the permissions of each existing DaemonSet."""
    tags = dict.fromkeys(tag for item in app.daemon_sets if (tag := _tag_of(item)))
    return [
        name for tag in tags for name in role_names(account_name(app, tag), has_cluster_role=True)
    ]


def _is_left(
    app: DriverApp, name: tuple[str, str], kept: set[str], wanted: set[tuple[str, str]]
) -> bool:
    return name not in wanted and name[1] not in {account_name(app, tag) for tag in kept}


def _tag_of(item: Manifest) -> str:
    return str((item["metadata"].get("labels") or {}).get(OS_LABEL) or "")


def _marks(app: DriverApp) -> list[Patch]:
    try:
        is_upgraded = app.spec.upgrade_policy is not None
    except NimError:
        return []
    return mark(app.nodes.items, is_upgraded=is_upgraded)
