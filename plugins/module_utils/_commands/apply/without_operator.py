# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Reconciles changed custom resources from here, if no operator serves them."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime

from ..._base.errors import ApiError, NimError
from ..._base.types import Json
from ..._cluster.client import Client
from ..._cluster.live import LiveCluster
from ..._engine.api_resources import identity
from ..._engine.reconcile import reconcile
from ..._engine.status import format_time
from ..._kinds import kind_of
from ..command import Console
from ..release.release import check_stopped, release
from ..text import name_of
from .apply import ApplyRun, Progress, reconcile_once, wait_until_ready


def reconcile_here(
    client: Client, resources: t.Sequence[Json], console: Console, arguments: Json
) -> None:
    """Reconcile the resources until they are Ready, or once, unless an operator does.

    ``arguments``: see `WAIT_SPEC`. NimError after the timeout, or if no progress is possible.
    """
    if has_operator(client, resources, console.print_message):
        return
    console.print_message("no operator runs: the resources are reconciled from here")
    run = ApplyRun(
        {identity(item): Progress() for item in resources}, adjust=console.find_filters()
    )
    if arguments["wait"]:
        wait_until_ready(client, run, arguments["wait_timeout"], console.print_message)
    else:
        reconcile_once(client, run, console.print_message)


def finalize_here(client: Client, resources: t.Sequence[Json], console: Console) -> None:
    """Do what an operator does for resources that are about to be deleted, unless one runs.

    It deletes what the garbage collector cannot, and removes its finalizer, which would stay
    otherwise. NimError if something cannot be deleted.
    """
    if has_operator(client, resources, console.print_message):
        return
    now = format_time(datetime.now(UTC))
    for resource in resources:
        kind = kind_of(resource)
        if kind.finalize:
            leaving = resource | {"metadata": {**resource["metadata"], "deletionTimestamp": now}}
            cluster = LiveCluster(client, is_shared=False, adjust=console.find_filters())
            if error := reconcile(kind, leaving, cluster).report.error:
                raise NimError(f"{name_of(identity(resource))}: {error}")
        if release(client, resource):
            console.print_message(f"{name_of(identity(resource))}: finalizer removed")


def has_operator(
    client: Client, resources: t.Sequence[Json], notify: t.Callable[[str], None]
) -> bool:
    """Whether an operator serves one of the resources, or the user may not find out."""
    try:
        check_stopped(client, "", resources, datetime.now(UTC))
    except NimError:
        return True
    except ApiError as error:
        if error.status == 403:
            notify(f"assuming that an operator runs, as it may not be looked for: {error}")
            return True
        raise
    return False
