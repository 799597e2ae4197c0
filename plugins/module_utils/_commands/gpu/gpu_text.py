# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Text output of the GPU commands."""

from __future__ import annotations

import typing as t
from datetime import datetime

from ..._base.printable import name_some
from ..status.status_table import write_age
from ..text import write_table
from .forecast import Forecast, NodePlan, ServicePlan
from .node_status import READY, NodeStatus, Trouble

MAX_NODES = 200
_MAX_EVICTED = 4
_PLAN = ("ORDER", "NODE", "NOW", "MEANWHILE", "EVICTS", "ENDS")
_SERVICES = ("NIMSERVICE", "REPLICAS", "READY", "AT WORST", "AFTER", "WITHOUT GPUS", "NODES")
_STATUS = ("NODE", "STATE", "COMPONENT", "WAITS FOR", "SINCE")


def write_forecast(found: Forecast) -> str:
    """Write a forecast as tables, with notes and a summary."""
    if not found.has_work:
        return summarize_forecast(found)
    lines = [write_table(_PLAN, [_cells_of_plan(item) for item in found.nodes[:MAX_NODES]])]
    if len(found.nodes) > MAX_NODES:
        lines.append(f"and {len(found.nodes) - MAX_NODES} more")
    for item in found.nodes[:MAX_NODES]:
        lines += [f"! {item.node}: waits for {wait}" for wait in item.waits]
        lines += [f"# {item.node}: {note}" for note in item.notes]
    if found.services:
        rows = [_cells_of_service(item) for item in found.services[:MAX_NODES]]
        lines += ["", write_table(_SERVICES, rows)]
    return "\n".join([*lines, "", summarize_forecast(found)])


def summarize_forecast(found: Forecast) -> str:
    """Summarize the number of nodes and the affected services."""
    if not found.has_work:
        return f"nothing to upgrade: the drivers of all {found.total} nodes are in sync"
    begun = sum(bool(item.order) for item in found.nodes)
    parts = [f"{begun} of {found.total} nodes are drained"]
    if found.problems:
        parts.append(f"{len(found.problems)} are not upgraded")
    down = [f"{item.namespace}/{item.name}" for item in found.services if not item.lowest]
    if down:
        parts.append(f"without a ready replica during the upgrade: {name_some(down, _MAX_EVICTED)}")
    homeless = [f"{item.namespace}/{item.name}" for item in found.services if item.homeless]
    if homeless:
        parts.append(f"too few GPUs are left for: {name_some(homeless, _MAX_EVICTED)}")
    if not found.is_complete:
        parts.append("the forecast is incomplete")
    return "; ".join(parts)


def write_status(nodes: t.Sequence[NodeStatus], problems: t.Iterable[str], now: datetime) -> str:
    """Write the nodes as a table, followed by advice for each."""
    rows, notes = [], []
    for node in nodes[:MAX_NODES]:
        first: Trouble | None = node.troubles[0] if node.troubles else None
        rows.append(_cells_of_status(node, first, now))
        rows += [_cells_of_status(None, item, now) for item in node.troubles[1:]]
        notes += _notes_of(node)
    lines = [f"! {problem}" for problem in problems]
    if rows:
        lines.append(write_table(_STATUS, rows))
    if len(nodes) > MAX_NODES:
        lines.append(f"and {len(nodes) - MAX_NODES} more")
    ready = sum(node.state == READY for node in nodes)
    return "\n".join([*lines, *notes, f"{ready} of {len(nodes)} GPU nodes are ready"])


def _notes_of(node: NodeStatus) -> list[str]:
    lines = []
    for item in node.troubles:
        head = f"# {node.node}, {item.component}"
        if item.advice:
            lines.append(f"{head}: {item.advice}")
        if item.log:
            lines.append(f"{head}: log: {item.log}")
        if item.blocks:
            lines.append(f"{head}: {', '.join(item.blocks)} wait for it")
    return lines


def _cells_of_status(node: NodeStatus | None, item: Trouble | None, now: datetime) -> list[str]:
    head = [node.node, node.state] if node else ["", ""]
    if item is None:
        return [*head, "-", "-", "-"]
    return [*head, item.component, item.waits, _since(item.since, now)]


def _since(text: str, now: datetime) -> str:
    try:
        begun = datetime.fromisoformat(text)
    except ValueError:
        return "-"
    return f"{write_age(int((now - begun).total_seconds()))} ago"


def _cells_of_plan(item: NodePlan) -> list[str]:
    order = str(item.order) if item.order else "-"
    evicted = name_some(item.evicted, _MAX_EVICTED)
    cells = (item.before, ", ".join(item.meanwhile[:_MAX_EVICTED]), evicted, item.state)
    return [order, item.node, *(cell or "-" for cell in cells)]


def _cells_of_service(item: ServicePlan) -> list[str]:
    size = f"{item.homeless} of {item.gpus} GPUs each" if item.homeless else "-"
    return [
        f"{item.namespace}/{item.name}",
        *(str(count) for count in (item.wanted, item.before, item.lowest, item.after)),
        size,
        name_some(item.nodes, _MAX_EVICTED) or "-",
    ]
