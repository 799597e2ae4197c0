# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.compute_domain import (
    build_domain,
    creates_domain,
    domain_name,
    domain_status,
    domain_template,
)

NODE = {"name": "a", "cliqueID": "c.1", "status": "Ready", "ipAddress": "10.0.0.1", "index": 0}


def domain_spec(pipeline=2, **fields):
    return {"multiNode": {"parallelism": {"pipeline": pipeline}, "computeDomain": fields}}


CREATE, NAMED = domain_spec(create=True), domain_spec(name="shared")


def live(name, template="made-by-hand", **status):
    found = {
        "kind": "ComputeDomain",
        "metadata": {"name": name},
        "spec": {"channel": {"resourceClaimTemplate": {"name": template}}},
    }
    return found | ({"status": status} if status else {})


@pytest.mark.parametrize(
    ("spec", "creates", "name"),
    [
        pytest.param({}, False, "", id="one node"),
        pytest.param({"multiNode": {"parallelism": {"pipeline": 2}}}, False, "", id="none"),
        pytest.param(CREATE, True, "llm", id="create"),
        pytest.param(NAMED, False, "shared", id="named"),
        pytest.param(domain_spec(create=False, name="shared"), False, "shared", id="not created"),
        pytest.param(domain_spec(1, create=True), False, "", id="one stage"),
    ],
)
def test_domain_name(make, spec, creates, name):
    cr = make.cr(spec)
    assert (creates_domain(make.app(cr)), domain_name(make.app(cr))) == (creates, name)
    if not name:
        assert domain_template(make.app(cr)) == ""
        assert domain_status(make.app(cr)) == {}


def test_build_domain_keeps_hash(make):
    made = build_domain(make.app(CREATE))
    hashes = {"nvidia.com/last-applied-hash": "x", "other": "y"}
    annotations = made["metadata"]["annotations"] | hashes
    given = {**made, "metadata": {**made["metadata"], "annotations": annotations}}
    kept = build_domain(make.app(CREATE, given))
    assert kept["metadata"]["annotations"]["nvidia.com/last-applied-hash"] == "x"
    assert "other" not in kept["metadata"]["annotations"]
    given = {**given, "spec": {**given["spec"], "numNodes": 9}}
    assert build_domain(make.app(CREATE, given)) == made


def test_build_domain(make):
    made = build_domain(make.app(domain_spec(4, create=True)))
    assert (made["apiVersion"], made["kind"]) == ("resource.nvidia.com/v1beta1", "ComputeDomain")
    assert made["metadata"]["name"] == "llm"
    assert made["metadata"]["annotations"] == {"openshift.io/required-scc": "nonroot"}
    assert made["spec"] == {
        "numNodes": 4,
        "channel": {
            "resourceClaimTemplate": {"name": "cd-claimtemplate-df94b6548"},
            "allocationMode": "Single",
        },
    }


@pytest.mark.parametrize(
    ("spec", "template"),
    [
        pytest.param(CREATE, "cd-claimtemplate-df94b6548", id="ours"),
        pytest.param(NAMED, "test-template", id="named"),
    ],
)
def test_domain_template(make, spec, template):
    assert domain_template(make.app(spec, live("shared", "test-template"))) == template


def test_domain_template_missing_domain(make):
    with pytest.raises(NimError, match=r"spec\.multiNode\.computeDomain\.name") as raised:
        domain_template(make.app(NAMED))
    assert 'computedomains.resource.nvidia.com "shared" not found' in str(raised.value)
    assert raised.value.reason == "ComputeDomainFailed"


@pytest.mark.parametrize(
    ("status", "wanted"),
    [
        pytest.param({}, {"name": "llm"}, id="the driver is silent"),
        pytest.param(
            {"status": "NotReady"}, {"name": "llm", "status": "NotReady"}, id="no node yet"
        ),
        pytest.param(
            {"status": "Ready", "nodes": [NODE, {"name": "b"}]},
            {
                "name": "llm",
                "status": "Ready",
                "nodes": [
                    {"name": "a", "cliqueID": "c.1", "status": "Ready"},
                    {"name": "b", "cliqueID": "", "status": "NotReady"},
                ],
            },
            id="nodes",
        ),
    ],
)
def test_domain_status(make, status, wanted):
    assert domain_status(make.app(CREATE, live("llm", **status))) == wanted
