#!/usr/bin/env python3
# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Write config/crd/bases/*.yaml, our CustomResourceDefinitions, from config/crd/src/*.yaml.

Kubernetes' own types come from the OpenAPI v3 documents of the API server that kubectl talks to,
or from a folder of such documents (--openapi). --check writes nothing and exits 1 if a file
would change.

A source file describes one kind (kind, plural, shortNames, categories, doc, columns, spec, status,
types) or has only types and templates. A type, a field, spec and status are all nodes:

  type       string, bool, int, int32, int64, number, quantity, intOrString, object, any; a name
             under types; a Kubernetes type such as core.v1.Probe; each with [] for a list or {} for
             a map, and then ! for a required field
  doc        the description; by default that of the type
  fields     name: node. A node without a type amends that field of its parent's type
  items      node that amends the items of a list
  values     node that amends the values of a map
  rules      CEL rules: rule, message, messageExpression, at (the fieldPath), reason (Required or
             Forbidden; by default Invalid; with Duplicate, the API server drops the message).
             each: {field: zero} makes one rule per field, with @field and @zero filled in.
             template: a name under templates, which supplies the omitted keys of the rule
  checks     rules that the reference operator's schema does not have
  listType, listMapKeys, preserveUnknownFields and the constraints of JSON schema, spelled as
  Kubernetes does

