# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The pages of the reference have what their sources have."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from site_reference import (
    list_permissions,
    make_pages,
    plain,
    write_kind,
    write_options,
    write_playbooks,
)

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def pages():
    return make_pages(ROOT)


def definition(**fields):
    spec = {"type": "object", "properties": fields, "required": ["a"]}
    schema = {"description": "A thing.", "properties": {"spec": spec, "status": {}}}
    versions = [{"name": "v1", "storage": True, "schema": {"openAPIV3Schema": schema}}]
    names = {"kind": "Thing", "plural": "things", "shortNames": ["th"], "categories": ["all"]}
    return {"spec": {"group": "g.io", "names": names, "scope": "Namespaced", "versions": versions}}


ROWS = {
    "required": ({"type": "string", "description": "A | B."}, "string | required | A \\| B."),
    "bounds": (
        {
            "type": "integer",
            "format": "int32",
            "minimum": 0,
            "maximum": 2**31 - 1,
            "description": "D",
        },
        "integer | required, at least 0, format int32 | D",
    ),
    "a choice": (
        {"type": "string", "enum": ["x", "y"], "default": "x", "description": "D"},
        "string | required, default `x`, one of `x`, `y` | D",
    ),
    "a list of a map": (
        {
            "type": "array",
            "maxItems": 3,
            "items": {"type": "object", "additionalProperties": {"type": "string"}},
            "description": "D",
        },
        "list of map of string | required, at most 3 items | D",
    ),
}


@pytest.mark.parametrize(("field", "row"), ROWS.values(), ids=ROWS)
def test_write_kind(field, row):
    page = write_kind(definition(a=field), {"spec.a": "E"})
    assert page.startswith("# Thing\n\nA thing.\n\n`g.io/v1`, namespaced, also `things`, `th`; ")
    assert f"| `spec.a` | {row} | E |" in page


def test_write_kind_rules():
    rule = {"rule": "self", "message": "must be so", "fieldPath": ".b"}
    hidden = {"rule": "self", "message": "keys that begin with __ansible are reserved for Ansible"}
    inner = {"type": "object", "x-kubernetes-validations": [rule, hidden], "description": "D"}
    page = write_kind(definition(a={"type": "array", "items": inner, "description": "D"}), {})
    assert "| `spec.a[].b` | must be so |" in page
    assert "__ansible" not in page


def test_pages_have_every_field(pages):
    """Each field of our own that a CRD describes has a row."""
    for path in (ROOT / "config/crd/bases").glob("*_*.yaml"):
        crd = yaml.safe_load(path.read_text())
        page = pages[f"reference/kinds/{crd['spec']['names']['singular']}.md"]
        described = path.read_text().count("description:")
        # The kind itself, spec, status, apiVersion and kind have none.
        assert len(re.findall(r"^\| `(?:spec|status)\.", page, re.M)) >= (described - 5) * 0.9
        assert page.count("| `status.conditions` |") == 1


@pytest.mark.parametrize("folder", ["modules", "filter", "inventory", "callback"])
def test_pages_have_every_plugin(pages, folder):
    for path in (ROOT / "plugins" / folder).glob("[a-z]*.py"):
        kind = "module" if folder == "modules" else folder
        page = pages[f"reference/plugins/{path.stem}-{kind}.md"]
        assert page.startswith(f"# nimops.nim.{path.stem} (")


def test_pages_have_every_playbook_and_role(pages):
    for path in (ROOT / "playbooks").glob("*.yml"):
        assert f"| `nimops.nim.{path.stem}` | " in pages["reference/playbooks.md"]
    for path in (ROOT / "roles").iterdir():
        assert f"\n## nimops.nim.{path.name}\n" in pages["reference/roles.md"]


def test_pages_have_every_rule_of_rbac(pages):
    rules = yaml.safe_load((ROOT / "config/rbac/role.yaml").read_text())["rules"]
    part = pages["reference/permissions.md"].partition("role.yaml")[2].partition("\n## ")[0]
    assert part.count("\n| `") == len(rules)


def test_list_permissions():
    text = "rules:\n  # A: one\n  # B: two\n  - apiGroups: [x]\n    verbs:\n      - get\n  - verbs: [list]\n"
    [first, second] = list_permissions(text)
    assert first == (["A: one", "B: two"], {"apiGroups": ["x"], "verbs": ["get"]})
    assert second == ([], {"verbs": ["list"]})


def test_plain():
    text = "Set O(files), M(nimops.nim.nim_apply) or E(A=b), P(nimops.nim.pipe#callback)."
    assert plain(text) == "Set `files`, `nimops.nim.nim_apply` or `A=b`, `nimops.nim.pipe`."


def test_write_options():
    options = {
        "a": {
            "type": "list",
            "elements": "dict",
            "required": True,
            "description": ["One."],
            "suboptions": {"b": {"default": 1, "choices": [1, 2], "description": "Two."}},
        }
    }
    table = write_options(options)
    assert "| `a` | list of dict | required | One. |" in table
    assert "| `a.b` | str | default `1`, one of `1`, `2` | Two. |" in table


def test_write_playbooks():
    text = '---\n# Does a thing.\n- hosts: all\n  vars: {a: "{{ b | default(omit) }}"}\n'
    assert "| `nimops.nim.x` | Does a thing. | `b` |" in write_playbooks({"x": text})
