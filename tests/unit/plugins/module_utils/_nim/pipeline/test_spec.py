# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nim.pipeline.spec import parse_spec


@pytest.mark.parametrize("spec", [None, {}, {"services": None}, {"services": []}])
def test_parse_spec_no_entries(make, spec):
    assert parse_spec(make.pipeline() | {"spec": spec}).entries == []


def test_parse_spec_order(make):
    cr = make.pipeline("b", {"name": "a"}, {})
    found = parse_spec(cr).entries
    assert [(item.where, item.name, item.is_enabled) for item in found] == [
        ("spec.services[0]", "b", True),
        ("spec.services[1]", "a", False),
        ("spec.services[2]", "", False),
    ]
    assert found[0].service_spec == cr["spec"]["services"][0]["spec"]
