# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.metadata import hash_name
from ansible_collections.nimops.nim.plugins.module_utils._nim.dra.pod_claims import (
    PodClaim,
    build_pod_claims,
    name_pod_claims,
    template_name,
    with_claims,
)

CREATED = {"claimCreationSpec": {"devices": [{"name": "gpu"}]}}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("test-service", "8568b4fb55"),
        ("test-claim", "9f8c8d9fb"),
        ("test-template", "5cb744997d"),
        ("test-nimservice", "6bb8bf548c"),
        ("llm", "df94b6548"),
        ("claimtemplate-df94b6548-0", "5c9d688d4c"),
    ],
)
def test_hash_name(text, wanted):
    assert hash_name(text) == wanted


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (("llm", 0), "claimtemplate-df94b6548-0"),
        (("llm", 12, "gpus"), "gpus-df94b6548-12"),
        (("llm", 1, ""), "claimtemplate-df94b6548-1"),
    ],
)
def test_template_name(arguments, wanted):
    assert template_name(*arguments) == wanted


CLAIMS = {
    "none": ("llm", [], "", []),
    "created": (
        "llm", [CREATED], "", [("claim-df94b6548-1-5c9d688d4c-0", "claimtemplate-df94b6548-0")],
    ),
    "by name, a template twice": (
        "test-service",
        [
            {"resourceClaimName": "test-claim"},
            {"resourceClaimTemplateName": "test-template"},
            {"resourceClaimTemplateName": "test-template"},
        ],
        "",
        [
            ("claim-8568b4fb55-0-9f8c8d9fb-0", "test-claim"),
            ("claim-8568b4fb55-1-5cb744997d-0", "test-template"),
            ("claim-8568b4fb55-1-5cb744997d-1", "test-template"),
        ],
    ),
    "the index counts all entries, a domain's template is last": (
        "llm", [{"resourceClaimName": "x"}, CREATED], "test-template",
        [
            (f"claim-df94b6548-0-{hash_name('x')}-0", "x"),
            (
                f"claim-df94b6548-1-{hash_name('claimtemplate-df94b6548-1')}-0",
                "claimtemplate-df94b6548-1",
            ),
            ("claim-df94b6548-2-5cb744997d-0", "test-template"),
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("owner", "resources", "domain", "wanted"),
    CLAIMS.values(),
    ids=CLAIMS,
)
def test_name_pod_claims(owner, resources, domain, wanted):
    claims = name_pod_claims(owner, resources, domain)
    assert [(claim.name, claim.target) for claim in claims] == wanted


def test_name_pod_claims_field():
    claims = name_pod_claims("llm", [{"resourceClaimName": "x"}, CREATED], "t")
    fields = ["spec.draResources", "spec.draResources", "spec.multiNode.computeDomain"]
    assert [claim.field for claim in claims] == fields


def test_name_pod_claims_unique_requests():
    (claim,) = name_pod_claims("llm", [{"resourceClaimName": "x", "requests": ["b", "a", "b"]}])
    assert claim.requests == ("b", "a")


ALL = PodClaim("a", "ResourceClaim", "x")
SOME = PodClaim("b", "ResourceClaimTemplate", "y", ("one", "two"))


def test_build_pod_claims():
    assert build_pod_claims([ALL, SOME]) == [
        {"name": "a", "resourceClaimName": "x"},
        {"name": "b", "resourceClaimTemplateName": "y"},
    ]


def test_with_claims():
    containers = [{"name": "nim", "resources": {"limits": {"cpu": 1}}}, {"name": "side"}]
    used = [{"name": "a"}, {"name": "b", "request": "one"}, {"name": "b", "request": "two"}]
    assert with_claims(containers, [ALL, SOME]) == [
        {"name": "nim", "resources": {"limits": {"cpu": 1}, "claims": used}},
        {"name": "side", "resources": {"claims": used}},
    ]
    assert containers[1] == {"name": "side"}


def test_with_claims_none():
    containers = [{"name": "nim"}]
    assert with_claims(containers, []) == containers
