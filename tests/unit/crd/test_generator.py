# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The grammar of config/crd/src, and the conversion of Kubernetes' OpenAPI to structural schemas."""

from __future__ import annotations

import copy
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
BASES = sorted((ROOT / "config/crd/bases").glob("*.yaml"))
MEBIBYTE = 1 << 20

Schema = dict[str, Any]

PREFIX = "#/components/schemas/io.k8s.api.core.v1"
CORE: Schema = {
    "components": {
        "schemas": {
            "io.k8s.api.core.v1.Selector": {
                "description": "Selects.",
                "type": "object",
                "required": ["key"],
                "properties": {
                    "key": {"type": "string", "default": "", "description": "Key."},
                    "name": {"type": "string", "default": ""},
                    "optional": {"type": "boolean", "default": False},
                },
                "x-kubernetes-map-type": "atomic",
            },
            "io.k8s.api.core.v1.Outer": {
                "type": "object",
                "x-kubernetes-unions": [{}],
                "properties": {
                    "selector": {
                        "allOf": [{"$ref": f"{PREFIX}.Selector"}],
                        "default": {},
                        "description": "S.",
                    },
                    "list": {
                        "type": "array",
                        "items": {"allOf": [{"$ref": f"{PREFIX}.Selector"}], "default": {}},
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["key"],
                        "x-kubernetes-patch-merge-key": "key",
                    },
                    "limits": {
                        "type": "object",
                        "additionalProperties": {
                            "$ref": "#/components/schemas/io.k8s.apimachinery.pkg.api.resource.Quantity"
                        },
                    },
                    "port": {
                        "$ref": "#/components/schemas/io.k8s.apimachinery.pkg.util.intstr.IntOrString"
                    },
                    "policy": {"type": "string", "enum": ["A"], "format": "x"},
                },
            },
        }
    }
}
SELECTOR: Schema = {
    "type": "object",
    "required": ["key"],
    "properties": {
        "key": {"type": "string"},
        "name": {"type": "string", "default": ""},
        "optional": {"type": "boolean", "default": False},
    },
    "x-kubernetes-map-type": "atomic",
}


@pytest.fixture
def build(generator: ModuleType) -> Any:
    """Build a node with types and templates."""

    def run(node: Schema, types: Schema | None = None, templates: Schema | None = None) -> Schema:
        kubernetes = generator.KubernetesTypes(lambda path: CORE)
        return dict(generator.Builder(types or {}, templates or {}, kubernetes).build(node, "spec"))

    return run


def test_structural_type(build: Any, generator: ModuleType) -> None:
    assert build({"type": "core.v1.Outer"}) == {
        "type": "object",
        "properties": {
            "selector": SELECTOR,
            "list": {
                "type": "array",
                "items": SELECTOR,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["key"],
            },
            "limits": {"type": "object", "additionalProperties": generator.QUANTITY},
            "port": generator.INT_OR_STRING,
            "policy": {"type": "string", "format": "x"},
        },
    }


def test_int32_bounds(generator: ModuleType) -> None:
    number = {"type": "integer", "format": "int32"}
    schema = {
        "properties": {
            "replicas": {**number, "minimum": 0},
            "ports": {"items": dict(number), "type": "array"},
            "large": {"type": "integer", "format": "int64"},
            "by_name": {"additionalProperties": dict(number)},
        }
    }
    generator.bound_numbers(schema)
    bounds = {"minimum": -2147483648, "maximum": 2147483647}
    assert schema["properties"] == {
        "replicas": {**number, **bounds, "minimum": 0},
        "ports": {"items": {**number, **bounds}, "type": "array"},
        "large": {"type": "integer", "format": "int64"},
        "by_name": {"additionalProperties": {**number, **bounds}},
    }


