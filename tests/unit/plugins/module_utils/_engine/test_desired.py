# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import Child, Outcome
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed

WHOLE, PART = {"spec": {"a": 1, "b": 2}}, {"spec": {"a": 1}}


@pytest.mark.parametrize(("applied", "to_apply"), [(None, WHOLE), (PART, PART), ({}, {})])
def test_child_to_apply(applied, to_apply):
    assert Child(WHOLE, applied=applied).to_apply == to_apply


@pytest.mark.parametrize(
    ("failure", "reason", "is_final"),
    [
        ("", "Forbidden", False),
        ("no", "Failed", False),
        ("no", "Forbidden", True),
        ("no", "NameReserved", True),
    ],
)
def test_outcome_is_final(failure, reason, is_final):
    assert Outcome(failure=failure, failure_reason=reason).is_final is is_final


def test_outcome_view_contains_writes():
    observed = Observed({"kept": 1, "changed": 1, "deleted": 1})
    outcome = Outcome(written={"changed": {"x": 2}, "new": {}}, deleted=["deleted"])
    found = outcome.view(observed)
    assert found.answers == {"kept": 1, "changed": {"x": 2}, "deleted": None, "new": {}}
    assert found.has("deleted")
    assert observed.answers == {"kept": 1, "changed": 1, "deleted": 1}
