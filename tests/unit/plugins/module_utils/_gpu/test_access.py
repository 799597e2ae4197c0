# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._gpu.access import (
    RESOURCES,
    UPGRADE_ACCESS,
    constraint_access,
    rbac_access,
)
from ansible_collections.nimops.nim.plugins.module_utils._gpu.rbac import (
    role_names,
)


def test_an_upgrade_writes_nothing_that_it_looks_at():
    assert {item.uses for item in UPGRADE_ACCESS} == {"list"}


def test_permissions_are_for_all_that_a_component_has():
    kinds = [item.kind for item in rbac_access("pods")]
    assert kinds == [kind for kind, _name in role_names("x", has_cluster_role=True)]
    assert rbac_access("pods")[0].why == "identities of pods"


def test_what_is_granted_to_pods_is_held_in_their_namespace_only():
    rule = constraint_access("granted")
    assert (rule.verbs, rule.why, rule.is_local) == ("use", "granted", True)


def test_the_other_resources_are_in_no_namespace():
    assert not any(item.is_namespaced for item in RESOURCES.values())
