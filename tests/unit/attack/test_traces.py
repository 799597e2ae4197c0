# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Traces of attacks are found: evaluated templates, text outside of quotes, values of Secrets, refusals."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import jinja2
import pytest
from nimops_attack.harness import refusal_of
from nimops_attack.payloads import (
    CLASSES,
    PACKED,
    PayloadClass,
    apply_defaults,
    find_evaluated,
    find_loose_in_cel,
    make_token,
)
from nimops_attack.policies import is_bound, is_rule_about_keys
from nimops_attack.secrets import find_needles, read_tar
from nimops_harness.cluster import Answer
from nimops_harness.crds import strip

TOKEN = make_token("a", "b")
POLICY = "policy 'a' with binding 'a' denied request: "


@pytest.mark.parametrize("payload", [*CLASSES, PACKED], ids=lambda item: item.name)
def test_find_evaluated_nothing(payload: PayloadClass) -> None:
    for text in (payload.text, payload.short):
        filled = apply_defaults(text, TOKEN, "/c")
        assert TOKEN in filled
        assert not find_evaluated(filled)


def test_find_evaluated() -> None:
    for part in apply_defaults(CLASSES[0].text, TOKEN, "/c").split(" mk"):
        text = part.partition("{{ lookup")[0]
        template = text if text.startswith("mk") else "mk" + text
        assert find_evaluated(jinja2.Environment().from_string(template).render()) == {TOKEN}


@pytest.mark.parametrize(
    ("expression", "loose"),
    [
        ('device.attributes["d"].x == "TOK"', False),
        (r'device.attributes["d"].x == "\" || TOK() || \""', False),
        ('device.attributes["d"].x == "" || TOK() || ""', True),
        ('device.attributes["d"].TOK', True),
    ],
)
def test_find_loose_in_cel(expression: str, loose: bool) -> None:
    assert find_loose_in_cel(expression, "TOK") is loose


def test_find_needles_in_archive(tmp_path: Path) -> None:
    path = tmp_path / "a.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, text in (("logs/a.log", b"x canary-4711"), ("index.json", b"{}")):
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
    found = find_needles(read_tar(path), {"canary-4711": "ngc-secret[key]"})
    assert found == ["ngc-secret[key] in gather logs/a.log"]


@pytest.mark.parametrize(
    ("causes", "fields"),
    [
        ([{"field": "spec.a", "message": "bad"}, {"message": "denied request: spec.b: reserved"}], ["spec.a", "spec.b"]),
        ([{"message": f"{POLICY}spec.services[].spec.labels: keys that"}], ["spec.services[0].spec.labels"]),
        ([{"message": "something else: entirely"}], [""]),
        ([], [""]),
    ],
)  # fmt: skip
def test_refusal_of(causes: list[dict[str, str]], fields: list[str]) -> None:
    refusal = refusal_of(Answer(422, {"message": "no", "details": {"causes": causes}}))
    assert refusal is not None
    assert [name for name, _ in refusal.causes] == fields
    assert refusal_of(Answer(201, {})) is None


def test_strip() -> None:
    kept = {"rule": "self == oldSelf", "message": "is immutable"}
    keys = {"rule": "self.all(key, !key.startsWith('__ansible'))", "message": "reserved"}
    word = "x-kubernetes-validations"
    schema = {"properties": {"a": {word: [keys, kept]}, "b": {"items": {"maxLength": 1}}}}
    assert strip(schema, is_rule_about_keys)["properties"]["a"] == {word: [kept]}
    assert strip(schema, is_bound) == {"properties": {"a": {}, "b": {"items": {}}}}