Sources do not mention that keys beginning with __ansible are rejected, nor the range of an int32:
each map and number gets that automatically. Each list, map and text of a spec gets a bound unless
the source has one, and the spec as a whole gets one: see SIZES.
"""

from __future__ import annotations

import argparse
import copy
import difflib
import functools
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

Schema = dict[str, Any]
Node = dict[str, Any]

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "config/crd/src"
CONFIG = ROOT / "config"
BASES = "crd/bases"
GROUP = "apps.nvidia.com"
# Types differ between minor versions: another server would give a different result.
KUBERNETES = "1.37"

# Prefix of a Kubernetes type's name: the document that defines it, and its package there.
DOCUMENTS = {
    "core.v1": ("api/v1", "io.k8s.api.core.v1"),
    "meta.v1": ("api/v1", "io.k8s.apimachinery.pkg.apis.meta.v1"),
    "autoscaling.v2": ("apis/autoscaling/v2", "io.k8s.api.autoscaling.v2"),
    "networking.v1": ("apis/networking.k8s.io/v1", "io.k8s.api.networking.v1"),
}
# Fields that Kubernetes added to a type after the release that the reference operator is built
# with, 1.34: its CRDs do not have them.
LATER = {
    "core.v1.GRPCAction": ("mode",),
    "core.v1.HTTPGetAction": ("protocol",),
    "core.v1.VolumeMount": ("bindMountOptions",),
}
# The fields of a Kubernetes type that CRDs keep, besides its structure.
KEPT = (
    *("type", "format", "x-kubernetes-map-type"),
    *("x-kubernetes-list-type", "x-kubernetes-list-map-keys"),
)
# The status of a resource that no operator has seen: kstatus waits for a newer generation.
UNSEEN: Schema = {"observedGeneration": -1}
UNKNOWN = "x-kubernetes-preserve-unknown-fields"
INT_OR_STRING: Schema = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "x-kubernetes-int-or-string": True,
}
QUANTITY: Schema = {
    **INT_OR_STRING,
    "pattern": r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
}
SCALARS: dict[str, Schema] = {
    "string": {"type": "string"},
    "bool": {"type": "boolean"},
    "int": {"type": "integer"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "number": {"type": "number"},
    "quantity": QUANTITY,
    "intOrString": INT_OR_STRING,
    "object": {"type": "object"},
    "any": {UNKNOWN: True},
}
CONSTRAINTS = {
    **{name: name for name in ("default", "enum", "format", "pattern", "minimum", "maximum")},
    **{name: name for name in ("minLength", "maxLength", "minItems", "maxItems", "maxProperties")},
    "listType": "x-kubernetes-list-type",
    "listMapKeys": "x-kubernetes-list-map-keys",
    "preserveUnknownFields": UNKNOWN,
}
NODE_KEYS = {
    *("type", "doc", "fields", "items", "values", "rules", "checks"),
    *CONSTRAINTS,
}
RULE_KEYS = {"each", "template", "rule", "message", "messageExpression", "at", "reason"}

# Default bounds of a spec, far above real values. An empty value of a list takes two bytes of a
# request, and hundreds when it is decoded.
SIZES = {"texts": 512, "items": 64, "entries": 128, "text": 4096, "amount": 64}
# kubectl apply stores the spec a second time, in an annotation, and the API server its fields a
# third time: together they stay below the operator's limit of 256 KiB for a resource.
SPEC_BYTES = 96 << 10

# ansible-core reserves these keys (__ansible_unsafe, __ansible_vault …) when it decodes JSON.
RESERVED = "__ansible"
# The only word reserved by CEL that is also the name of a field.
RESERVED_WORD = re.compile(r"\b(namespace)\b")
# The part of a rule that only a field below another one needs.
NO_PARENT = re.compile(r"has\([\w.]+\.@parent\) && ")
RESERVED_MESSAGE = f"keys that begin with {RESERVED} are reserved for Ansible"


class SourceError(Exception):
    """The source or the cluster is invalid; the message has the place and the reason."""


class KubernetesTypes:
    """Kubernetes' types as structural schemas without descriptions, as CRDs embed them.

    read returns the OpenAPI v3 document at a path such as api/v1.
    """

    def __init__(self, read: Callable[[str], Schema]) -> None:
        self._read = functools.cache(read)

    def schema(self, name: str) -> Schema:
        prefix, _, kind = name.rpartition(".")
        if prefix not in DOCUMENTS:
            raise SourceError(f"type {name}: neither ours nor of {', '.join(DOCUMENTS)}")
        path, package = DOCUMENTS[prefix]
        definitions = self._read(path)["components"]["schemas"]
        if f"{package}.{kind}" not in definitions:
            raise SourceError(f"type {name}: not in the OpenAPI document {path}")
        return self._definition(f"{package}.{kind}", definitions)

    def _definition(self, name: str, definitions: dict[str, Schema]) -> Schema:
        schema = self._convert(definitions[name], definitions)
        for field in LATER.get(name.removeprefix("io.k8s.api."), ()):
            schema["properties"].pop(field, None)
        return schema

    def _convert(self, source: Schema, definitions: dict[str, Schema]) -> Schema:
        reference = source.get("$ref") or source.get("allOf", [{}])[0].get("$ref", "")
        if reference.endswith(".resource.Quantity"):
            return copy.deepcopy(QUANTITY)
        if reference.endswith(".intstr.IntOrString"):
            return copy.deepcopy(INT_OR_STRING)
        if reference:
            return self._definition(reference.rpartition("/")[2], definitions)
        schema: Schema = {key: source[key] for key in KEPT if key in source}
        for key in ("items", "additionalProperties"):
            if key in source:
                schema[key] = self._convert(source[key], definitions)
        required = sorted(source.get("required", []))
        if required:
            schema["required"] = required
        if "properties" in source:
            schema["properties"] = {
                name: self._property(child, name in required, definitions)
                for name, child in source["properties"].items()
            }
        return schema

    def _property(self, source: Schema, required: bool, definitions: dict[str, Schema]) -> Schema:
        schema = self._convert(source, definitions)
        # Go's zero values: {} at each embedded struct, "" or 0 at each required field. No defaults.
        if source.get("default", {}) != {} and not required:
            schema["default"] = source["default"]
        return schema


class Builder:
    """Schemas of nodes, by named types and rule templates."""

    def __init__(
        self,
        types: dict[str, Node],
        templates: dict[str, Node],
        kubernetes: KubernetesTypes,
    ) -> None:
        self._types = types
        self._templates = templates
        self._kubernetes = kubernetes

    def build(self, node: Node, where: str, base: Schema | None = None) -> Schema:
        """Return the schema of node; base is the schema that a node without a type amends."""
        if unknown := set(node) - NODE_KEYS:
            raise SourceError(f"{where}: unknown keys {', '.join(sorted(map(str, unknown)))}")
        schema: Schema = {"type": "object"} if base is None else base
        if "type" in node:
            schema = self._resolve(node["type"].removesuffix("!"), where)
        if "doc" in node:
            schema["description"] = node["doc"]
        schema |= {name: node[key] for key, name in CONSTRAINTS.items() if key in node}
        for key, inner in (("items", "items"), ("values", "additionalProperties")):
            if key in node:
                schema[inner] = self.build(node[key], f"{where}[]", schema[inner])
        for name, child in node.get("fields", {}).items():
            self._add_field(schema, name, child, f"{where}.{name}")
        if rules := list(self._rules(node, where)):
            present = schema.get("x-kubernetes-validations", [])
            schema["x-kubernetes-validations"] = present + rules
        return schema

    def _resolve(self, expression: str, where: str) -> Schema:
        if expression.endswith("[]"):
            return {"type": "array", "items": self._resolve(expression[:-2], where)}
        if expression.endswith("{}"):
            values = self._resolve(expression[:-2], where)
            return {"type": "object", "additionalProperties": values}
        if expression in SCALARS:
            return copy.deepcopy(SCALARS[expression])
        if expression in self._types:
            return self.build(self._types[expression], expression)
        return self._kubernetes.schema(expression)

    def _add_field(self, schema: Schema, name: str, node: Node, where: str) -> None:
        properties = schema.setdefault("properties", {})
        properties[name] = self.build(node, where, properties.get(name))
        if "description" not in properties[name]:
            raise SourceError(f"{where}: has no doc")
        if node.get("type", "").endswith("!"):
            schema["required"] = sorted({*schema.get("required", []), name})

    def _rules(self, node: Node, where: str) -> Iterator[Schema]:
        for source in node.get("rules", []) + node.get("checks", []):
            name = source.get("template")
            if name and name not in self._templates:
                raise SourceError(f"{where}: there is no template {name}")
            rule = {**self._templates.get(name, {}), **source}
            if set(rule) - RULE_KEYS or not {"rule", "message"} <= set(rule):
                raise SourceError(f"{where}: a rule cannot have just {', '.join(sorted(rule))}")
            yield from expand_rule(rule)


def expand_rule(source: Node) -> Iterator[Schema]:
    """Yield the x-kubernetes-validations that one entry of rules stands for."""
    names = {"rule": "rule", "message": "message", "messageExpression": "messageExpression"}
    names["at"] = "fieldPath"
    for field, zero in source.get("each", {"": None}).items():
        parent = field.rpartition(".")[0]
        rule = {
            name: (source[key] if parent else NO_PARENT.sub("", source[key]))
            .strip()
            .replace("@field", RESERVED_WORD.sub(r"__\1__", field) if key == "rule" else field)
            .replace("@parent", parent)
            .replace("@zero", json.dumps(zero))
            for key, name in names.items()
            if key in source
        }
        if "reason" in source:
            rule["reason"] = f"FieldValue{source['reason']}"
        yield rule


def reserve_keys(schema: Schema, path: str = "", bounded: bool = True) -> None:
    """Reject reserved keys in each map."""
    if "additionalProperties" in schema:
        if "properties" in schema["additionalProperties"]:
            raise SourceError(f"{path}: a map of objects, whose maps nothing would check")
        # The API server estimates the cost of a rule in the largest request.
        if "[]" in path and not (bounded and "maxProperties" in schema):
            raise SourceError(f"{path}: needs maxProperties, and its lists maxItems")
        rule = {"rule": f"self.all(key, !key.startsWith('{RESERVED}'))"}
        present = schema.get("x-kubernetes-validations", [])
        schema["x-kubernetes-validations"] = [*present, {**rule, "message": RESERVED_MESSAGE}]
    for name, child in schema.get("properties", {}).items():
        reserve_keys(child, f"{path}.{name}".lstrip("."), bounded)
    if "items" in schema:
        reserve_keys(schema["items"], f"{path}[]", bounded and "maxItems" in schema)


def children(schema: Schema) -> list[Schema]:
    inner = [schema[key] for key in ("items", "additionalProperties") if key in schema]
    return [*schema.get("properties", {}).values(), *inner]


def bound_sizes(schema: Schema) -> None:
    """Give each list, map and text the bound of its type, unless it has one."""
    if "items" in schema:
        is_text = schema["items"].get("type") == "string"
        schema.setdefault("maxItems", SIZES["texts" if is_text else "items"])
    if "additionalProperties" in schema:
        schema.setdefault("maxProperties", SIZES["entries"])
    if schema.get("x-kubernetes-int-or-string"):
        schema.setdefault("maxLength", SIZES["amount"])
    elif schema.get("type") == "string" and "enum" not in schema:
        schema.setdefault("maxLength", SIZES["text"])
    for child in children(schema):
        bound_sizes(child)


def is_known(schema: Schema) -> bool:
    """Whether the schema has no unknown fields at any depth."""
    return UNKNOWN not in schema and all(map(is_known, children(schema)))


def select_known(schema: Schema, root: str, path: str = "") -> Iterator[str]:
    """Yield CEL expressions, each a list of values; together all known fields of root."""
    if UNKNOWN in schema:
        return
    if "items" in schema:
        if UNKNOWN in schema["items"]:
            return
        inside = ", ".join(select_known(schema["items"], "item"))
        name = path.removeprefix(".?")
        if root != "self" or "." in name:
            raise SourceError(f"{path}: unknown fields in a list of a list")
        yield f"(has(self.{name}) ? self.{name} : []).map(item, [{inside}])"
        return
    properties = schema.get("properties", {})
    if known := [name for name in properties if is_known(properties[name])]:
        yield f"{json.dumps(known)}.map(name, dyn({root}){path}[?name].orValue(''))"
    for name, child in properties.items():
        if name not in known:
            yield from select_known(child, root, f"{path}.?{name}")


def bound_spec(schema: Schema) -> None:
    """Bound a spec as a whole, except the content of unknown fields.

    CEL cannot measure an object, but can format it as text, and the text as hexadecimal digits, two
    for each byte. In the API server's estimate this costs nothing, while reading a text of unknown
    length would cost too much.
    """
    values = "dyn(self)" if is_known(schema) else f"[{', '.join(select_known(schema, 'self'))}]"
    rule = {
        "rule": f"size('%x'.format(['%s'.format([{values}])])) <= {2 * SPEC_BYTES}",
        "message": f"must be at most {SPEC_BYTES} bytes long, move some of it to ConfigMaps",
    }
    schema["x-kubernetes-validations"] = [*schema.get("x-kubernetes-validations", []), rule]


def bound_numbers(schema: Schema) -> None:
    """Give each int32 the bounds of its format, which the API server does not enforce."""
    if schema.get("format") == "int32":
        schema.setdefault("minimum", -(2**31))
        schema.setdefault("maximum", 2**31 - 1)
    for child in children(schema):
        bound_numbers(child)


def printer_columns(kind: Node) -> list[Schema]:
    columns = [
        {"name": column["name"], "type": column.get("type", "string"), "jsonPath": column["path"]}
        | ({"priority": 1} if column.get("wide") else {})
        for column in kind["columns"]
    ]
    age = {"name": "Age", "type": "date", "format": "date-time"}
    return [*columns, {**age, "jsonPath": ".metadata.creationTimestamp"}]


def scale(parts: dict[str, Schema]) -> Schema:
    """Return the scale subresource, for kinds whose status has what it needs."""
    if "selector" not in parts["status"].get("properties", {}):
        return {}
    paths = {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector",
    }
    return {"scale": paths}


def crd(kind: Node, builder: Builder) -> Schema:
    """Return the CustomResourceDefinition of a source file with a kind."""
    name, plural, group = kind["kind"], kind["plural"], kind.get("group", GROUP)
    served, scope = kind.get("version", "v1alpha1"), kind.get("scope", "Namespaced")
    identity: Node = {
        "doc": kind["doc"],
        "fields": {
            "apiVersion": {"type": "string", "doc": f"{group}/{served}"},
            "kind": {"type": "string", "doc": name},
            "spec": kind["spec"],
            "status": kind["status"],
        },
        "checks": kind.get("checks", []),
    }
    schema = builder.build(identity, name)
    bound_sizes(schema["properties"]["spec"])
    bound_spec(schema["properties"]["spec"])
    reserve_keys(schema)
    bound_numbers(schema)
    schema["properties"]["metadata"] = {"type": "object"}
    status = schema["properties"]["status"]
    status["default"] = UNSEEN | status.get("default", {})
    version = {
        "name": served,
        "served": True,
        "storage": True,
        "additionalPrinterColumns": printer_columns(kind),
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}} | scale(schema["properties"]),
    }
    singular = name.lower()
    names = {"kind": name, "listKind": f"{name}List", "plural": plural, "singular": singular}
    names |= {key: kind[key] for key in ("categories", "shortNames") if key in kind}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "names": names, "scope": scope, "versions": [version]},
    }


def merge(sources: dict[str, Node], key: str) -> dict[str, Node]:
    """Return the definitions under key of all files, in one common namespace."""
    result: dict[str, Node] = {}
    for file, source in sources.items():
        for name, node in source.get(key, {}).items():
            if name in result:
                raise SourceError(f"{file}: {key}.{name} is defined twice")
            result[name] = node
    return result


def generate(sources: dict[str, Node], kubernetes: KubernetesTypes) -> dict[str, str]:
    """Return path in config → content. sources: file name → parsed content."""
    builder = Builder(merge(sources, "types"), merge(sources, "templates"), kubernetes)
    head = (
        "# Generated by hack/generate_crds.py (make generate) from config/crd/src\n"
        f"# and the OpenAPI of Kubernetes {KUBERNETES}. Do not edit.\n---\n"
    )
    return {
        f"{BASES}/{source.get('group', GROUP)}_{source['plural']}.yaml": head
        + yaml.safe_dump(crd(source, builder), width=120)
        for source in sources.values()
        if "kind" in source
    }


def get_raw(path: str) -> Schema:
    command = ["kubectl", "get", "--raw", path]
    document: Schema = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return document


def read_server(path: str) -> Schema:
    """Return an OpenAPI document of the API server that kubectl talks to."""
    version = get_raw("/version")
    if f"{version['major']}.{version['minor']}".rstrip("+") != KUBERNETES:
        raise SourceError(f"the API server is {version['gitVersion']}, we need {KUBERNETES}")
    return get_raw(f"/openapi/v3/{path}")


def read_folder(folder: Path, path: str) -> Schema:
    """Return a document from a folder in which api/v1 is api__v1_openapi.json, as in Kubernetes."""
    text = (folder / f"{path.replace('/', '__')}_openapi.json").read_text()
    document: Schema = json.loads(text)
    return document


def show_drift(name: str, old: str, new: str) -> None:
    lines = list(difflib.unified_diff(old.splitlines(), new.splitlines(), name, "generated", n=1))
    print("\n".join(lines[:40]), f"... {len(lines)} lines of difference", sep="\n")


def main() -> int:
    parser = argparse.ArgumentParser(description="Generate our CRDs.")
    parser.add_argument("--check", action="store_true", help="exit 1 if a file would change")
    parser.add_argument("--openapi", type=Path, help="folder of OpenAPI documents, not a server")
    options = parser.parse_args()
    read = functools.partial(read_folder, options.openapi) if options.openapi else read_server
    try:
        sources = {p.name: yaml.safe_load(p.read_text()) for p in sorted(SOURCE.glob("*.yaml"))}
        files = generate(sources, KubernetesTypes(read))
    except subprocess.CalledProcessError as error:
        print(f"generate_crds: {' '.join(error.cmd)}: {error.stderr.decode()}", file=sys.stderr)
        return 2
    except (SourceError, yaml.YAMLError, OSError) as error:
        print(f"generate_crds: {error}", file=sys.stderr)
        return 2
    written = (CONFIG / BASES).glob("*.yaml")
    present = {str(path.relative_to(CONFIG)): path.read_text() for path in written}
    drifted = sorted(name for name in {*files, *present} if files.get(name) != present.get(name))
    for name in drifted:
        if options.check:
            show_drift(name, present.get(name, ""), files.get(name, ""))
        elif name in files:
            (CONFIG / name).write_text(files[name])
        else:
            (CONFIG / name).unlink()
    done = "differ" if options.check else "written"
    print(f"generate_crds: {len(files)} files, {len(drifted)} {done}")
    return 1 if options.check and drifted else 0


if __name__ == "__main__":
    sys.exit(main())
