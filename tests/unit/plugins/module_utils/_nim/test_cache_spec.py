# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache_spec import (
    named_cache,
    parse_cache,
)

HF = {"modelPuller": "p", "endpoint": "https://h", "namespace": "n", "revision": "r"}


def cache(**spec):
    return {"metadata": {"name": "c", "namespace": "ns"}, "spec": spec}


def test_parse_cache_defaults():
    spec = parse_cache(cache())
    assert (spec.source, spec.claim.name, spec.claim.is_created) == (None, "c-pvc", False)
    assert (spec.user, spec.group, spec.host_path) == (1000, 2000, "")
    assert (spec.amounts, spec.node_selector) == ({"cpu": "0", "memory": "0"}, None)
    assert not spec.proxy.is_given
    assert not spec.has_cert_config
    assert not spec.env
    assert not spec.init_containers
    assert not spec.tolerations


@pytest.mark.parametrize(
    ("source", "optimized", "universal", "hf"),
    [
        pytest.param({"ngc": {"modelPuller": "x"}}, True, False, False, id="ngc"),
        pytest.param({"ngc": {"modelEndpoint": "ngc://x"}}, False, True, False, id="endpoint"),
        pytest.param({"hf": {"modelName": "x"}}, False, True, True, id="hf"),
        pytest.param({"dataStore": {"modelName": "x"}}, False, True, True, id="dataStore"),
    ],
)
def test_parse_cache_sources(source, optimized, universal, hf):
    found = parse_cache(cache(source=source)).source
    assert found
    assert (found.is_optimized, found.is_universal, found.is_hf) == (optimized, universal, hf)


def test_parse_cache_model():
    source = parse_cache(cache(source={"ngc": {}, "hf": HF | {"modelName": "m"}})).source
    assert source
    assert (source.kind, source.puller, source.endpoint) == ("hf", "p", "https://h")
    assert (source.namespace, source.model_name, source.dataset) == ("n", "m", "")
    assert (source.revision, source.auth_secret, source.pull_secret) == ("r", "", "")


def test_parse_cache_profiles():
    model = {"profiles": ["a"], "engine": "tensorrt"}
    source = parse_cache(cache(source={"ngc": {"modelPuller": "p", "model": model}})).source
    assert source
    assert (source.profiles, source.wanted_model) == (["a"], model)


@pytest.mark.parametrize(
    ("storage", "path"),
    [
        pytest.param({"hostPath": "/m"}, "/m", id="alone"),
        pytest.param({"hostPath": "/m", "pvc": {}}, "/m", id="an empty claim"),
        pytest.param({"hostPath": "/m", "pvc": {"name": "x"}}, "", id="a claim"),
    ],
)
def test_parse_cache_host_path(storage, path):
    assert parse_cache(cache(storage=storage)).host_path == path


@pytest.mark.parametrize(
    ("user", "name"),
    [
        pytest.param({}, "", id="no spec"),
        pytest.param({"spec": {"storage": {"pvc": {}}}}, "", id="a service without a cache"),
        pytest.param({"spec": {"storage": {"nimCache": {"name": "c"}}}}, "c", id="a service"),
        pytest.param({"spec": {"nimCache": {"name": "c"}}}, "c", id="a build"),
    ],
)
def test_named_cache(user, name):
    assert named_cache(user) == name
