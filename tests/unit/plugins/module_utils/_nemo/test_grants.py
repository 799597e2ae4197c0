# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.kind import Rule
from ansible_collections.nimops.nim.plugins.module_utils._nemo.grants import Grant

WHY = "the Role of a NemoEvaluator grants it, so the operator needs it too"


@pytest.mark.parametrize(("given", "groups"), [("", [""]), ("a", ["a"]), ("a b", ["a", "b"])])
def test_grant_rules(given: str, groups: list[str]) -> None:
    grant = Grant(given, "jobs jobs/status", "get list")
    assert grant.role_rule() == {
        "apiGroups": groups,
        "resources": ["jobs", "jobs/status"],
        "verbs": ["get", "list"],
    }
    wanted: list[t.Any] = [Rule(group, "jobs jobs/status", "get list", WHY) for group in groups]
    assert grant.operator_rules("NemoEvaluator") == wanted
