# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Pipelines as graphs in SVG: what is used on the left, its users on the right."""

from __future__ import annotations

import typing as t
from collections import defaultdict

from .markup import Markup, tag
from .model import GraphNode, Pipeline
from .parts import class_of

_WIDTH, _HEIGHT, _GAP_X, _GAP_Y, _EDGE = 200, 46, 70, 16, 4
_MAX_LABEL = 26


def define_arrow() -> Markup:
    """The arrow of all graphs."""
    tip = tag("path", d="M0 0L8 4L0 8Z", class_="tip")
    marker = tag(
        "marker", tip, id="arrow", viewBox="0 0 8 8", refX="8", refY="4", markerWidth="6",
        markerHeight="6", orient="auto",
    )  # fmt: skip
    return tag("svg", tag("defs", marker), class_="defs", width="0", height="0", aria_hidden="true")


def draw_pipeline(pipeline: Pipeline) -> Markup:
    """A pipeline as an SVG image."""
    places = place_nodes(len(pipeline.nodes), pipeline.edges)
    width = max((x for x, _y in places), default=0) + _WIDTH + _EDGE
    height = max((y for _x, y in places), default=0) + _HEIGHT + _EDGE
    lines = [_draw_edge(places[used], places[user]) for user, used in pipeline.edges]
    boxes = [_draw_node(node, *place) for node, place in zip(pipeline.nodes, places, strict=True)]
    return tag(
        "svg", lines, boxes, class_="graph", role="img", aria_label=describe(pipeline),
        width=str(width), height=str(height), viewBox=f"0 0 {width} {height}",
    )  # fmt: skip


def describe(pipeline: Pipeline) -> str:
    """The graph as text."""
    names = [f"{node.name} ({node.state or 'unknown'})" for node in pipeline.nodes]
    uses = [
        f"{pipeline.nodes[user].name} uses {pipeline.nodes[used].name}"
        for user, used in pipeline.edges
    ]
    return "; ".join([", ".join(names), *uses])


def place_nodes(count: int, edges: t.Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The place of each node; a column has what uses only nodes to its left."""
    columns: dict[int, int] = defaultdict(int)
    places = []
    for rank in rank_nodes(count, edges):
        x = _EDGE + rank * (_WIDTH + _GAP_X)
        places.append((x, _EDGE + columns[rank] * (_HEIGHT + _GAP_Y)))
        columns[rank] += 1
    return places


def rank_nodes(count: int, edges: t.Sequence[tuple[int, int]]) -> list[int]:
    """The column of each node: 0 uses nothing. Nodes of cycles share the last column."""
    users: dict[int, list[int]] = defaultdict(list)
    missing = [0] * count
    for user, used in edges:
        users[used].append(user)
        missing[user] += 1
    ranks = [0] * count
    ready = [node for node in range(count) if not missing[node]]
    seen = set(ready)
    for node in ready:  # grows
        for user in users[node]:
            ranks[user] = max(ranks[user], ranks[node] + 1)
            missing[user] -= 1
            if not missing[user]:
                ready.append(user)
                seen.add(user)
    last = max((ranks[node] for node in seen), default=-1) + 1
    return [ranks[node] if node in seen else last for node in range(count)]


def _draw_edge(start: tuple[int, int], end: tuple[int, int]) -> Markup:
    x, y = start[0] + _WIDTH, start[1] + _HEIGHT // 2
    to_x, to_y = end[0], end[1] + _HEIGHT // 2
    bend = max((to_x - x) // 2, _GAP_X // 2)
    path = f"M{x} {y}C{x + bend} {y} {to_x - bend} {to_y} {to_x} {to_y}"
    return tag("path", d=path, marker_end="url(#arrow)")


def _draw_node(node: GraphNode, x: int, y: int) -> Markup:
    label = node.name if len(node.name) <= _MAX_LABEL else f"{node.name[: _MAX_LABEL - 1]}…"
    return tag(
        "g",
        tag("title", f"{node.kind} {node.name}: {node.state or 'unknown'}"),
        tag("rect", class_="box", x=str(x), y=str(y), rx="7", width=str(_WIDTH),
            height=str(_HEIGHT)),
        tag("text", label, x=str(x + 10), y=str(y + 19)),
        tag("text", f"{node.kind} · {node.state or 'unknown'}", class_="kind",
            x=str(x + 10), y=str(y + 36)),
        class_=class_of(node.state),
    )  # fmt: skip
