# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Each field of a spec has what it becomes, and the generated files are those of the code."""

from __future__ import annotations

import copy
import json
import sys
from pathlib import Path

import pytest
import yaml
from site_reference import effects_of, is_leaf, list_fields, read_effects, write_kind

ROOT = Path(__file__).resolve().parents[3]
DEFINITIONS = {
    path.stem: yaml.safe_load(path.read_text())
    for path in sorted((ROOT / "config/crd/bases").glob("*_*.yaml"))
}
EFFECTS = ROOT / "hack/site/effects"
NIGHTLY = {
    *(stem for stem in DEFINITIONS if not stem.startswith("apps.")),
    *(
        f"apps.nvidia.com_nemo{name}s"
        for name in ("customizer", "datastore", "evaluator", "guardrail")
    ),
}
"""Kinds whose file takes two seconds to minutes. Of the kinds of NeMo, `make unit` compares NemoEntitystore."""


@pytest.fixture(scope="module")
def generator():
    sys.path.insert(0, str(ROOT / "hack"))
    import generate_effects

    return generate_effects


def name_of(definition):
    return definition["spec"]["names"]["singular"]


def spec_of(definition):
    [version] = [item for item in definition["spec"]["versions"] if item["storage"]]
    return version["schema"]["openAPIV3Schema"]["properties"]["spec"]


def find_missing(definition):
    found = effects_of(spec_of(definition), read_effects(ROOT, name_of(definition)))
    return [path for path, text in found.items() if not text and is_leaf(path, found)]


@pytest.mark.parametrize("stem", DEFINITIONS)
def test_each_field_becomes_something(stem):
    """Run hack/generate_effects.py KIND; what it does not find needs a text in effects.yaml."""
    assert find_missing(DEFINITIONS[stem]) == []


def test_a_new_field_is_missing():
    definition = copy.deepcopy(DEFINITIONS["apps.nvidia.com_nimbuilds"])
    spec_of(definition)["properties"]["fresh"] = {"type": "string", "description": "New."}
    assert find_missing(definition) == ["spec.fresh"]


@pytest.mark.parametrize("stem", DEFINITIONS)
def test_no_field_is_unknown(stem):
    known = {path for path, *_rest in list_fields(spec_of(DEFINITIONS[stem]), "spec")}
    name = name_of(DEFINITIONS[stem])
    found = json.loads((EFFECTS / f"{name}.json").read_text())
    written = yaml.safe_load((ROOT / "hack/site/effects.yaml").read_text())
    given = {*found, *written.get(name, ())}
    assert {path for path in given if "**" not in path} <= known


def test_nightly_kinds_exist():
    assert set(DEFINITIONS) > NIGHTLY


def test_files_are_those_of_the_kinds():
    names = {name_of(definition) for definition in DEFINITIONS.values()}
    assert {path.stem for path in EFFECTS.glob("*.json")} == names


@pytest.mark.parametrize(
    "stem",
    [
        pytest.param(stem, marks=pytest.mark.nightly if stem in NIGHTLY else ())
        for stem in DEFINITIONS
    ],
)
def test_file_is_up_to_date(generator, stem):
    name = name_of(DEFINITIONS[stem])
    prober = generator.Prober(DEFINITIONS[stem])
    assert generator.write_effects(prober) == (EFFECTS / f"{name}.json").read_text()


def test_sample_must_be_valid(generator, monkeypatch):
    def refuse(_resource):
        raise generator.NimError("refused")

    monkeypatch.setattr(generator, "render", refuse)
    with pytest.raises(generator.NimError, match="refused"):
        generator.Prober(DEFINITIONS["apps.nvidia.com_nimbuilds"])


BEFORE = {("Pod", "a"): {"spec": {"containers": [{"name": "c", "args": ["x"]}]}}}
CHANGES = {
    "a value": (
        {("Pod", "a"): {"spec": {"containers": [{"name": "c", "args": ["x", "--a=zq17"]}]}}},
        "zq17",
        (["Pod spec.containers[].args[]"], True),
    ),
    "a map": (
        {("Pod", "a"): {"spec": {**BEFORE["Pod", "a"]["spec"], "nodeSelector": {"zq17": "zq17"}}}},
        {"zq17": "zq17"},
        (["Pod spec.nodeSelector"], True),
    ),
    "a switch": (
        {**BEFORE, ("Service", "a"): {"spec": {}}},
        True,
        (["creates the Service"], False),
    ),
    "nothing": (BEFORE, "zq17", ([], False)),
}


@pytest.mark.parametrize(("after", "value", "expected"), CHANGES.values(), ids=CHANGES)
def test_compare(generator, after, value, expected):
    assert generator.compare(BEFORE, after, value) == expected


def test_page_has_the_effect():
    definition = DEFINITIONS["apps.nvidia.com_nimbuilds"]
    page = write_kind(definition, {"spec.image.tag": "the image"})
    row, *_rules = [line for line in page.splitlines() if line.startswith("| `spec.image.tag`")]
    assert row.endswith("| the image |")
