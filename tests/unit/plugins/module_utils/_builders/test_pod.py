# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._builders.pod import (
    group_id,
    image_reference,
    pull_secrets,
    seccomp,
    user_id,
    without_empty,
)


@pytest.mark.parametrize(
    ("spec", "ids"),
    [
        ({}, (1000, 2000)),
        ({"userID": 0, "groupID": 0}, (0, 0)),
        ({"userID": None, "groupID": 5}, (1000, 5)),
    ],
)
def test_user_id_and_group_id(spec, ids):
    assert (user_id(spec), group_id(spec)) == ids


def test_image_reference_and_pull_secrets():
    assert image_reference({"repository": "h:5000/a", "tag": "1"}) == "h:5000/a:1"
    assert pull_secrets(["a", "b"]) == [{"name": "a"}, {"name": "b"}]
    assert pull_secrets(None) == []


@pytest.mark.parametrize("orchestrator", ["Kubernetes", "OpenShift", "TKGS"])
def test_seccomp(orchestrator):
    assert bool(seccomp(orchestrator)) is (orchestrator == "TKGS")


def test_without_empty():
    fields = {
        "a": 0,
        "b": "",
        "c": None,
        "d": [],
        "e": {},
        "f": False,
        "g": True,
        "h": [0],
        "i": "x",
    }
    assert without_empty(fields) == {"a": 0, "g": True, "h": [0], "i": "x"}
