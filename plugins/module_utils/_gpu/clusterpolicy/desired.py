# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Desired objects of a ClusterPolicy: the children of its operands, and node labels."""

from __future__ import annotations

from ..._base.errors import NimError
from ..._base.types import Manifest
from ..._engine.api_resources import key_of
from ..._engine.desired import Child, Desired, Field, Patch
from ..._engine.metadata import controller_of, is_deleted
from ..cluster import NODES, POLICIES
from ..components import component_of
from ..fields import SpecError
from ..upgrade.snapshot import Node
from ..upgrade.step import Step, switch_off
from .app import PolicyApp
from .node_labels import clean
from .operand import Operand
from .operands import driver
from .operands.driver import orphans, shared_child
from .order import OPERANDS

_POD_SECURITY = tuple(f"pod-security.kubernetes.io/{mode}" for mode in ("enforce", "audit", "warn"))


def desired(app: PolicyApp) -> Desired:
    """Return all children up to the first failing operand; nodes are labeled regardless."""
    if not app.is_active:
        return Desired()
    if obstacle := app.obstacle:
        return Desired(failure=obstacle)
    children: list[Child] = []
    unwanted: list[tuple[str, str]] = []
    orphaned = orphans(app) if app.stack.uses_driver_resources else []
    failure = _find_spec_error(app)
    for operand in () if failure else OPERANDS:
        try:
            _add(app, operand, children, unwanted)
        except NimError as error:
            failure = NimError(f"Failed to reconcile {operand.name}: {error}", reason=error.reason)
            break
    patches = _patches(app)
    try:
        upgrade = app.upgrade
    except NimError as error:
        upgrade, failure = Step(()), failure or error
    return Desired(
        children,
        unwanted,
        failure,
        [*patches, *upgrade.patches],
        upgrade.evictions,
        namespace=app.namespace,
        orphaned=orphaned,
    )


def finalize(app: PolicyApp) -> Desired:
    """Undo what the operator has set on nodes; the garbage collector deletes the children.

    If another policy is active, it continues with the nodes.
    """
    if not app.is_active or app.obstacle:
        return Desired()
    nodes = app.observed.get(NODES.key) or []
    upgrade = switch_off(map(Node, nodes))
    return Desired(patches=[*map(clean, nodes), *_pod_security(app, None), *upgrade.patches])


def is_deployed(app: PolicyApp, operand: Operand) -> bool:
    """Whether the operand is enabled, and this policy deploys it."""
    return operand.is_enabled(app.spec) and not _is_handed_over(app, operand)


def daemon_sets(app: PolicyApp) -> list[Manifest]:
    """The live DaemonSets of the deployed operands."""
    names = [name for item in OPERANDS if is_deployed(app, item) for name in item.daemon_sets(app)]
    found = [app.live("DaemonSet", name) for name in dict.fromkeys(names)]
    return [live for live in found if live and not is_leaving(app, live)]


def deployed_components(app: PolicyApp) -> set[str]:
    """The names of the deployed components."""
    found = [components_of(app, item) for item in OPERANDS if is_deployed(app, item)]
    return {name for names in found for name in names}


def components_of(app: PolicyApp, operand: Operand) -> set[str]:
    """The names of the components that an operand deploys."""
    names = operand.daemon_sets(app)
    return {component_of({"metadata": {"name": name}}).name for name in names} - {""}


def _is_handed_over(app: PolicyApp, operand: Operand) -> bool:
    """Whether NVIDIADrivers deploy the operand instead."""
    return operand is driver.OPERAND and app.stack.uses_driver_resources


def _find_spec_error(app: PolicyApp) -> NimError | None:
    """Return why fields of the spec conflict; None if they do not."""
    if app.spec.has_nri:
        for is_enabled, name in (
            (app.spec.has_cdi, "CDI"),
            (app.spec.toolkit.is_enabled, "the Container Toolkit"),
        ):
            if not is_enabled:
                return SpecError(
                    "error validating clusterpolicy: the NRI Plugin cannot be enabled when"
                    f" {name} is disabled"
                )
    return None


def _add(
    app: PolicyApp, operand: Operand, children: list[Child], unwanted: list[tuple[str, str]]
) -> None:
    """Add the children of an operand and its unwanted objects to the lists.

    NimError if a child cannot be built; then earlier children are written and nothing is deleted.
    """
    if _is_handed_over(app, operand):
        children.append(shared_child(app))
        return
    wanted = set()
    if is_deployed(app, operand):
        for manifest in operand.children(app):
            wanted.add((manifest["kind"], manifest["metadata"]["name"]))
            if not is_leaving(app, app.observed.get(key_of(manifest))):
                is_left_alone = manifest["kind"] == "ServiceAccount"
                children.append(Child(manifest, create_only=is_left_alone))
    unwanted += [
        name
        for name in operand.names(app)
        if name not in wanted and not (is_deployed(app, operand) and operand.keeps(app, *name))
    ]


def is_leaving(app: PolicyApp, live: Manifest | None) -> bool:
    """Whether a live object belongs to a deleted policy and awaits garbage collection."""
    controller = controller_of(live) if live else None
    if controller is None or controller.get("kind") != app.kind or app.controls(live):
        return False
    policies = app.observed.get(POLICIES.key) or []
    uids = {item["metadata"].get("uid") for item in policies if not is_deleted(item)}
    return controller["uid"] not in uids


def _patches(app: PolicyApp) -> list[Patch]:
    """The patches of nodes and of the namespace."""
    return [*app.node_patches, *_pod_security(app, "privileged")]


def _pod_security(app: PolicyApp, level: str | None) -> list[Patch]:
    """The patch of the namespace's labels; without a level, it removes those that we set."""
    namespace = app.live("Namespace", app.namespace)
    if not (app.spec.has_pod_security_labels and namespace):
        return []
    fields = (Field(("metadata", "labels", key), level) for key in _POD_SECURITY)
    return [Patch("Namespace", namespace, tuple(fields))]
