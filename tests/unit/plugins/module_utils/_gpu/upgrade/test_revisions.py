# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade.revisions import Revisions


@pytest.fixture
def revisions(gpu):
    return Revisions(
        [gpu.revision("new", 3, "b"), gpu.revision("old", 1, "a"), gpu.revision("same", 2, "b")]
    )


@pytest.mark.parametrize(
    ("hash_", "is_outdated", "installs_the_same"),
    [("new", False, True), ("old", True, False), ("same", True, True), ("lost", True, False)],
)
def test_revisions_is_outdated(gpu, revisions, hash_, is_outdated, installs_the_same):
    pod = gpu.driver("n", hash_)
    assert revisions.is_outdated(pod) is is_outdated
    assert revisions.installs_the_same(pod) is installs_the_same


def test_revisions_unknown(gpu, revisions):
    assert not Revisions([]).is_outdated(gpu.driver("n", "old"))
    orphan = gpu.pod("d", "n", owner="")
    assert not revisions.is_outdated(orphan)
    assert not revisions.installs_the_same(orphan)
    other = gpu.revision("x", 9)
    other["metadata"]["ownerReferences"] = []
    assert not Revisions([other]).is_outdated(gpu.driver("n", "old"))


def test_installs_the_same_without_digest(gpu):
    revisions = Revisions([gpu.revision("new", 2), gpu.revision("old", 1)])
    assert not revisions.installs_the_same(gpu.driver("n", "old"))
