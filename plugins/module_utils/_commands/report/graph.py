# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Pipelines as graphs in SVG: what is used on the left, its users on the right."""

from __future__ import annotations

import typing as t
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise

from .markup import Markup, tag
from .model import GraphNode, Pipeline
from .parts import class_of

_WIDTH, _HEIGHT, _GAP_X, _GAP_Y, _LANE, _MARGIN = 190, 46, 50, 16, 14, 4
_MAX_LABEL = 24

Point = tuple[int, int]


@dataclass(frozen=True)
class Layout:
    """The top left corners of the boxes, and the points of each edge."""

    places: list[Point]
    ways: list[list[Point]]
    width: int
    height: int


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
    layout = lay_out(len(pipeline.nodes), pipeline.edges)
    lines = [_draw_edge(way) for way in layout.ways]
    nodes = zip(pipeline.nodes, layout.places, strict=True)
    boxes = [_draw_node(node, *place) for node, place in nodes]
    width, height = str(layout.width), str(layout.height)
    return tag(
        "svg", lines, boxes, class_="graph", role="img", aria_label=describe(pipeline),
        width=width, height=height, viewBox=f"0 0 {width} {height}",
    )  # fmt: skip


def describe(pipeline: Pipeline) -> str:
    """The graph as text."""
    names = [f"{node.name} ({node.state or 'unknown'})" for node in pipeline.nodes]
    uses = [
        f"{pipeline.nodes[user].name} uses {pipeline.nodes[used].name}"
        for user, used in pipeline.edges
    ]
    return "; ".join([", ".join(names), *uses])


def lay_out(count: int, edges: t.Sequence[tuple[int, int]]) -> Layout:
    """The layout; a column has what uses only nodes to its left, and an edge passes below boxes."""
    ranks = rank_nodes(count, edges)
    ends: dict[int, int] = defaultdict(lambda: _MARGIN)
    places = []
    for rank in ranks:
        places.append((_x_of(rank), ends[rank]))
        ends[rank] += _HEIGHT + _GAP_Y
    lanes: dict[tuple[int, int], int] = {}
    ways = []
    for user, used in edges:
        way = [(places[used][0] + _WIDTH, places[used][1] + _HEIGHT // 2)]
        for rank in range(ranks[used] + 1, ranks[user]):
            if (used, rank) not in lanes:
                lanes[used, rank] = ends[rank] + _LANE // 2
                ends[rank] += _LANE
            y = lanes[used, rank]
            way += [(_x_of(rank), y), (_x_of(rank) + _WIDTH, y)]
        ways.append([*way, (places[user][0], places[user][1] + _HEIGHT // 2)])
    width = _x_of(max(ranks, default=0)) + _WIDTH + _MARGIN
    return Layout(places, ways, width, max(ends.values(), default=_MARGIN) + _MARGIN)


def _x_of(rank: int) -> int:
    return _MARGIN + rank * (_WIDTH + _GAP_X)


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


def _draw_edge(way: t.Sequence[Point]) -> Markup:
    """An edge: curves between columns, straight lines within them."""
    path = f"M{way[0][0]} {way[0][1]}"
    for index, ((x, y), (to_x, to_y)) in enumerate(pairwise(way)):
        bend = max((to_x - x) // 2, _GAP_X // 2)
        curve = f"C{x + bend} {y} {to_x - bend} {to_y} {to_x} {to_y}"
        path += f"L{to_x} {to_y}" if index % 2 else curve
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