ANY: Schema = {"x-kubernetes-preserve-unknown-fields": True}
TEXT: Schema = {"type": "string"}
# By name: a schema, and its bounded form.
SIZES = {
    "text": (TEXT, {"maxLength": 4096}),
    "text with a bound": ({**TEXT, "maxLength": 5}, {"maxLength": 5}),
    "text of a few": ({**TEXT, "enum": ["a"]}, {}),
    "number": ({"type": "integer"}, {}),
    "amount": ({"x-kubernetes-int-or-string": True}, {"maxLength": 64}),
    "list of texts": (
        {"type": "array", "items": TEXT},
        {"maxItems": 512, "items": {**TEXT, "maxLength": 4096}},
    ),
    "list of objects": (
        {"type": "array", "items": {"properties": {"a": TEXT}}},
        {"maxItems": 64, "items": {"properties": {"a": {**TEXT, "maxLength": 4096}}}},
    ),
    "list with a bound": ({"items": {}, "maxItems": 9}, {"maxItems": 9, "items": {}}),
    "map": (
        {"additionalProperties": TEXT},
        {"maxProperties": 128, "additionalProperties": {**TEXT, "maxLength": 4096}},
    ),
    "map with a bound": ({"additionalProperties": {}, "maxProperties": 9}, {"maxProperties": 9}),
}


@pytest.mark.parametrize(("schema", "bounds"), SIZES.values(), ids=SIZES.keys())
def test_size_bounds_by_type(generator: ModuleType, schema: Schema, bounds: Schema) -> None:
    bounded = copy.deepcopy(schema)
    generator.bound_sizes(bounded)
    assert bounded == {**schema, **bounds}


# By name: the schema of a spec, and the values that count toward the total.
SPECS = {
    "all known": ({"properties": {"a": TEXT}}, "dyn(self)"),
    "one field unknown": (
        {"properties": {"a": TEXT, "b": ANY, "c": TEXT}},
        """[["a", "c"].map(name, dyn(self)[?name].orValue(''))]""",
    ),
    "unknown further down": (
        {"properties": {"a": {"properties": {"b": {"properties": {"c": ANY, "d": TEXT}}}}}},
        """[["d"].map(name, dyn(self).?a.?b[?name].orValue(''))]""",
    ),
    "unknown in a list": (
        {"properties": {"a": {"items": {"properties": {"b": ANY, "c": TEXT}}}}},
        """[(has(self.a) ? self.a : []).map(item, """
        """[["c"].map(name, dyn(item)[?name].orValue(''))])]""",
    ),
    "nothing known": ({"properties": {"a": ANY}}, "[]"),
    "open objects in a list": (
        {"properties": {"a": {"properties": {"b": {"items": ANY}, "c": TEXT}}}},
        """[["c"].map(name, dyn(self).?a[?name].orValue(''))]""",
    ),
}


@pytest.mark.parametrize(("schema", "values"), SPECS.values(), ids=SPECS.keys())
def test_spec_total_bound(generator: ModuleType, schema: Schema, values: str) -> None:
    earlier = {"rule": "a", "message": "b"}
    schema = {**copy.deepcopy(schema), "x-kubernetes-validations": [earlier]}
    generator.bound_spec(schema)
    first, rule = schema["x-kubernetes-validations"]
    assert first == earlier
    assert rule["rule"] == f"size('%x'.format(['%s'.format([{values}])])) <= 196608"
    assert rule["message"].startswith("must be at most 98304 bytes long")


def test_unknown_fields_in_nested_lists(generator: ModuleType) -> None:
    inner = {"items": {"properties": {"b": ANY}}}
    schema = {"properties": {"a": {"items": {"properties": {"c": inner}}}}}
    with pytest.raises(generator.SourceError, match="unknown fields in a list of a list"):
        generator.bound_spec(schema)


