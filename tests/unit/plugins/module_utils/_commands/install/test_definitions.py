# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._commands.install.definitions import (
    Comparison,
    compare_definition,
    has_our_status,
)

ROOT = Path(__file__).resolve().parents[6]
BASES = sorted((ROOT / "config/crd/bases").glob("*.yaml"))
UNKNOWN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
TEXT = {"type": "string"}
STATUS = {"operatorVersion": TEXT}
NAME = "nims.example.com"


def object_of(**properties):
    return {"type": "object", "properties": properties}


def map_of(values):
    return {"type": "object", "additionalProperties": values}


def definition(spec=None, status=None, release="", versions=("v1",), **more):
    parts = object_of(spec=spec or object_of(), status=object_of(**(status or {})), **more)
    annotations = {"nimops.nim/operator-version": release} if release else {}
    schema = {"openAPIV3Schema": parts}
    return {
        "metadata": {"name": NAME, "annotations": annotations},
        "spec": {"versions": [{"name": version, "schema": schema} for version in versions]},
    }


def ours(spec=None, release="1.2.3"):
    return definition(spec, STATUS, release)


LOST = {
    "more fields": (object_of(a=TEXT), object_of(a=TEXT, b=TEXT), []),
    "top": (object_of(b=TEXT, a=object_of(c=TEXT)), object_of(), ["spec.a", "spec.b"]),
    "deep": (object_of(a=object_of(b=TEXT)), object_of(a=object_of(c=TEXT)), ["spec.a.b"]),
    "items": (
        object_of(a={"type": "array", "items": object_of(b=TEXT)}),
        object_of(a={"type": "array", "items": object_of(c=TEXT)}),
        ["spec.a[].b"],
    ),
    "values": (
        object_of(a=map_of(object_of(b=TEXT))),
        object_of(a=map_of(object_of())),
        ["spec.a.*.b"],
    ),
    "any key": (object_of(a=map_of(TEXT)), object_of(a=object_of(b=TEXT)), ["spec.a.*"]),
    "unknown fields": (object_of(a=UNKNOWN), object_of(a=object_of()), ["spec.a.*"]),
    "into a map": (object_of(a=object_of(b=TEXT)), object_of(a=map_of(TEXT)), []),
    "into unknown fields": (object_of(a=object_of(b=TEXT)), object_of(a=UNKNOWN), []),
}


@pytest.mark.parametrize(("live", "wanted", "lost"), LOST.values(), ids=LOST)
def test_compare_definition_lost_fields(live, wanted, lost):
    found = compare_definition(definition(live), ours(wanted))
    assert found == Comparison(NAME, is_foreign=True, lost=tuple(lost))


def test_compare_definition_lost_versions():
    live = definition(object_of(a=TEXT), versions=("v1alpha1", "v1", "v2\x1b"), extra=TEXT)
    found = compare_definition(live, ours())
    assert found.lost == ("version v1alpha1", "extra", "spec.a", "version v2")
    assert found.obstacle == (
        f"{NAME} does not belong to nimops.nim; ours would lose version v1alpha1, extra, spec.a, version v2"
    )


def test_compare_definition_obstacle_bounded():
    live = definition(object_of(**{f"f{number:03}" * 40: TEXT for number in range(200)}))
    text = compare_definition(live, ours()).obstacle
    assert text.endswith(" and 180 more")
    assert len(text) < 3000


def test_compare_definition_nothing_lost():
    text = compare_definition(definition(), ours()).obstacle
    assert text == f"{NAME} does not belong to nimops.nim; ours has all its fields"


@pytest.mark.parametrize("live", [None, ours(), ours(release=""), ours(object_of(a=TEXT), "1.2.2")])
def test_compare_definition_replaceable(live):
    assert compare_definition(live, ours()) == Comparison(NAME)


def test_compare_definition_newer():
    found = compare_definition(ours(object_of(a=TEXT), "1.10.0"), ours(release="1.9.0"))
    assert found == Comparison(NAME, newer="1.10.0", lost=("spec.a",))
    assert found.obstacle == f"{NAME} is of the later release 1.10.0; ours would lose spec.a"


def test_compare_definition_order_of_releases():
    releases = ["x", "0.9.10", "1.0.0-2", "1.0.0-10", "1.0.0-rc", "1.0.0-rc.1", "1.0.0", "1.0.1-a"]
    for earlier, later in pairwise(releases):
        assert compare_definition(ours(release=later), ours(release=earlier)).newer == later
        assert compare_definition(ours(release=earlier), ours(release=later)).newer == ""


def test_compare_definition_applied_over_ours():
    """Our annotation survives there, as `kubectl apply` removes only what it set itself."""
    assert compare_definition(definition(release="1.2.3"), ours()).is_foreign


@pytest.mark.parametrize("file", BASES, ids=lambda file: file.stem)
def test_has_our_status(file):
    found = yaml.load(file.read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    assert has_our_status(found)
    assert compare_definition(found, found).obstacle == ""
