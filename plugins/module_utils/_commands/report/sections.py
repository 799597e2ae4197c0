# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The sections of a report."""

from __future__ import annotations

import typing as t
from collections import Counter, defaultdict

from ..status.status_table import Line
from .advice import Advice
from .graph import draw_pipeline
from .markup import Markup, tag, write
from .model import Cache, Change, NodeUse, Pipeline, Plan, Pool, Report, Resource, Trouble, Volume
from .parts import badge, class_of, group, row, section, show_advice, table

_MAX_OPEN_ROWS, _MAX_OPEN_GROUPS = 10, 8
"""Groups with at most so many rows are open, unless there are more groups."""
_MAX_CELLS = 128
_RANK = ("Failed", "", "NotReady")
_CLUSTER = "cluster-scoped"


def write_problems(resources: t.Sequence[Resource]) -> Markup:
    """The resources with a problem, grouped by what is wrong, with advice."""
    found: dict[tuple[str, str, str, tuple[Advice, ...]], list[Line]] = defaultdict(list)
    for item in resources:
        if item.has_problem:
            line = item.line
            found[line.kind, line.state, line.reason, item.advice].append(line)
    if not found:
        return section("problems", "Problems", tag("p", "All resources are Ready."))
    order = sorted(found, key=lambda key: (_rank_of(key[1]), -len(found[key]), key[:3]))
    groups = [
        _write_problem(key, found[key], is_open=index < _MAX_OPEN_GROUPS)
        for index, key in enumerate(order)
    ]
    return section("problems", "Problems", groups)


def _rank_of(state: str) -> int:
    return _RANK.index(state) if state in _RANK else len(_RANK)


def _write_problem(
    key: tuple[str, str, str, tuple[Advice, ...]], lines: t.Sequence[Line], *, is_open: bool
) -> Markup:
    kind, state, reason, advice = key
    count = f" ({len(lines)})" if len(lines) > 1 else ""
    title = f"{kind}: {reason}{count}" if reason else f"{kind}{count}"
    items = [
        row(
            f"{line.namespace}/{line.name}" if line.namespace else line.name,
            line.message,
            is_problem=True,
        )
        for line in lines
    ]
    body = (show_advice(advice), table(("Resource", "Message"), items))
    return group(title, badge(state), *body, is_open=is_open and len(lines) <= _MAX_OPEN_ROWS)


def write_fleet(resources: t.Sequence[Resource]) -> Markup:
    """All resources by namespace."""
    found: dict[str, list[Resource]] = defaultdict(list)
    for item in resources:
        found[item.line.namespace].append(item)
    is_small = len(resources) <= 5 * _MAX_OPEN_ROWS
    groups = [
        group(
            namespace or _CLUSTER,
            count_states(items),
            table(_FLEET, map(_write_resource, items)),
            is_open=is_small,
        )
        for namespace, items in sorted(found.items())
    ]
    return section("fleet", "Resources", groups or tag("p", "There are no custom resources."))


_FLEET = ("Kind", "Name", "State", "Reason", "Model", "Endpoint", "Replicas", "GPUs", "Age")


def count_states(resources: t.Iterable[Resource]) -> list[Markup]:
    """The number of resources by state."""
    counts = Counter(item.line.state for item in resources)
    return [
        write([" ", badge(state, f"{count} {state or 'without state'}")])
        for state, count in counts.most_common()
    ]


def _write_resource(item: Resource) -> Markup:
    line = item.line
    replicas, gpus, age = line.cells()[-3:]
    state = badge(line.state)
    cells = (line.kind, line.name, state, line.reason, line.model, line.endpoint)
    return row(
        *cells, replicas, gpus, tag("span", age, class_="whole"), is_problem=item.has_problem
    )


def write_nodes(report: Report) -> Markup:
    """The GPUs of each node, and what uses them."""
    faults = [tag("p", badge("Failed", "problem"), " ", text) for text in report.faults]
    if report.nodes is None:
        content: list[Markup] = [tag("p", "The nodes could not be read.")]
    elif not report.nodes:
        content = [tag("p", "No node has GPUs.")]
    else:
        content = [_write_legend(), tag("div", map(_write_node, report.nodes), class_="nodes")]
    return section("gpus", "GPUs by node", faults, content)


def _write_legend() -> Markup:
    cells = [
        (
            tag("i", class_="u"),
            tag("i", class_="v"),
            " in use, with two colors for different users;",
        ),
        (tag("i"), " free;"),
        (tag("i", class_="x"), " unhealthy"),
    ]
    shown = [tag("span", cell, class_="cells") for cell in cells]
    return tag("div", shown, class_="cells muted", aria_hidden="true")


def _write_node(node: NodeUse) -> Markup:
    state = (" ", badge(node.state)) if node.state else ()
    head = tag("h3", node.name, state)
    product = tag("p", node.product, class_="muted") if node.product else None
    remarks = [tag("p", text) for text in node.remarks]
    parts = (
        head,
        product,
        remarks,
        map(_write_pool, node.pools),
        map(_write_trouble, node.troubles),
    )
    is_problem = bool(node.remarks or node.troubles or any(it.unhealthy for it in node.pools))
    return tag("article", parts, class_="node", data_item=True, data_problem=is_problem)


