# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.model_store import Store
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.pod.gpu import (
    GPU,
    build_resources,
)

NGC = {"ngc": {"modelPuller": "x"}}
HF = {"hf": {"namespace": "n", "modelName": "m"}}


def profile_store(make, config, source=None, chosen="p"):
    profiles = [{"name": "p", "config": config}]
    status = {"state": "Ready", "pvc": "x", "profiles": profiles}
    return Store({}, cache=make.cache(source or NGC, status), profile=chosen)


@pytest.mark.parametrize(
    ("spec", "config", "wanted"),
    [
        pytest.param({}, {"tp": "2"}, {"requests": {GPU: "2"}, "limits": {GPU: "2"}}, id="tp"),
        pytest.param(
            {},
            {"tensorParallelism": "4", "tp": "2"},
            {"requests": {GPU: "4"}, "limits": {GPU: "4"}},
            id="tensorParallelism before tp",
        ),
        pytest.param({}, {}, {"requests": {GPU: "1"}, "limits": {GPU: "1"}}, id="one by default"),
        pytest.param({}, None, {"requests": {GPU: "1"}, "limits": {GPU: "1"}}, id="no config"),
        pytest.param(
            {"resources": {"limits": {"cpu": 1}}},
            {"tp": "2"},
            {"requests": {GPU: "2"}, "limits": {"cpu": "1", GPU: "2"}},
            id="only limits given",
        ),
        pytest.param(
            {"resources": {"requests": {"cpu": 1}}},
            {"tp": "2"},
            {"requests": {"cpu": "1", GPU: "2"}, "limits": {GPU: "2"}},
            id="only requests given",
        ),
        pytest.param(
            {"resources": {"limits": {GPU: 8}}},
            {"tp": "2"},
            {"limits": {GPU: "8"}},
            id="the user's count, as text",
        ),
        pytest.param(
            {"multiNode": {"parallelism": {"tensor": 8}}},
            {"tp": "2"},
            {"requests": {GPU: "8"}, "limits": {GPU: "8"}},
            id="tensor of one node",
        ),
        pytest.param(
            {"multiNode": {"parallelism": {}}},
            {"tp": "2"},
            {"requests": {GPU: "1"}, "limits": {GPU: "1"}},
            id="tensor unset",
        ),
        pytest.param(
            {"resources": {"claims": [{"name": "c"}], "limits": {GPU: 1}}},
            {},
            {"limits": {GPU: "1"}},
            id="claims are dropped",
        ),
    ],
)
def test_build_resources(make, spec, config, wanted):
    assert build_resources(make.app(spec), profile_store(make, config)) == wanted


def test_build_resources_without_a_listed_profile(make):
    for store in (
        Store({}),
        profile_store(make, {"tp": "2"}, chosen=""),
        profile_store(make, {"tp": "2"}, chosen="other"),
        profile_store(make, {"tp": "2"}, HF),
    ):
        assert build_resources(make.app(), store) == {}


@pytest.mark.parametrize("text", ["two", "-1", "1.5", "\u00b2", "0.0"])
def test_build_resources_refuses(make, text):
    with pytest.raises(NimError, match=r"spec\.storage\.nimCache\.profile"):
        build_resources(make.app(), profile_store(make, {"tp": text}))
