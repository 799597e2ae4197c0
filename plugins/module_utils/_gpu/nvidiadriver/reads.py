# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Reads of an NVIDIADriver."""

from __future__ import annotations

from ..._base.errors import NimError
from ..._engine.reads import Read, ReadUnlabeledChild
from ..cluster import NODES, NVIDIA_DRIVERS, cluster_reads
from ..components import DRIVER
from ..daemonset_problems import problem_reads
from ..driver.license import license_reads
from ..driver.pod import DAEMON_SETS
from ..driver.pool import pool_reads
from ..rbac import role_names
from ..upgrade.reads import upgrade_reads
from .app import DriverApp
from .desired import role_children
from .pools import account_name, pools_of


def reads(app: DriverApp) -> list[Read]:
    """Return the reads that the answers so far require; no children if none are deployed."""
    found: list[Read] = [*cluster_reads(app.observed), NODES, NVIDIA_DRIVERS, DAEMON_SETS]
    if not all(app.observed.has(read.key) for read in found):
        return found
    if app.obstacle and not app.is_disabled:
        return found
    driver = app.spec.driver
    found += [*pool_reads(driver, app.namespace), *license_reads(app, driver.sources)]
    return [*found, *_children(app), *_upgrade(app)]


def _children(app: DriverApp) -> list[Read]:
    """Reads of existing and wanted DaemonSets, their permissions and their unready pods."""
    pools, _errors = pools_of(app)
    sets = [
        *(pool.name for pool in pools),
        *(str(item["metadata"]["name"]) for item in app.daemon_sets),
    ]
    names = [("DaemonSet", name) for name in dict.fromkeys(sets)]
    for pool in pools:
        names += role_names(account_name(app, pool.system.tag), has_cluster_role=True)
    names += role_children(app)
    found: list[Read] = [
        ReadUnlabeledChild(kind, app.namespace, name) for kind, name in dict.fromkeys(names)
    ]
    live = [item for name in sets if (item := app.live("DaemonSet", name))]
    return [*found, *problem_reads(app, live, {DRIVER}, app.nodes)]


def _upgrade(app: DriverApp) -> list[Read]:
    """Reads of the driver upgrade; none if its spec is invalid."""
    if app.is_disabled:
        return []
    try:
        policy = app.spec.upgrade_policy
    except NimError:
        return []
    return upgrade_reads(app.observed, app.namespace, policy, app.name)
