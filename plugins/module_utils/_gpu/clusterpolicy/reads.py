# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Reads of a ClusterPolicy."""

from __future__ import annotations

from ..._base.errors import NimError
from ..._engine.metadata import is_deleted
from ..._engine.reads import Read, ReadObject, ReadUnlabeledChild
from ..cluster import NODES, NVIDIA_DRIVERS, cluster_reads
from ..daemonset_problems import problem_reads
from ..driver.license import license_reads
from ..driver.pod import DAEMON_SETS
from ..driver.pool import pool_reads
from ..nodes import Nodes
from ..upgrade.reads import upgrade_reads
from .app import SERVICE_MONITORS, PolicyApp
from .desired import daemon_sets, deployed_components
from .operands.prerequisites import RUNTIME_CLASSES
from .order import OPERANDS
from .presence import presence_reads

_STACK_READS = (SERVICE_MONITORS, NODES, RUNTIME_CLASSES, DAEMON_SETS, NVIDIA_DRIVERS)


def reads(app: PolicyApp) -> list[Read]:
    """Return the reads that the answers so far require; none of the stack if it is not deployed."""
    found = cluster_reads(app.observed)
    if not all(app.observed.has(read.key) for read in found):
        return found
    if not app.is_active or app.obstacle:
        return found
    if is_deleted(app.resource):
        return [*found, NODES, *_namespace(app)]
    found += _STACK_READS
    if not all(app.observed.has(read.key) for read in _STACK_READS):
        return found
    found += presence_reads(app.observed)
    return [*found, *_inputs(app), *_children(app), *_problems(app), *_upgrade(app)]


def _inputs(app: PolicyApp) -> list[Read]:
    """Reads of the objects that the spec refers to."""
    namespace, driver = app.namespace, app.spec.driver
    found = list[Read]()
    if driver.operand.is_enabled:
        found = pool_reads(driver, namespace)
        if not app.stack.uses_driver_resources:
            found += license_reads(app, driver.sources)
    return [*found, *_namespace(app)]


def _namespace(app: PolicyApp) -> list[Read]:
    """The read of the namespace, if the policy sets its labels."""
    is_needed = app.spec.has_pod_security_labels
    return [ReadObject("Namespace", "", app.namespace)] if is_needed else []


def _children(app: PolicyApp) -> list[Read]:
    """Reads of all objects that the stack may have."""
    return [
        ReadUnlabeledChild(kind, app.namespace, name)
        for operand in OPERANDS
        for kind, name in operand.names(app)
        if kind != "ServiceMonitor" or app.has_service_monitors
    ]


def _upgrade(app: PolicyApp) -> list[Read]:
    """Reads of the driver upgrade; none if its spec is invalid."""
    try:
        policy = app.spec.upgrade_policy
    except NimError:
        return []
    return upgrade_reads(app.observed, app.namespace, policy)


def _problems(app: PolicyApp) -> list[Read]:
    """Reads of the pods and nodes that show why DaemonSets are not ready."""
    nodes = Nodes(app.observed.get(NODES.key) or [])
    return problem_reads(app, daemon_sets(app), deployed_components(app), nodes)