STRING = {"type": "string"}
NODES = {
    "list": ({"type": "string[]"}, {"type": "array", "items": STRING}),
    "list of maps": (
        {"type": "string{}[]"},
        {"type": "array", "items": {"type": "object", "additionalProperties": STRING}},
    ),
    "constraints": (
        {"type": "string", "minLength": 1, "enum": ["a"], "default": "a"},
        {"type": "string", "minLength": 1, "enum": ["a"], "default": "a"},
    ),
    "falsy default": ({"type": "bool", "default": False}, {"type": "boolean", "default": False}),
    "list map": (
        {"type": "object[]", "listType": "map", "listMapKeys": ["a"]},
        {
            "type": "array",
            "items": {"type": "object"},
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["a"],
        },
    ),
    "values amended": (
        {"type": "string{}", "values": {"maxLength": 9}},
        {"type": "object", "additionalProperties": {"type": "string", "maxLength": 9}},
    ),
    "items amended": (
        {"type": "string[]", "items": {"minLength": 1}},
        {"type": "array", "items": {"type": "string", "minLength": 1}},
    ),
    "required field, doc of the type": (
        {"fields": {"b": {"type": "Name!"}, "a": {"type": "string!", "doc": "A."}}},
        {
            "type": "object",
            "required": ["a", "b"],
            "properties": {
                "b": {"type": "string", "description": "A name."},
                "a": {"type": "string", "description": "A."},
            },
        },
    ),
    "own type amended": (
        {"type": "Thing", "fields": {"name": {"minLength": 1}}},
        {
            "type": "object",
            "properties": {"name": {"type": "string", "description": "A name.", "minLength": 1}},
        },
    ),
    "rule": (
        {
            "type": "string",
            "rules": [{"rule": " self != ''\n", "message": "m", "at": ".a", "reason": "Required"}],
        },
        {
            "type": "string",
            "x-kubernetes-validations": [
                {
                    "rule": "self != ''",
                    "message": "m",
                    "fieldPath": ".a",
                    "reason": "FieldValueRequired",
                }
            ],
        },
    ),
    "rule for each": (
        {
            "rules": [
                {
                    "each": {"a": "", "b": {}},
                    "rule": "self.@field == @zero",
                    "message": "m",
                    "at": ".@field",
                }
            ]
        },
        {
            "type": "object",
            "x-kubernetes-validations": [
                {"rule": 'self.a == ""', "message": "m", "fieldPath": ".a"},
                {"rule": "self.b == {}", "message": "m", "fieldPath": ".b"},
            ],
        },
    ),
    "rule by template": (
        {
            "rules": [
                {"template": "same", "each": {"a": None}},
                {"template": "same", "message": "other"},
            ]
        },
        {
            "type": "object",
            "x-kubernetes-validations": [
                {"rule": "self.a == oldSelf.a", "message": "m"},
                {"rule": "self. == oldSelf.", "message": "other"},
            ],
        },
    ),
    "checks follow rules": (
        {"type": "Checked", "rules": [{"rule": "c", "message": "c"}]},
        {
            "type": "object",
            "x-kubernetes-validations": [
                {"rule": "a", "message": "a"},
                {"rule": "b", "message": "b"},
                {"rule": "c", "message": "c"},
            ],
        },
    ),
}
TYPES: Schema = {
    "Name": {"type": "string", "doc": "A name."},
    "Thing": {"fields": {"name": {"type": "Name"}}},
    "Checked": {
        "checks": [{"rule": "b", "message": "b"}],
        "rules": [{"rule": "a", "message": "a"}],
    },
}
TEMPLATES: Schema = {"same": {"rule": "self.@field == oldSelf.@field", "message": "m"}}


@pytest.mark.parametrize(("node", "schema"), NODES.values(), ids=NODES.keys())
def test_node(build: Any, node: Schema, schema: Schema) -> None:
    assert build(node, TYPES, TEMPLATES) == schema


def test_amend_keeps_type(build: Any) -> None:
    amended = {"type": "core.v1.Selector", "fields": {"name": {"minLength": 1, "doc": "N."}}}
    fields = {"a": {**amended, "doc": "A."}, "b": {"type": "core.v1.Selector", "doc": "B."}}
    properties = build({"fields": fields})["properties"]
    assert properties["a"]["properties"]["name"]["minLength"] == 1
    assert properties["b"] == {**SELECTOR, "description": "B."}


