# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nim.pipeline.app import NIMPipelineApp


@pytest.mark.parametrize("spec", [None, {}, {"services": None}, {"services": []}])
def test_no_entries(make: t.Any, spec: t.Any) -> None:
    assert list(NIMPipelineApp(make.pipeline() | {"spec": spec}).entries) == []


def test_entries_come_from_the_spec(make: t.Any) -> None:
    cr = make.pipeline("b", "a")
    assert NIMPipelineApp(cr).entries == cr["spec"]["services"]


def test_services_do_not_inherit_metadata(make: t.Any) -> None:
    cr = make.pipeline("a", labels={"team": "a"}, annotations={"a": "1"})
    app = NIMPipelineApp(cr)
    assert (app.labels, app.annotations) == ({}, {})
