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


RESOURCES = {
    "tp": ({}, {"tp": "2"}, {"requests": {GPU: "2"}, "limits": {GPU: "2"}}),
    "tensorParallelism before tp": (
        {}, {"tensorParallelism": "4", "tp": "2"}, {"requests": {GPU: "4"}, "limits": {GPU: "4"}},
    ),
    "one by default": ({}, {}, {"requests": {GPU: "1"}, "limits": {GPU: "1"}}),
    "no config": ({}, None, {"requests": {GPU: "1"}, "limits": {GPU: "1"}}),
    "only limits given": (
        {"resources": {"limits": {"cpu": 1}}}, {"tp": "2"},
        {"requests": {GPU: "2"}, "limits": {"cpu": "1", GPU: "2"}},
    ),
    "only requests given": (
        {"resources": {"requests": {"cpu": 1}}}, {"tp": "2"},
        {"requests": {"cpu": "1", GPU: "2"}, "limits": {GPU: "2"}},
    ),
    "the user's count, as text": (
        {"resources": {"limits": {GPU: 8}}}, {"tp": "2"}, {"limits": {GPU: "8"}},
    ),
    "tensor of one node": (
        {"multiNode": {"parallelism": {"tensor": 8}}}, {"tp": "2"},
        {"requests": {GPU: "8"}, "limits": {GPU: "8"}},
    ),
    "tensor unset": (
        {"multiNode": {"parallelism": {}}}, {"tp": "2"},
        {"requests": {GPU: "1"}, "limits": {GPU: "1"}},
    ),
    "claims are dropped": (
        {"resources": {"claims": [{"name": "c"}], "limits": {GPU: 1}}}, {}, {"limits": {GPU: "1"}},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("spec", "config", "wanted"), RESOURCES.values(), ids=RESOURCES)
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