BAD_NODES = {
    "key": ({"type": "string", "minlength": 1}, "spec: unknown keys minlength"),
    "type": ({"type": "Sting"}, "type Sting: neither ours nor of core.v1, "),
    "kubernetes type": (
        {"type": "core.v1.Nothing"},
        "type core.v1.Nothing: not in the OpenAPI document api/v1",
    ),
    "no doc": ({"fields": {"a": {"type": "string"}}}, "spec.a: has no doc"),
    "rule without message": ({"rules": [{"rule": "true"}]}, "spec: a rule cannot have just rule"),
    "key of a rule": (
        {"rules": [{"rule": "a", "message": "b", "path": "c"}]},
        "spec: a rule cannot have just",
    ),
    "template": ({"rules": [{"template": "t"}]}, "spec: there is no template t"),
}


@pytest.mark.parametrize(("node", "message"), BAD_NODES.values(), ids=BAD_NODES.keys())
def test_bad_source(build: Any, generator: ModuleType, node: Schema, message: str) -> None:
    with pytest.raises(generator.SourceError) as error:
        build(node, TYPES)
    assert message in str(error.value)


def test_types_shared_namespace(generator: ModuleType) -> None:
    sources = {"a.yaml": {"types": {"T": {}}}, "b.yaml": {"types": {"T": {}}}}
    with pytest.raises(generator.SourceError, match=r"b.yaml: types\.T is defined twice"):
        generator.generate(sources, None)


# A kind that uses no type of Kubernetes, as the generator would otherwise read a cluster.
KIND = {
    "kind": "Thing",
    "plural": "things",
    "doc": "A thing.",
    "columns": [{"name": "Model", "path": ".status.model", "wide": True}],
    "spec": {"type": "object!", "doc": "S."},
    "status": {"doc": "T."},
}


BASE = "crd/bases/apps.nvidia.com_things.yaml"


def test_crd_of_a_kind(generator: ModuleType) -> None:
    files = generator.generate({"thing.yaml": KIND}, None)
    assert list(files) == [BASE]
    crd = yaml.safe_load(files[BASE])
    version = crd["spec"]["versions"][0]
    assert crd["metadata"]["name"] == "things.apps.nvidia.com"
    assert version["schema"]["openAPIV3Schema"]["required"] == ["spec"]
    assert version["additionalPrinterColumns"] == [
        {"name": "Model", "type": "string", "jsonPath": ".status.model", "priority": 1},
        {
            "name": "Age",
            "type": "date",
            "format": "date-time",
            "jsonPath": ".metadata.creationTimestamp",
        },
    ]


@pytest.mark.parametrize(
    ("arguments", "present", "code", "after"),
    [
        pytest.param(["--check"], "old", 1, "old", id="check finds drift"),
        pytest.param(["--check"], None, 0, None, id="check finds none"),
        pytest.param([], "old", 0, None, id="writes"),
    ],
)
def test_drift(
    generator: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    arguments: list[str],
    present: str | None,
    code: int,
    after: str | None,
) -> None:
    wanted = generator.generate({"thing.yaml": KIND}, None)[BASE]
    (tmp_path / "crd/src").mkdir(parents=True)
    (tmp_path / "crd/bases").mkdir()
    (tmp_path / "crd/src/thing.yaml").write_text(yaml.safe_dump(KIND))
    (tmp_path / BASE).write_text(present or wanted)
    monkeypatch.setattr(generator, "SOURCE", tmp_path / "crd/src")
    monkeypatch.setattr(generator, "CONFIG", tmp_path)
    monkeypatch.setattr(sys, "argv", ["generate_crds.py", *arguments])
    assert generator.main() == code
    assert (tmp_path / BASE).read_text() == (after or wanted)


KEY_RULE = {
    "rule": "self.all(key, !key.startsWith('__ansible'))",
    "message": "keys that begin with __ansible are reserved for Ansible",
}


def kind_with(part: str, fields: Schema) -> Schema:
    return {**KIND, part: {**KIND[part], "fields": fields}}


