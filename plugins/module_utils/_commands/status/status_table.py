# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A table of custom resources: state, model, address and resource use."""

from __future__ import annotations

import typing as t
from dataclasses import asdict, dataclass
from datetime import datetime

from ..._base.printable import printable
from ..._base.types import Json
from ..._builders.gpu import GPU
from ..._engine.api_resources import identity
from ..._engine.conditions import find_reason
from ..._engine.metadata import controller_of
from ..progress_bar import write_bar
from ..text import write_table

WORKLOADS = ("Deployment", "LeaderWorkerSet", "InferenceService")
"""The workload kinds of a NIMService."""

COLUMNS = (
    *("NAMESPACE", "KIND", "NAME", "STATE", "REASON", "MODEL", "ENDPOINT"),
    *("REPLICAS", "GPUS", "AGE"),
)

_DELETED = "Terminating"
_MAX_REASON = 60
_MAX_FINALIZERS = 300
_UNITS = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))


@dataclass(frozen=True)
class Line:
    """One row. ``replicas``, ``gpus``: of the workload, None without one. ``age``: in seconds."""

    namespace: str
    kind: str
    name: str
    state: str
    reason: str
    message: str
    model: str
    endpoint: str
    available: int | None
    replicas: int | None
    gpus: int | None
    claims: int
    age: int
    progress: str = ""

    def to_dict(self) -> Json:
        """The row as plain data."""
        return asdict(self)

    def explain(self, limit: int | None) -> str:
        """Reason and message, truncated to ``limit`` characters."""
        reason = f"{self.reason}: {self.message}" if self.message else self.reason
        return reason if limit is None or len(reason) <= limit else f"{reason[: limit - 1]}…"

    def cells(self) -> list[str]:
        """The row as text cells."""
        short = self.progress or self.explain(_MAX_REASON)
        replicas = "" if self.replicas is None else f"{self.available or 0}/{self.replicas}"
        gpus = "" if self.gpus is None else str(self.gpus)
        if self.claims:
            gpus = f"{gpus}+{self.claims} claims" if self.gpus else f"{self.claims} claims"
        texts = (self.namespace, self.kind, self.name, self.state, short, self.model)
        return [
            text or "-" for text in (*texts, self.endpoint, replicas, gpus, write_age(self.age))
        ]


def list_status(
    resources: t.Iterable[Json], workloads: t.Iterable[Json], now: datetime
) -> list[Line]:
    """A row for each custom resource, by namespace, kind and name."""
    owned: dict[str, Json] = {}
    for workload in workloads:
        controller = controller_of(workload)
        if controller and identity(workload)[2] in (
            controller["name"],
            f"{controller['name']}-lws",
        ):
            owned[controller["uid"]] = workload
    lines = [
        _line_of(resource, owned.get(resource["metadata"].get("uid", "")), now)
        for resource in resources
    ]
    return sorted(lines, key=lambda line: (line.namespace, line.kind, line.name))


def write_lines(lines: t.Sequence[Line]) -> str:
    """The rows as a table."""
    return write_table(COLUMNS, [line.cells() for line in lines])


def write_age(seconds: int) -> str:
    """An age in its two largest units, in kubectl's format: ``3d4h``, ``90s``."""
    if seconds < 120:
        return f"{max(seconds, 0)}s"
    parts: list[tuple[int, str]] = []
    for size, unit in _UNITS:
        count, seconds = divmod(seconds, size)
        if count or parts:
            parts.append((count, unit))
    return "".join(f"{count}{unit}" for count, unit in parts[:2] if count)


def _line_of(resource: Json, workload: Json | None, now: datetime) -> Line:
    kind, namespace, name = identity(resource)
    status = resource.get("status") or {}
    is_deleted = "deletionTimestamp" in resource["metadata"]
    reason, message = _why_left(resource) if is_deleted else find_reason(status)
    model, endpoint = _what(kind, resource, status)
    created = resource["metadata"].get("creationTimestamp")
    age = (now - datetime.fromisoformat(created)).total_seconds() if created else 0
    return Line(
        namespace=namespace,
        kind=kind,
        name=name,
        state=_DELETED if is_deleted else str(status.get("state") or ""),
        reason=reason,
        message=message,
        model=model,
        endpoint=endpoint,
        available=None if workload is None else int(status.get("availableReplicas") or 0),
        replicas=None if workload is None else count_replicas(workload),
        gpus=None if workload is None else count_gpus(workload),
        claims=0 if workload is None else count_claims(workload),
        age=int(age),
        progress="" if is_deleted else write_bar(status),
    )


def _why_left(resource: Json) -> tuple[str, str]:
    """Why a resource that is being deleted still exists."""
    found = resource["metadata"].get("finalizers") or []
    return "Finalizers", printable(", ".join(map(str, found)), _MAX_FINALIZERS)


def _what(kind: str, resource: Json, status: Json) -> tuple[str, str]:
    """The model and its address."""
    served = status.get("model") or {}
    if kind == "NIMService":
        return served.get("name") or "", served.get("externalEndpoint") or served.get(
            "clusterEndpoint"
        ) or ""
    source = next(iter((resource["spec"].get("source") or {}).values()), None) or {}
    names = (source.get(key) for key in ("modelEndpoint", "modelName", "datasetName"))
    found = next(filter(None, names), None) or source.get("modelPuller") or ""
    return str(found), f"pvc/{status['pvc']}" if status.get("pvc") else ""


def count_replicas(workload: Json) -> int:
    """The desired replicas of a workload; a group of pods counts as one."""
    spec = workload["spec"]
    if workload["kind"] == "InferenceService":
        return int((spec.get("predictor") or {}).get("minReplicas", 1))
    return int(spec.get("replicas", 1))


def count_gpus(workload: Json) -> int:
    """The number of `nvidia.com/gpu` that all pods of a workload request."""
    return count_replicas(workload) * sum(
        count * _gpus_of(pod) for count, pod in _pods_of(workload)
    )


def count_claims(workload: Json) -> int:
    """The number of device claims (DRA) of all pods of a workload."""
    return count_replicas(workload) * sum(
        count * len(pod.get("resourceClaims") or []) for count, pod in _pods_of(workload)
    )


def _pods_of(workload: Json) -> list[tuple[int, Json]]:
    """The number of pods per replica, by pod spec."""
    spec = workload["spec"]
    if workload["kind"] == "InferenceService":
        return [(1, spec.get("predictor") or {})]
    groups = spec.get("leaderWorkerTemplate")
    if not groups:
        return [(1, (spec.get("template") or {}).get("spec") or {})]
    worker = (groups.get("workerTemplate") or {}).get("spec") or {}
    leader = (groups.get("leaderTemplate") or {}).get("spec") or worker
    return [(1, leader), (int(groups.get("size") or 1) - 1, worker)]


def _gpus_of(pod: Json) -> int:
    resources = [item.get("resources") or {} for item in pod.get("containers") or []]
    limits = (str((found.get("limits") or {}).get(GPU) or "") for found in resources)
    return sum(int(limit) for limit in limits if limit.isdigit())
