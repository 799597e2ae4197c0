# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.created_once import (
    GENERATION,
    SOURCE,
    has_other_source,
    has_spec_changed,
    is_outdated,
    marks_of,
)


def make_cr(generation, seen, **metadata):
    return {
        "metadata": {"generation": generation, **metadata},
        "status": {} if seen is None else {"observedGeneration": seen},
    }


def live(**annotations):
    return {"metadata": {"annotations": annotations} if annotations else {}}


@pytest.mark.parametrize(
    ("seen", "metadata", "changed"),
    [
        (2, {}, True),
        (3, {}, False),
        (-1, {}, False),
        (None, {}, False),
        (2, {"deletionTimestamp": "now"}, False),
    ],
    ids=["changed", "equal", "first-pass", "after-takeover", "deletion-is-no-change"],
)
def test_has_spec_changed(seen, metadata, changed):
    assert has_spec_changed(make_cr(3, seen, **metadata)) is changed


@pytest.mark.parametrize(
    ("mark", "seen", "outdated"),
    [
        ("3", 2, False), ("2", 3, True), ("2", None, True),
        (None, 2, True), (None, 3, False), (None, None, False),
    ],
)  # fmt: skip
def test_is_outdated(mark, seen, outdated):
    item = live(**({GENERATION: mark} if mark else {}))
    assert is_outdated(item, make_cr(3, seen)) is outdated


def test_has_other_source():
    source = {"image": "x:1"}
    marks = marks_of(make_cr(3, None), source)
    assert marks[GENERATION] == "3"
    assert len(marks[SOURCE]) == 16
    assert not has_other_source(live(**marks), source)
    assert has_other_source(live(**marks), {"image": "x:2"})
    assert not has_other_source(live(), source)


def test_marks_of_rendered_resource():
    assert marks_of({"metadata": {}}) == {}