MAP: Schema = {"type": "string{}", "doc": "M."}
BOUNDED: Schema = {**MAP, "maxProperties": 9}
LIST: Schema = {"type": "object[]", "doc": "L.", "items": {"fields": {"map": MAP}}}
BOUNDED_LIST: Schema = {**LIST, "maxItems": 9, "items": {"fields": {"map": BOUNDED}}}
# By name: part, fields, path of the map from there.
MAPS = {
    "map": ("spec", {"map": MAP}, "map"),
    "map of amounts": ("spec", {"map": {"type": "quantity{}", "doc": "M."}}, "map"),
    "map in a map's object": (
        "spec",
        {"a": {"type": "object", "doc": "A.", "fields": {"map": MAP}}},
        "a.map",
    ),
    "map in a list": ("spec", {"list": LIST}, "list[].map"),
    "status": ("status", {"map": MAP}, "map"),
    "bounded map in a bounded list of a status": (
        "status",
        {"list": BOUNDED_LIST},
        "list[].map",
    ),
}


def find(schema: Schema, path: str) -> Schema:
    for name in path.split("."):
        schema = schema["properties"][name.removesuffix("[]")]
        schema = schema["items"] if name.endswith("[]") else schema
    return schema


@pytest.mark.parametrize(("part", "fields", "path"), list(MAPS.values()), ids=list(MAPS.keys()))
def test_reserved_keys_rule_on_every_map(
    generator: ModuleType, part: str, fields: Schema, path: str
) -> None:
    files = generator.generate({"thing.yaml": kind_with(part, fields)}, None)
    crd = yaml.safe_load(files[BASE])
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert find(schema, f"{part}.{path}")["x-kubernetes-validations"] == [KEY_RULE]


BAD_MAPS = {
    "status": ("status", LIST, r"status.list\[\].map: needs maxProperties, and its lists maxItems"),
    "map of objects": (
        "spec",
        {"type": "Thing{}", "doc": "M."},
        "spec.list: a map of objects",
    ),
}


@pytest.mark.parametrize(
    ("part", "field", "message"), list(BAD_MAPS.values()), ids=list(BAD_MAPS.keys())
)
def test_unchecked_map(generator: ModuleType, part: str, field: Schema, message: str) -> None:
    source = {**kind_with(part, {"list": field}), "types": TYPES}
    with pytest.raises(generator.SourceError, match=message):
        generator.generate({"thing.yaml": source}, None)


def test_printer_columns(generator: ModuleType) -> None:
    source = {
        **kind_with("spec", {"big": {"type": "bool", "doc": "B."}}),
        "shortNames": ["th"],
        "categories": ["things"],
        "columns": [{"name": "Big", "path": ".spec.big", "type": "boolean"}],
    }
    (text,) = generator.generate({"thing.yaml": source}, None).values()
    spec = yaml.safe_load(text)["spec"]
    assert spec["names"]["shortNames"] == ["th"]
    assert spec["names"]["categories"] == ["things"]
    assert spec["versions"][0]["additionalPrinterColumns"][0]["type"] == "boolean"


def test_other_server(generator: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = b'{"major": "1", "minor": "33", "gitVersion": "v1.33.0"}'
    monkeypatch.setattr(
        subprocess, "run", lambda *a, **k: subprocess.CompletedProcess(a, 0, answer)
    )
    with pytest.raises(generator.SourceError, match=r"the API server is v1\.33\.0, we need 1\.37"):
        generator.read_server("api/v1")


@pytest.mark.parametrize("path", BASES, ids=lambda path: path.stem)
def test_base_documented_and_small(path: Path) -> None:
    text = path.read_text()
    assert text.startswith(
        "# Generated by hack/generate_crds.py (make generate) from config/crd/src\n"
    )
    assert len(text) < MEBIBYTE / 4


@pytest.mark.parametrize("path", BASES, ids=lambda path: path.stem)
def test_field_descriptions(path: Path) -> None:
    schema = yaml.safe_load(path.read_text())["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    for part in ("spec", "status"):
        for name, field in schema["properties"][part]["properties"].items():
            assert field.get("description"), f"{part}.{name}"
