# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Facts: what is known, what is missing, what may not be read."""

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._commands.preflight.facts import (
    ClusterFacts,
    Denied,
    Needs,
    key_to,
    path_to,
    resource_of,
)

NODES = ("Node", "")
SECRET = key_to("Secret", "nim", "a")


def test_path_to_and_resource_of():
    assert path_to("StorageClass") == "/apis/storage.k8s.io/v1/storageclasses"
    assert path_to("Secret", "nim", "a") == "/api/v1/namespaces/nim/secrets/a"
    assert path_to("PriorityClass", "nim", "a") == "/apis/scheduling.k8s.io/v1/priorityclasses/a"
    assert (resource_of("Node"), resource_of("Job")) == ("nodes", "jobs.batch")


def test_cluster_facts_know_absent_objects():
    facts = ClusterFacts(objects={SECRET: None}, lists={NODES: [{"kind": "Node"}]})
    assert facts.is_missing(*SECRET)
    assert not facts.is_missing("Secret", "nim", "b")
    assert facts.items("Node") == [{"kind": "Node"}]
    assert facts.items("Pod") == []
    assert not facts.lists_known("Pod")


def test_cluster_facts_missing_reads():
    needs = Needs(frozenset({SECRET}), frozenset({NODES, ("Pod", "")}), frozenset({"v1"}))
    facts = ClusterFacts(lists={NODES: []}, denied={Denied("list", "Pod")})
    assert facts.missing(needs) == Needs(frozenset({SECRET}), frozenset(), frozenset({"v1"}))
    facts.refused.add(SECRET)
    assert facts.missing(needs.joined(needs)).objects == frozenset()
