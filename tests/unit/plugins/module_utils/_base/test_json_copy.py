# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.json_copy import copy_json


def test_copy_json_shares_no_container():
    value = {"a": [{"b": []}, "c"], "d": {"e": {}}, "f": None}
    made = copy_json(value)
    assert made == value
    made["a"][0]["b"].append(1)
    made["a"].append(2)
    made["d"]["e"]["x"] = 3
    assert value == {"a": [{"b": []}, "c"], "d": {"e": {}}, "f": None}


@pytest.mark.parametrize("value", ["a", 1, 1.5, True, None])
def test_copy_json_scalar(value):
    assert copy_json(value) is value
