# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from nimops_release import gate
from nimops_release.errors import SetupError

DIGEST = "sha256:" + "0123456789abcdef" * 4
PINNED = f"registry.acme.io:5000/a/ansible-operator:v1.42.2@{DIGEST}"
STAND_IN = {"nimops.nim.base": "stand-in"}
VALUES = {
    "organization": "acme",
    "repository": "https://git.acme.io/models/operator",
    "registry": "images.acme.io/models",
    "domain": "docs.acme.io",
    "contact": "models@acme.io",
}


@pytest.mark.parametrize(
    ("name", "pinned"),
    [
        (PINNED, True),
        (f"quay.io/a/b:v1@{DIGEST}", True),
        ("quay.io/a/b:v1", False),
        (f"quay.io/a/b@{DIGEST}", False),
        (f"quay.io/a/b:v1@{DIGEST[:-1]}", False),
        (f"quay.io/a/b:v1@{DIGEST} x", False),
        (f"b:v1@{DIGEST}", False),
        ("", False),
    ],
)
def test_pinned(name, pinned):
    assert bool(gate.PINNED.fullmatch(name)) is pinned


@pytest.mark.parametrize(
    ("changed", "placeholders", "parts"),
    [
        pytest.param({}, [], [], id="real"),
        pytest.param(
            {},
            ["registry", "contact"],
            ["registry (images.acme.io/models), contact (models@acme.io): placeholders"],
            id="listed",
        ),
        pytest.param({}, ["url"], ["placeholders: url: no such value"], id="unknown"),
        pytest.param(
            {"contact": "a@example.com"}, [], ["contact (a@example.com): names that"], id="mail"
        ),
        pytest.param({"registry": "example.com/a"}, [], ["registry (example.com/a)"], id="host"),
        pytest.param({"registry": "a.test:5000/a"}, [], ["registry (a.test:5000/a)"], id="port"),
        pytest.param(
            {"repository": "https://git.acme.example/a/b"}, [], ["repository ("], id="repository"
        ),
        pytest.param({"domain": "nimops.example.org"}, [], ["domain ("], id="subdomain"),
        pytest.param({"domain": "myexample.com"}, [], [], id="other domain"),
        pytest.param({"registry": "registry.acme.io/test/a"}, [], [], id="path"),
        pytest.param({"domain": "example.company.io"}, [], [], id="other top"),
    ],
)
def test_find_placeholders(changed, placeholders, parts):
    found = [*gate.find_placeholders(VALUES | changed, placeholders)]
    assert len(found) == len(parts), found
    for text, part in zip(found, parts, strict=True):
        assert text.startswith("release/publisher.yaml: ")
        assert part in text


@pytest.mark.parametrize(
    ("labels", "base", "match"),
    [
        pytest.param({}, PINNED, None, id="pinned"),
        pytest.param(STAND_IN, PINNED, "is a stand-in for tests", id="pinned stand-in"),
        pytest.param(STAND_IN, "stand-in", None, id="stand-in"),
        pytest.param({}, "stand-in", "lacks the label", id="unmarked stand-in"),
    ],
)
def test_check_base(labels, base, match):
    if match is None:
        gate.check_base(labels, base)
        return
    with pytest.raises(SetupError, match=match):
        gate.check_base(labels, base)