def _write_pool(pool: Pool) -> list[Markup | None]:
    text = f"{pool.used} of {pool.total} in use, {pool.free} free"
    if pool.unhealthy:
        text += f", {pool.unhealthy} unhealthy"
    name = " ".join(filter(None, (pool.name, pool.details)))
    uses = [tag("li", f"{use.user}: {use.count}") for use in pool.uses]
    return [
        tag("p", tag("strong", name), f" ({pool.source}): {text}"),
        tag(
            "div",
            _draw_cells(pool),
            class_="cells slice" if pool.is_slice else "cells",
            role="img",
            aria_label=f"{name}: {text}",
        ),
        tag("ul", uses, class_="plain") if uses else None,
    ]


def _draw_cells(pool: Pool) -> list[Markup]:
    """A cell for each device: those in use first, then free and unhealthy ones."""
    classes = [
        "uv"[index % 2] for index, use in enumerate(pool.uses) for _number in range(use.count)
    ]
    classes += [""] * pool.free + ["x"] * pool.unhealthy
    cells = [tag("i", class_=name) for name in classes[:_MAX_CELLS]]
    more = len(classes) - _MAX_CELLS
    return [*cells, tag("span", f"and {more} more")] if more > 0 else cells


def _write_trouble(item: Trouble) -> Markup:
    return tag(
        "div",
        tag("p", tag("strong", item.component), f" waits for {item.waits}"),
        tag("p", tag("strong", "Fix: "), item.advice) if item.advice else None,
        tag("p", "Log: ", tag("code", item.log)) if item.log else None,
        class_="advice",
    )


def write_storage(caches: t.Sequence[Cache], volumes: t.Sequence[Volume]) -> Markup:
    """NIMCaches, and the claims of all resources."""
    parts = [
        group(title, f"({len(rows)})", table(columns, rows), is_open=len(rows) <= _MAX_OPEN_ROWS)
        for title, columns, rows in (
            ("NIMCaches", _CACHES, list(map(_write_cache, caches))),
            ("Volumes", _VOLUMES, list(map(_write_volume, volumes))),
        )
        if rows
    ]
    empty = tag("p", "There are no caches and no volumes.")
    return section("storage", "Caches and volumes", parts or empty)


_CACHES = ("Namespace", "Name", "State", "Model", "Profiles", "Volume", "Used by")
_VOLUMES = ("Namespace", "Claim", "Phase", "Size", "Access", "Class", "Used by")


def _write_cache(item: Cache) -> Markup:
    profiles = str(item.profiles) if item.profiles else ""
    cells = (item.namespace, item.name, badge(item.state), item.model, profiles, item.claim)
    return row(*cells, ", ".join(item.users), is_problem=item.state != "Ready")


def _write_volume(item: Volume) -> Markup:
    phase = badge(item.phase)
    cells = (item.namespace, item.name, phase, item.size, item.modes, item.storage_class)
    return row(*cells, ", ".join(item.users), is_problem=item.phase != "Bound")


def write_pipelines(pipelines: t.Sequence[Pipeline]) -> Markup | None:
    """The pipelines as graphs; None if there are none."""
    if not pipelines:
        return None
    is_few = len(pipelines) <= _MAX_OPEN_ROWS
    found = [_write_pipeline(item, is_open=is_few) for item in pipelines]
    note = tag("p", "An arrow leads from what is used to its user.", class_="muted")
    return section("pipelines", "Pipelines", note, found)


def _write_pipeline(item: Pipeline, *, is_open: bool) -> Markup:
    name = f"{item.namespace}/{item.name}"
    graph = tag("div", draw_pipeline(item), class_="scroll", tabindex="0", role="region",
                aria_label=f"Graph of {name}")  # fmt: skip
    is_problem = class_of(item.state) != "ok"
    entry = tag("div", graph, data_item=True, data_problem=is_problem)
    return group(name, badge(item.state), entry, is_open=is_open)


def write_plan(plan: Plan | None) -> Markup:
    """The changes of the next reconcile, by resource."""
    title = "What the next reconcile changes"
    if plan is None:
        return section("plan", title, tag("p", "This report has no plan."))
    problems = [
        tag("p", badge("Failed", "cannot be served"), f" {name}: {text}")
        for name, text in plan.problems
    ]
    found: dict[str, list[Change]] = defaultdict(list)
    for item in plan.changes:
        found[item.parent or item.target].append(item)
    groups = [
        group(
            name,
            f"({len(items)})",
            table(("Action", "Object", "Difference"), map(_write_change, items)),
            is_open=len(found) <= _MAX_OPEN_GROUPS,
        )
        for name, items in found.items()
    ]
    omitted = f"{plan.omitted} differences are left out: kubectl nim plan shows them."
    note = tag("p", omitted) if plan.omitted else None
    summary = tag("p", f"{plan.summary[:1].upper()}{plan.summary[1:]}.")
    return section("plan", title, summary, problems, groups, note)


def _write_change(item: Change) -> Markup:
    target = (item.target, " (its pods are replaced)") if item.restarts else item.target
    return row(badge(item.action), target, _write_diff(item.diff), is_problem=True)


def _write_diff(text: str) -> Markup | None:
    if not text:
        return None
    lines = text.split("\n")
    return tag("pre", [_write_diff_line(line, index) for index, line in enumerate(lines)])


def _write_diff_line(line: str, index: int) -> Markup:
    name = {"+": "plus", "-": "minus"}.get(line[:1])
    shown = tag("span", line, class_=name) if name else write(line)
    return write(["\n", shown] if index else shown)
