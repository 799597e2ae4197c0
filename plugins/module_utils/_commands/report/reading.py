# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Reads the cluster for a report, with the code of status, gpu status and plan; writes nothing."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field
from datetime import UTC, datetime

from ..._base.errors import ApiError, NimError
from ..._base.types import Json
from ..._cluster.client import Client
from ..._engine.adjust import Adjust
from ..._engine.api_resources import api_path
from ..gather.redact import Redactor
from ..gpu.node_status import NodeStatus, find_stack_problems
from ..gpu.reading import read_policies, read_simulation, read_statuses
from ..gpu.simulated_upgrade import SimulatedUpgrade
from ..plan.preview import list_readable, preview
from ..preflight.facts import path_to
from ..status.command import read_workloads
from ..status.status_table import list_status
from .collect import (
    collect_caches,
    collect_pipelines,
    collect_plan,
    collect_resources,
    collect_volumes,
)
from .model import NodeUse, Plan, Report
from .occupancy import GpuView, find_occupancy
from .redacted import redact_report

_MAX_LOGS = 20

Notify = t.Callable[[str], None]


@dataclass
class Reading:
    """The request. ``namespace``: empty for all. ``notify``: prints progress."""

    client: Client
    namespace: str
    notify: Notify
    redactor: Redactor = field(default_factory=Redactor)
    notes: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        """Record that something is missing, and print it."""
        self.notes.append(text)
        self.notify(text)


def read_report(
    reading: Reading, versions: t.Mapping[str, str], adjust: Adjust | None, *, with_plan: bool
) -> Report:
    """Read a report without credentials.

    What the user may not read is left out, with a note. ApiError if the API server does not answer,
    or if the user may list no custom resource.
    """
    client, namespace = reading.client, reading.namespace
    resources = list_readable(client, namespace, reading.note)
    workloads = read_workloads(client, namespace, reading.note)
    claims = _optional(
        reading,
        "volumes are",
        lambda: client.list_objects(api_path("PersistentVolumeClaim", namespace)),
    )
    reading.redactor.learn([resources, workloads])
    reading.notify(f"{len(resources)} custom resources in {namespace or 'the cluster'}")
    lines = list_status(resources, workloads, datetime.now(UTC))
    nodes, faults = _read_gpus(reading)
    plan = _read_plan(reading, resources, adjust) if with_plan else None
    report = Report(
        namespace,
        datetime.now(UTC).isoformat(timespec="seconds"),
        (*versions.items(), ("Kubernetes", _read_version(client))),
        collect_resources(lines),
        nodes,
        faults,
        collect_caches(resources, lines),
        collect_volumes(claims or [], resources, workloads),
        collect_pipelines(resources, lines),
        plan,
        tuple(reading.notes),
    )
    return redact_report(report, reading.redactor)


def _optional(reading: Reading, what: str, read: t.Callable[[], t.Any]) -> t.Any:
    """The answer; None, with a note, if the API server or we refuse it. ApiError if it is away."""
    try:
        return read()
    except (ApiError, NimError) as error:
        if isinstance(error, ApiError) and not error.status:
            raise
        reading.note(f"{what} not shown: {error}")
        return None


def _read_version(client: Client) -> str:
    try:
        return str((client.get("/version") or {}).get("gitVersion") or "")
    except ApiError as error:
        if not error.status:
            raise
        return ""


def _read_gpus(reading: Reading) -> tuple[tuple[NodeUse, ...] | None, tuple[str, ...]]:
    """The nodes with GPUs, None if they may not be read, and problems of the GPU stack."""
    client = reading.client
    found = _optional(reading, "GPUs are", lambda: read_simulation(client))
    if found is None:
        return None, ()
    reading.notify(f"{len(found.nodes)} nodes, {len(found.pods)} pods")
    stack = _optional(reading, "states of the GPU stack are", lambda: _read_stack(client, found))
    statuses, faults = stack or ([], [])
    slices = _optional(
        reading, "DRA devices are", lambda: client.list_objects(path_to("ResourceSlice"))
    )
    claims = found.claims
    if slices and not claims:  # of pods that use devices as an extended resource
        claims = _optional(
            reading,
            "users of DRA devices are",
            lambda: client.list_objects(api_path("ResourceClaim")),
        )
    view = GpuView(
        found.nodes,
        found.pods,
        slices or [],
        claims or [],
        found.workloads,
        statuses,
        reading.namespace,
    )
    return tuple(find_occupancy(view)), tuple(faults)


def _read_stack(client: Client, found: SimulatedUpgrade) -> tuple[list[NodeStatus], list[str]]:
    """The states of the GPU stack; none if the cluster has no stack that we know."""
    try:
        policies = read_policies(client)
    except NimError:
        return [], []
    if not policies:
        return [], []
    statuses = read_statuses(client, policies, found, _MAX_LOGS)
    return statuses, find_stack_problems(policies, found.nodes)


def _read_plan(reading: Reading, resources: t.Sequence[Json], adjust: Adjust | None) -> Plan | None:
    """The plan; None, with a note, if it cannot be made."""
    reading.notify(f"planning the next reconcile of {len(resources)} custom resources")
    found = _optional(
        reading,
        "the plan is",
        lambda: preview(reading.client, resources, adjust, is_given=False),
    )
    if found is None:
        return None
    for change in found.changes:
        reading.redactor.learn([change.before, change.after])
    return collect_plan(found, reading.redactor)
