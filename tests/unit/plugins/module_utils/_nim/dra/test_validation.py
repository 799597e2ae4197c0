# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._nim.dra.validation import (
    check_resources,
    check_single_requests,
    check_version,
)


def versions(*values):
    selectors = [{"key": f"k{i}", "value": {"versionValue": v}} for i, v in enumerate(values)]
    device = {"name": "gpu", "attributeSelectors": selectors}
    return {"claimCreationSpec": {"devices": [{"name": "other"}, device]}}


REFUSES = {
    "old cluster": (
        [{"resourceClaimName": "x"}], False,
        "DRA resources are not supported by NIM-Operator on this cluster, please upgrade to k8s version 'v1.34.0' or higher (its API server does not serve resource.k8s.io/v1)",
    ),
    "the same claim": (
        [{"resourceClaimName": "x"}, {"resourceClaimName": "y"}, {"resourceClaimName": "x"}], True,
        "spec.draResources[2].resourceClaimName: duplicate resource claim name: 'x'",
    ),
    "requests": (
        [{**versions("1.0.0"), "requests": ["gpu", "a", "b"]}], True,
        "spec.draResources[0].requests: a, b: must be names of claimCreationSpec.devices",
    ),
    "version": (
        [{"resourceClaimName": "x"}, versions("1.0.0", "1.0")], True,
        'spec.draResources[1].claimCreationSpec.devices[1].attributeSelectors[1].value.versionValue.version: invalid version "1.0": use a semantic version such as 1.2.3',
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("resources", "is_served", "message"),
    REFUSES.values(),
    ids=REFUSES,
)
def test_check_resources_refuses(resources, is_served, message):
    with pytest.raises(NimError) as raised:
        check_resources(resources, is_served=is_served)
    assert (str(raised.value), raised.value.reason) == (message, "DRAResourcesUnsupported")


@pytest.mark.parametrize(
    ("resources", "is_served"),
    [
        pytest.param([], False, id="none on an old cluster"),
        pytest.param([{"resourceClaimTemplateName": "x"}] * 2, True, id="the same template"),
        pytest.param([versions("1.2.3")], True, id="version"),
    ],
)
def test_check_resources_accepts(resources, is_served):
    check_resources(resources, is_served=is_served)


@pytest.mark.parametrize(
    "requests", [None, [], ["a"], ["a", "a"]], ids=["unset", "all", "one", "one repeated"]
)
def test_check_single_requests_accepts(requests):
    resource = {"resourceClaimTemplateName": "x", "requests": requests}
    check_single_requests([resource, resource], "spec.x", "a Thing")


def test_check_single_requests_refuses():
    resources = [{"requests": ["a"]}, {"requests": ["a", "b"]}]
    with pytest.raises(NimError, match=r"spec\.draResources\[1\]\.requests") as raised:
        check_single_requests(resources, "spec.x", "a Thing")
    assert "do not work with spec.x, because a Thing accepts one" in str(raised.value)
    assert raised.value.reason == "DRAResourcesUnsupported"


@pytest.mark.parametrize(
    ("version", "is_good"),
    [
        ("0.0.0", True),
        ("10.20.30-rc.1.x-y+build.01", True),
        ("1.2.3-0a", True),
        ("1.2.3--", True),
        ("1.2.3-01", False),
        ("1.2.3-a..b", False),
        ("1.2.3+", False),
        ("1.2", False),
        ("v1.2.3", False),
        ("550.127.08", False),
        ("1.2.3\n", False),
        ("1.2.\u0663", False),
        ("", False),
    ],
)
def test_check_version(version, is_good):
    selector = {"value": {"versionValue": version}}
    if is_good:
        check_version(selector, "s")
        return
    with pytest.raises(NimError, match="invalid version"):
        check_version(selector, "s")


@pytest.mark.parametrize("selector", [{}, {"value": None}, {"value": {"intValue": 1}}])
def test_check_version_other_values(selector):
    check_version(selector, "s")
