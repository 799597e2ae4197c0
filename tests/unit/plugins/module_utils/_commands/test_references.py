# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""References to custom resources, as users write them."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._commands.references import (
    Reference,
    parse_kind,
    parse_reference,
)

BASES = Path(__file__).resolve().parents[5] / "config/crd/bases"
NAMES = [yaml.safe_load(file.read_text())["spec"]["names"] for file in sorted(BASES.glob("*.yaml"))]
VALID = {
    "a kind": ("nimcache/llm", None, Reference("NIMCache", "llm")),
    "another case": ("NemoDataStores/x", None, Reference("NemoDatastore", "x")),
    "a group": ("nimservice.apps.nvidia.com/llm", None, Reference("NIMService", "llm")),
    "a version": ("clusterpolicies.v1.nvidia.com/gpu", None, Reference("ClusterPolicy", "gpu")),
    "a default kind": ("llm", "NIMService", Reference("NIMService", "llm")),
    "not the default kind": ("nimcache/llm", "NIMService", Reference("NIMCache", "llm")),
    "a name with dots": (" nvd/h100.a ", None, Reference("NVIDIADriver", "h100.a")),
}
INVALID = {
    "no kind": ("llm", None, "llm: has no kind: write KIND/NAME, where KIND is clusterpolicy, nem"),
    "another kind": ("pod/llm", None, "pod: is not a kind of ours: use clusterpolicy, nemocustom"),
    "an empty kind": ("/llm", "NIMService", "an empty text: is not a kind of ours: use clusterp"),
    "another group": ("nimservice.apps/llm", None, "nimservice.apps: is not a kind of ours: use"),
    "no name": ("nimservice/", None, "nimservice/: is not KIND/NAME with a valid name, such as n"),
    "an invalid name": ("LLM", "NIMService", "LLM: is not KIND/NAME with a valid name"),
    "a path": ("nimservice/../x", None, "nimservice/..: is not a kind of ours"),
    "dots": ("nimservice/..", None, "nimservice/..: is not KIND/NAME with a valid name"),
    "nothing": ("", "NIMService", "an empty text: is not KIND/NAME with a valid name"),
    "control characters": ("nimservice/\x1b[1m", None, "nimservice/[1m: is not KIND/NAME"),
}


@pytest.mark.parametrize(("text", "default", "expected"), VALID.values(), ids=VALID)
def test_parse_reference_valid(text: str, default: str | None, expected: Reference) -> None:
    assert parse_reference(text, default) == expected


@pytest.mark.parametrize(("text", "default", "message"), INVALID.values(), ids=INVALID)
def test_parse_reference_invalid(text: str, default: str | None, message: str) -> None:
    with pytest.raises(NimError) as error:
        parse_reference(text, default)
    assert str(error.value).startswith(message)


def test_reference_text_is_a_reference() -> None:
    found = Reference("NIMService", "llm")
    assert parse_reference(str(found), None) == found


@pytest.mark.parametrize("names", NAMES, ids=lambda names: names["kind"])
def test_parse_kind_knows_names_of_crds(names: dict[str, str]) -> None:
    """All names by which kubectl finds the kind."""
    kind = names["kind"]
    given = [kind, names["plural"], names["singular"], *names.get("shortNames", [])]
    assert {parse_kind(name) for name in given} == {kind}
