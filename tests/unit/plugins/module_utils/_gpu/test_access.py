# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._gpu.access import (
    RESOURCES,
    UPGRADE_ACCESS,
    constraint_access,
    rbac_access,
)
from ansible_collections.nimops.nim.plugins.module_utils._gpu.rbac import role_names


def test_upgrade_access_reads_only():
    assert {item.uses for item in UPGRADE_ACCESS} == {"list"}


def test_rbac_access_all_kinds():
    kinds = [item.kind for item in rbac_access("pods")]
    assert kinds == [kind for kind, _name in role_names("x", has_cluster_role=True)]
    assert rbac_access("pods")[0].why == "identities of pods"


def test_constraint_access_local():
    rule = constraint_access("granted")
    assert (rule.verbs, rule.why, rule.is_local) == ("use", "granted", True)


def test_resources_cluster_scoped():
    assert not any(item.is_namespaced for item in RESOURCES.values())
