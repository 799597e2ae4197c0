# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._nim.pipeline.app import NIMPipelineApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.pipeline.reads import reads

LIST = "NIMService/ns/*"


@pytest.mark.parametrize(
    ("entries", "names"),
    [
        pytest.param([], [], id="no entries"),
        pytest.param(["b", "a"], ["b", "a"], id="in order"),
        pytest.param(["a", {"name": "b", "enabled": False}], ["a"], id="one is disabled"),
        pytest.param(["A", {"enabled": True}], [], id="invalid names"),
    ],
)
def test_reads_entries(make, entries, names):
    found = reads(NIMPipelineApp(make.pipeline(*entries)))
    assert [read.key for read in found] == [LIST, *(f"NIMService/ns/{name}" for name in names)]
    assert [bool(read.listed) for read in found] == [True, *[False] * len(names)]


def test_reads_leftovers(make):
    cr = make.pipeline("a")
    other = make.pipeline(name="other", uid="u2")
    listed = [make.service(cr, "a"), make.service(cr, "old"), make.service(other, "theirs")]
    found = reads(NIMPipelineApp(cr, Observed({LIST: listed})))
    assert [read.key for read in found] == [LIST, "NIMService/ns/a", "NIMService/ns/old"]


def test_reads_kind_not_served(make):
    found = reads(NIMPipelineApp(make.pipeline("a"), Observed({LIST: None})))
    assert [read.key for read in found] == [LIST, "NIMService/ns/a"]
