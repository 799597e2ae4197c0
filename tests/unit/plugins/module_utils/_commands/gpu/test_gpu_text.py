# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from datetime import UTC, datetime

from ansible_collections.nimops.nim.plugins.module_utils._commands.gpu.forecast import (
    Forecast,
    NodePlan,
    ServicePlan,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.gpu.gpu_text import (
    MAX_NODES,
    write_forecast,
    write_status,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.gpu.node_status import (
    Log,
    NodeStatus,
    Trouble,
)

NOW, START = datetime(2026, 1, 1, 0, 10, tzinfo=UTC), "2026-01-01T00:00:00Z"


def test_write_forecast():
    nodes = [
        NodePlan("a", "upgrade-done", "upgrade-done", 1, [], [f"nim/p{i}" for i in range(6)]),
        NodePlan("b", "upgrade-done", "upgrade-done", 2, ["a"], notes=["it is down meanwhile"]),
        NodePlan("c", "upgrade-required", "upgrade-required", waits=["a budget"], is_stuck=True),
    ]
    services = [ServicePlan("nim", "llm", 2, 2, 0, 2, 1, 8, ["a", "b"])]
    lines = write_forecast(Forecast(nodes, services, 9)).splitlines()
    assert [" ".join(line.split()) for line in lines[:2]] == [
        "ORDER NODE NOW MEANWHILE EVICTS ENDS",
        "1 a upgrade-done - nim/p0, nim/p1, nim/p2, nim/p3 and 2 more upgrade-done",
    ]
    assert lines[2:] == [
        "2       b      upgrade-done       a           -                                           upgrade-done",
        "-       c      upgrade-required   -           -                                           upgrade-required",
        "# b: it is down meanwhile",
        "! c: waits for a budget",
        "",
        "NIMSERVICE   REPLICAS   READY   AT WORST   AFTER   WITHOUT GPUS       NODES",
        "nim/llm      2          2       0          2       1 of 8 GPUs each   a, b",
        "",
        "2 of 9 nodes are drained; 1 are not upgraded; without a ready replica during the upgrade: nim/llm;"
        " too few GPUs are left for: nim/llm",
    ]


def test_write_forecast_no_work():
    assert write_forecast(Forecast([], [], 3)) == (
        "nothing to upgrade: the drivers of all 3 nodes are in sync"
    )


def test_write_status():
    log = Log("gpu", "driver-b", "ctr", is_previous=True)
    troubles = [
        Trouble("driver", "gpu/driver-b", "it crashes", START, log, "fix it", ("dcgm",)),
        Trouble("mig-manager", "gpu/mig-b", "its container"),
    ]
    nodes = [NodeStatus("b", "Failed", troubles=troubles), NodeStatus("a", "Ready")]
    assert write_status(nodes, ["no policy"], NOW).splitlines() == [
        "! no policy",
        "NODE   STATE    COMPONENT     WAITS FOR       SINCE",
        "b      Failed   driver        it crashes      10m ago",
        "                mig-manager   its container   -",
        "a      Ready    -             -               -",
        "# b, driver: fix it",
        "# b, driver: log: kubectl -n gpu logs driver-b -c ctr --previous",
        "# b, driver: dcgm wait for it",
        "1 of 2 GPU nodes are ready",
    ]


def test_gpu_text_bounds():
    many = [NodeStatus(f"n{i}", "Ready") for i in range(MAX_NODES + 5)]
    lines = write_status(many, [], NOW).splitlines()
    assert lines[-2:] == ["and 5 more", f"{MAX_NODES + 5} of {MAX_NODES + 5} GPU nodes are ready"]
    assert len(lines) == MAX_NODES + 3
    plans = [NodePlan(f"n{i}", "", "upgrade-done", i + 1) for i in range(MAX_NODES + 5)]
    lines = write_forecast(Forecast(plans, [], MAX_NODES + 5)).splitlines()
    assert lines[MAX_NODES + 1] == "and 5 more"


def test_write_status_no_gpu():
    assert write_status([], ["no node has a GPU"], NOW).splitlines() == [
        "! no node has a GPU",
        "0 of 0 GPU nodes are ready",
    ]
