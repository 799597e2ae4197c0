# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._gpu.readiness import (
    count_nodes,
    describe_progress,
    is_ready,
    lacks_nodes,
)


def daemon_set(wanted=2, updated=2, available=2, observed=3, **more):
    return {
        "metadata": {"name": "x", "generation": 3},
        "status": {
            "observedGeneration": observed,
            "desiredNumberScheduled": wanted,
            "updatedNumberScheduled": updated,
            "numberAvailable": available,
            **more,
        },
    }


@pytest.mark.parametrize(
    ("live", "expected"),
    [
        pytest.param(daemon_set(), True, id="all run"),
        pytest.param(daemon_set(0, 0, 0), True, id="no desired pods"),
        pytest.param(daemon_set(observed=2), False, id="changed"),
        pytest.param(
            daemon_set(0, 0, 0, observed=0), False, id="new: not observed by its controller"
        ),
        pytest.param({"metadata": {"name": "x", "generation": 1}}, False, id="without a status"),
        pytest.param(daemon_set(updated=1), False, id="outdated, as with OnDelete"),
        pytest.param(daemon_set(available=1, numberUnavailable=1), False, id="unavailable"),
        pytest.param(daemon_set(updated=3), False, id="more than wanted"),
    ],
)
def test_is_ready(live, expected):
    assert is_ready(live) is expected


@pytest.mark.parametrize(
    ("live", "text"),
    [
        (daemon_set(observed=2), "its change is not yet observed"),
        (daemon_set(updated=1), "1 of 2 pods have the latest revision"),
        (daemon_set(available=1), "1 of 2 pods are available"),
    ],
)
def test_describe_progress(live, text):
    assert describe_progress(live) == text


@pytest.mark.parametrize(
    ("wanted", "kept", "selected", "expected"),
    [
        pytest.param(2, 0, 2, "", id="all"),
        pytest.param(0, 0, 0, "", id="no node selected"),
        pytest.param(1, 0, 2, "1 of 2 nodes can get a pod", id="a taint"),
        pytest.param(1, 1, 2, "", id="the pod was there before the taint"),
        pytest.param(0, 2, 2, "0 of 2 nodes can get a pod", id="taints everywhere"),
    ],
)
def test_lacks_nodes(wanted, kept, selected, expected):
    live = daemon_set(wanted, wanted, wanted, numberMisscheduled=kept)
    assert lacks_nodes(live, selected) == expected


@pytest.mark.parametrize(
    ("live", "expected"),
    [
        pytest.param([], (0, 0), id="none"),
        pytest.param([daemon_set(), daemon_set(3, 3, 1)], (3, 5), id="the sum"),
        pytest.param([daemon_set(updated=1)], (1, 2), id="outdated pods are available"),
        pytest.param([daemon_set(1, 2, 2)], (1, 1), id="more than wanted"),
        pytest.param([{"metadata": {"name": "x"}}], (0, 0), id="without a status"),
    ],
)
def test_count_nodes(live, expected):
    assert count_nodes(live) == expected
