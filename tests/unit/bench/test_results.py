# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""From what was seen to the figures."""

from __future__ import annotations

import pytest
from nimops_bench.results import (
    BringUp,
    Crowd,
    Few,
    Hanging,
    Load,
    Loading,
    Restart,
    Samples,
    Seen,
    Sizes,
    Start,
    Steady,
    Unchanged,
    compare_kinds,
    describe_crowd,
    describe_foreign,
    describe_load,
    describe_slow,
    describe_stack,
    is_prefork_on,
    make_results,
    make_samples,
    make_spreads,
)
from nimops_bench.stats import Summary
from nimops_harness.proc import Memory


def make_restart(seconds: float, changes: list[float]) -> Restart:
    return Restart(seconds, changes, Memory(400, 900), 1, [(0.5, 0), (seconds, 9)])


def make_seen() -> Seen:
    return Seen(
        Sizes(few=100, many=500),
        cores=2,
        samples={
            "stock": Samples([[3.0, 4.0], [5.0]], [[2.0, 4.0], [9.0]], [[6.0]]),
            "prefork": Samples([[0.5, 0.5], [1.0]], [[0.2, 0.4], [0.9]], [[2.0]]),
            "role": Samples([[5.0]], [[5.0]], [[8.0]]),
        },
        shares={"stock": [0.9], "prefork": [0.03]},
        kinds={"NIMService": [0.2], "NemoDatastore": [0.1]},
        few=Few([1.0, 2.0, 9.0], Memory(150, 200), 4.0),
        restart_few=make_restart(10.0, [1.0]),
        restart_many=make_restart(60.0, [1.0, 7.0, 2.0]),
    )


def test_all_figures() -> None:
    assert make_results(make_seen()) == {
        "unchanged_wall_ratio": 8.0,
        "unchanged_cpu_ratio": pytest.approx(10.0),
        "create_wall_ratio": 3.0,
        "nemodatastore_ratio": 0.5,
        "nemo_ratio": 0.5,
        "unchanged_median_s": 0.5,
        "unchanged_stock_median_s": 4.0,
        "unchanged_cpu_s": pytest.approx(0.6),
        "unchanged_stock_cpu_s": 6.0,
        "create_median_s": 2.0,
        "create_stock_median_s": 6.0,
        "unchanged_role_s": 5.0,
        "unchanged_role_ratio": 10.0,
        "create_role_s": 8.0,
        "create_role_ratio": 4.0,
        "hundred_ready_s": 9.0,
        "hundred_ready_median_s": 2.0,
        "hundred_plain_s": 4.0,
        "rss_idle_mib": 150,
        "rss_idle_sum_mib": 200,
        "restart_100_s": 10.0,
        "restart_100_errors": 1,
        "change_during_restart_100_s": 1.0,
        "restart_500_s": 60.0,
        "restart_500_errors": 1,
        "change_during_restart_s": 2.0,
        "change_during_restart_max_s": 7.0,
        "rss_peak_mib": 400,
        "rss_peak_sum_mib": 900,
        "restart_growth": pytest.approx(1.2),
        "prefork_was_on": True,
        "cores": 2,
        "nimservices_few": 100,
        "nimservices_many": 500,
        "foreign_objects": 5000,
    }


def test_nothing_was_measured() -> None:
    results = make_results(Seen(Sizes(), cores=2))
    assert results["unchanged_wall_ratio"] is None
    assert results["prefork_was_on"] is None
    assert "restart_growth" not in results


@pytest.mark.parametrize(
    ("stock", "prefork", "expected"),
    [
        ([0.9, 0.7], [0.02, 0.1], True),
        ([0.9], [0.02, 0.4], False),
        ([0.9], [0.9], False),
        ([0.02], [0.02], False),
        ([0.9], [], None),
    ],
    ids=["on", "partly-stock", "all-stock", "never-stock", "not-seen"],
)
def test_is_prefork_on(stock: list[float], prefork: list[float], expected: bool | None) -> None:
    assert is_prefork_on({"stock": stock, "prefork": prefork}) is expected


def test_spread_of_a_ratio_is_that_of_the_rounds() -> None:
    spreads = make_spreads(make_seen())
    assert spreads["unchanged_wall_ratio"] == Summary(6.0, 5.0, 7.0, 2)
    assert spreads["unchanged_cpu_ratio"].count == 2
    assert spreads["change_during_restart_s"] == Summary(2.0, 1.0, 7.0, 3)


def test_a_round_that_one_side_lacks_is_left_out() -> None:
    seen = make_seen()
    seen.samples["prefork"].unchanged_wall.pop()
    assert make_spreads(seen)["unchanged_wall_ratio"].count == 1


def test_samples_of_the_chart() -> None:
    samples = make_samples(make_seen())
    assert samples["unchanged_wall"] == {"stock": [3.0, 4.0, 5.0], "prefork": [0.5, 0.5, 1.0]}
    assert samples["ready"] == [1.0, 2.0, 9.0]
    assert samples["restarts"]["500"] == [(0.5, 0), (60.0, 9)]


def test_the_slowest_nemo_kind_counts() -> None:
    kinds = {"NIMService": [2.0, 1.0, 3.0], "NemoDatastore": [2.2], "NemoCustomizer": [3.0, 2.0]}
    assert compare_kinds(kinds) == {
        "nemodatastore_ratio": 1.1,
        "nemocustomizer_ratio": 1.25,
        "nemo_ratio": 1.25,
    }
    assert compare_kinds({"NemoDatastore": [1.0]}) == {
        "nemodatastore_ratio": None,
        "nemo_ratio": None,
    }
    assert compare_kinds({}) == {"nemo_ratio": None}


