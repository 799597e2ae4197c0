# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Reads and their answers."""

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._common.observed import (
    Observed,
    read_nodes,
    read_object,
    read_objects,
)


def test_reads_of_one_object_of_a_kind_and_of_nodes_do_not_collide():
    one = read_object("NIMService", "nim", "llm")
    listed = read_objects("NIMService", "nim")
    assert (one.key, one.how) == ("NIMService/llm", "object")
    assert (listed.key, listed.how, listed.namespace) == ("NIMService", "objects", "nim")
    assert (read_nodes().key, read_nodes().how) == ("Node", "list")


def test_answers():
    seen = Observed({"Job/a": None, "NIMService": [{"metadata": {"name": "llm"}}]})
    assert seen.has("Job/a")
    assert not seen.has("Job/b")
    assert seen.object("Job", "a") is None
    assert seen.get("NIMService")[0]["metadata"]["name"] == "llm"
