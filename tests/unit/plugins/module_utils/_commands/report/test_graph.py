# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The layout of pipelines."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.report.graph import (
    describe,
    draw_pipeline,
    lay_out,
    rank_nodes,
)

RANKS = {
    "nothing": (0, [], []),
    "alone": (2, [], [0, 0]),
    "chain": (3, [(0, 1), (1, 2)], [2, 1, 0]),
    "longest way": (3, [(0, 1), (1, 2), (0, 2)], [2, 1, 0]),
    "cycle": (3, [(0, 1), (1, 0), (0, 2)], [1, 1, 0]),
    "user of a cycle": (3, [(0, 1), (1, 0), (2, 0)], [0, 0, 0]),
    "itself": (1, [(0, 0)], [0]),
}


@pytest.mark.parametrize(("count", "edges", "ranks"), RANKS.values(), ids=RANKS)
def test_ranks(count, edges, ranks):
    assert rank_nodes(count, edges) == ranks


def test_long_chain():
    edges = [(number, number + 1) for number in range(5000)]
    assert rank_nodes(5001, edges)[0] == 5000


def test_boxes_do_not_overlap():
    layout = lay_out(6, [(0, 3), (1, 3), (2, 4), (5, 0)])
    assert len(set(layout.places)) == 6


def test_edges_pass_below_boxes():
    """0 uses 1 to 4, each of which uses the next one."""
    edges = [(0, 4), (0, 3), (0, 1), (1, 2), (2, 3), (3, 4)]
    layout = lay_out(5, edges)
    size = (190, 46)
    for (user, used), way in zip(edges, layout.ways, strict=True):
        others = [place for node, place in enumerate(layout.places) if node not in (user, used)]
        inside = [
            (point, place)
            for point in way
            for place in others
            if all(
                low <= at <= low + length
                for at, low, length in zip(point, place, size, strict=True)
            )
        ]
        assert inside == []
        assert all(0 < y < layout.height and 0 < x < layout.width for x, y in way)
    assert [len(way) for way in layout.ways] == [8, 6, 2, 2, 2, 2]


def test_edges_of_one_node_share_a_lane():
    layout = lay_out(5, [(0, 1), (1, 2), (3, 1), (0, 2), (3, 2)])
    assert layout.ways[3][1:3] == layout.ways[4][1:3]


def test_drawing(make_report):
    (pipeline,) = make_report("rag").pipelines
    svg = draw_pipeline(pipeline)
    assert svg.count("<rect") == 3
    assert svg.count('marker-end="url(#arrow)"') == 2
    text = "rag (Ready), rag-cache (Failed), rag-off (Off); rag uses rag-cache; rag-off uses rag"
    assert describe(pipeline) == text
    assert f'aria-label="{text}"' in svg


def test_long_names_are_cut(make_report):
    (pipeline,) = make_report("a" * 60).pipelines
    svg = draw_pipeline(pipeline)
    assert f">{'a' * 23}…</text>" in svg
    assert f"<title>NIMService {'a' * 60}: Ready</title>" in svg