def make_start(first: float, pss: float, righted: list[float]) -> Start:
    return Start(first, Memory(pss, 2 * pss), righted)


def test_what_objects_of_others_cost() -> None:
    alone = [make_start(2.0, 100, []), make_start(4.0, 120, [])]
    beside = [make_start(3.0, 121, []), make_start(3.6, 121, [0.5, 0.7, 1.5])]
    assert describe_foreign(alone, beside) == {
        "foreign_memory_growth": pytest.approx(1.1),
        "foreign_memory_mib": 121,
        "foreign_start_growth": pytest.approx(1.1),
        "foreign_start_s": 3.3,
        "foreign_drift_s": 0.7,
        "foreign_drift_max_s": 1.5,
    }
    assert describe_foreign(alone, []) == {}
    assert describe_foreign(alone, [make_start(3.0, 121, [])])["foreign_drift_max_s"] is None


def test_what_slow_models_cost() -> None:
    assert describe_slow(Hanging([1.0], [1.0, 3.0, 1.5]), Loading(0.04, 12, [0.5, 1.0, 0.6])) == {
        "change_calm_s": 1.0,
        "change_calm_max_s": 1.0,
        "change_while_hanging_s": 1.5,
        "change_while_hanging_max_s": 3.0,
        "loading_cores": 0.04,
        "loading_reconciles": 12,
        "ready_told_s": 0.6,
        "ready_told_max_s": 1.0,
    }


def make_load(count: int, factor: float, steady: Steady | None = None) -> Load:
    memory = Memory(200 * factor, 300)
    return Load(
        count, 2.0, 20 * factor, 10 * factor, 1000 * factor, memory, memory, [1.0, 0.5, 2.5], steady
    )


def test_what_thousands_cost() -> None:
    steady = Steady(100, 300, 0.4, 50, Memory(400, 500))
    results = describe_load(make_load(100, 1), make_load(2000, 10, steady))
    assert results == {
        "scale_first_s": 2.0,
        "scale_start_s": 200,
        "scale_start_cpu_s": 100,
        "scale_start_requests_s": 50,
        "scale_change_s": 1.0,
        "scale_change_max_s": 2.5,
        "scale_idle_mib": 2000,
        "scale_peak_mib": 2000,
        "scale_steady_cores": 0.4,
        "scale_steady_requests_s": 50,
        "scale_steady_reconciles_s": 3,
        "scale_steady_mib": 400,
        "scale_start_growth": 0.5,
        "scale_cpu_growth": 0.5,
        "scale_requests_growth": 0.5,
        "scale_memory_growth": 0.5,
    }
    assert describe_load(None, None) == {}
    assert "scale_start_growth" not in describe_load(None, make_load(2000, 10))


def make_bring_up(count: int, factor: float, waiting: float | None = None) -> BringUp:
    unchanged = {
        "ClusterPolicy": Unchanged(50, [0.5, 0.5, 2.0], [0.1, 0.3]),
        "NIMService": Unchanged(5, [0.1, 0.1, 0.4], [0.04, 0.06]),
    }
    memory, peak = Memory(100 * factor, 200), Memory(150 * factor, 300)
    return BringUp(
        count, 1.0, 2 * factor, 3, 0.5 * factor, memory, peak, 0.002, unchanged, waiting, 0.5
    )


def test_what_the_gpu_stack_costs() -> None:
    results = describe_stack(make_bring_up(4, 1, 0.01), make_bring_up(200, 10))
    assert {key: value for key, value in results.items() if not key.startswith("gpu_many_")} == {
        "gpu_few_not_ready_s": 1.0,
        "gpu_few_ready_s": 2,
        "gpu_few_passes": 3,
        "gpu_few_cpu_s": 0.5,
        "gpu_few_idle_mib": 100,
        "gpu_few_peak_mib": 150,
        "gpu_few_idle_cores": 0.002,
        "gpu_few_plain_s": 0.5,
        "gpu_few_children": 50,
        "gpu_few_unchanged_s": 0.5,
        "gpu_few_unchanged_cpu_s": pytest.approx(0.2),
        "gpu_few_child_wall_ratio": pytest.approx(0.5),
        "gpu_few_child_cpu_ratio": pytest.approx(0.4),
        "gpu_waiting_cores": 0.01,
        "gpu_ready_growth": pytest.approx(0.2),
        "gpu_cpu_growth": pytest.approx(0.2),
    }
    assert results["gpu_many_ready_s"] == 20
    assert describe_stack(None, None) == {}
    assert "gpu_cpu_growth" not in describe_stack(make_bring_up(4, 1), None)


def test_what_nodes_at_rest_cost() -> None:
    crowd = Crowd(Memory(150, 200), 0.001, 99.0, 0.01, 0, [0.5, 0.4, 0.8], [1.0, 0.9, 1.5])
    assert describe_crowd(crowd) == {
        "nodes_idle_mib": 150,
        "nodes_idle_cores": 0.001,
        "nodes_heartbeats_s": 99.0,
        "nodes_beating_cores": 0.01,
        "nodes_beating_reconciles": 0,
        "node_told_s": 0.5,
        "node_told_max_s": 0.8,
        "node_labelled_s": 1.0,
        "node_labelled_max_s": 1.5,
    }
    assert describe_crowd(None) == {}
