# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Compares the objects of recorded policies with those of the reference operator."""

from __future__ import annotations

import collections
import json
import re
from pathlib import Path

import pytest
import yaml

CONFORMANCE = Path(__file__).parents[7] / "shared/conformance/gpu-operator"
CASES = (
    *("01-no-gpu", "02-nodes", "03-switches", "04-two-policies", "05-cdi-nri-psa"),
    *("06-daemonsets", "07-images", "08-components", "09-mig", "10-dcgm-exporter"),
    *("11-device-plugin", "12-driver"),
)

pytestmark = pytest.mark.skipif(
    not CONFORMANCE.is_dir(), reason="recordings at ../shared/conformance/gpu-operator are missing"
)

REASONS = {
    r"metadata\.annotations\.nvidia\.com/last-applied-hash: want '<hash>'": "drift is compared",
    r"^missing: \S+: \w+/(gpu-operator)?/nvidia-device-plugin-mps-control-daemon$": "quirk 7",
    r"^extra: \S+: ClusterPolicy//\S+\.status\.conditions\[(Reconciling|Stalled)\]": "kstatus",
    r"^extra: second: ClusterPolicy//b$": "quirk 1: ignored is written",
    r"^(extra|missing): first-deleted: ": "quirk 1: the next policy takes over at once",
    r"^(extra|different): nri-without-(cdi|toolkit): ": "quirk 2: checked in every pass",
    r"^missing: nri: RuntimeClass//nvidia$": "quirk 8: what was renamed goes",
    r"^(extra|missing|different): value-beside-value-from: ": "quirk 9: the variable is replaced",
    r"^extra: engine-of-the-host: .*(hostNetwork|dnsPolicy)": "quirk 4: checked after env",
    r"^different: bad-number: .*Error\]\.message": "our own words, with the field",
    r"^different: missing-(map|secret): .*Error\]\.message": "our own words, with the field",
    r"^different: upgrades-without-pod-deletion: ": "quirk 16: the defaults apply",
    r"^extra: \S+: Node//\S+gpu\.deploy\.\w+: want None got 'false'": "values of users stay",
    r"^different: other-class: Node//gpu-1.*gpu\.deploy\.driver: want 'true' got 'false'": "as above",
    r"^different: other-class: Scheduled//pods\.nvidia-driver": "values of users stay",
    r"^extra: .*\.status\.(reason|readyOperands): want None got": "columns of kubectl",
    r"^extra: labels-removed-by-hand: Node//gpu-0": "labels come back at once",
    r"^different: labels-removed-by-hand: Scheduled//pods": "labels come back at once",
}
"""Intended differences and their reasons: docs/develop/conformance.md."""

OTHERWISE = "/(first-deleted|nri-without-(cdi|toolkit))/"
"""Steps that the reference ends elsewhere, so their objects do not count."""


COLUMNS = ("reason", "readyOperands")
"""Fields of the status that are only for kubectl, and do not count."""


def without_columns(value):
    """A recording without our own fields of the status."""
    if isinstance(value, list):
        return [without_columns(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: {name: item[name] for name in item if name not in COLUMNS}
        if key == "status" and isinstance(item, dict)
        else without_columns(item)
        for key, item in value.items()
    }


@pytest.fixture(scope="module")
def played(load_module):
    """The lines of each case that differ, and the counts of all its fields."""
    harness = load_module(CONFORMANCE / "harness.py")
    replay = load_module(Path(__file__).with_name("replay.py"))
    found = {}
    for name in CASES:
        case = yaml.safe_load((CONFORMANCE / "cases" / f"{name}.yaml").read_text())
        want = json.loads((CONFORMANCE / "expected" / f"{name}.json").read_text())
        got = replay.Replay(case, harness).play()
        counts, _lines = harness.diff(name, want, without_columns(got), OTHERWISE)
        found[name] = (harness.diff(name, want, got)[1], counts)
    return found


def test_conformance_all_cases():
    assert {path.stem for path in (CONFORMANCE / "cases").glob("*.yaml")} == set(CASES)


@pytest.mark.parametrize("case", CASES)
def test_conformance_differences_explained(case, played):
    lines, _counts = played[case]
    unexplained = [
        line for line in lines if not any(re.search(pattern, line) for pattern in REASONS)
    ]
    assert unexplained == []


def test_conformance_reasons_needed(played):
    lines = [line for found, _counts in played.values() for line in found]
    unused = [pattern for pattern in REASONS if not any(re.search(pattern, item) for item in lines)]
    assert unused == []


def test_conformance_equal_fields(played):
    total = collections.Counter()
    for _lines, counts in played.values():
        total += counts
    assert total["same"] / sum(total.values()) > 0.98, dict(total)
