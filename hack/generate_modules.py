#!/usr/bin/env python3
# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Write the modules for one custom resource, plugins/modules/nim_service.py …, from our CRDs.

The options of `spec` and their documentation are the fields of the CRD. A field of a type of
Kubernetes refers to the documentation of that type. hack/module has the template of a module and,
for each module, its kind and its examples.

--check writes nothing and exits 1 if a file would change.
"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import Any

import yaml
from generated_files import load_yaml, make_parser, update

Json = dict[str, Any]

ROOT = Path(__file__).resolve().parent.parent
BASES = ROOT / "config/crd/bases"
SOURCES = ROOT / "hack/module"
MODULES = ROOT / "plugins/modules"
WIDTH = 140
TYPES = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "object": "dict",
    "array": "list",
}
# The types of Kubernetes by the names of the fields that have them.
KUBERNETES = {
    "affinity": "Affinity",
    "behavior": "HorizontalPodAutoscalerBehavior",
    "configMapRef": "ConfigMapKeySelector",
    "env": "EnvVar",
    "livenessProbe": "Probe",
    "metrics": "MetricSpec",
    "podAffinity": "PodAffinity",
    "ports": "ContainerPort",
    "probe": "Probe",
    "readinessProbe": "Probe",
    "resources": "ResourceRequirements",
    "spec": "IngressSpec",
    "startupProbe": "Probe",
    "tolerations": "Toleration",
}
# Options that another module documents, by module and path.
ELSEWHERE = {("nim_pipeline", "services.spec"): ("nim_service", "spec")}


class Writer:
    """The options of one module."""

    def __init__(self, module: str) -> None:
        self._module = module

    def options(self, schema: Json, path: tuple[str, ...] = ()) -> Json:
        """Return the documented options of the fields of an object."""
        required = schema.get("required", [])
        return {
            name: self._option(child, (*path, name), name in required)
            for name, child in sorted(schema["properties"].items())
        }

    def _option(self, schema: Json, path: tuple[str, ...], required: bool) -> Json:
        texts = [sentence(schema.get("description", ""))]
        option: Json = {"description": texts, "type": TYPES.get(schema.get("type", ""), "raw")}
        inner = schema
        if option["type"] == "list":
            inner = schema["items"]
            option["elements"] = TYPES.get(inner.get("type", ""), "raw")
        if required and "default" not in schema:
            option["required"] = True
        if isinstance(schema.get("default"), str | int | float):
            option["default"] = schema["default"]
        if choices := inner.get("enum"):
            option["choices"] = choices
        if "properties" not in inner:
            return option
        if reference := ELSEWHERE.get((self._module, ".".join(path))):
            module, name = reference
            texts.append(f"It has the suboptions of O(nimops.nim.{module}#module:{name}).")
        elif is_of_kubernetes(inner):
            texts.append(f"See C({KUBERNETES[path[-1]]}) of the Kubernetes API.")
        else:
            option["suboptions"] = self.options(inner, path)
        return option


def is_of_kubernetes(schema: Json) -> bool:
    """Return whether most fields have no description: the CRDs describe only our own types."""
    fields = schema["properties"].values()
    return 2 * sum("description" in field for field in fields) <= len(fields)


def sentence(text: str) -> str:
    """Return a description as a sentence."""
    if not text:
        raise SystemExit("a field of a CRD has no description")
    return f"{text[0].upper()}{text[1:].rstrip('.')}."


def read_spec(kind: str) -> Json:
    """Return the schema of the spec of a kind."""
    (path,) = BASES.glob(f"*_{kind.lower()}s.yaml")
    (version,) = load_yaml(path.read_text())["spec"]["versions"]
    found: Json = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return found


class Dumper(yaml.SafeDumper):
    """Indents lists as ansible-lint requires, and repeats equal ones."""

    def ignore_aliases(self, _data: Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        del indentless
        super().increase_indent(flow, False)


def dump(value: Any, indent: int = 0) -> str:
    """Return YAML with an indent."""
    width = WIDTH - indent
    text = yaml.dump(value, Dumper=Dumper, sort_keys=False, width=width, allow_unicode=True)
    return textwrap.indent(text.rstrip("\n"), " " * indent)


def generate() -> dict[str, str]:
    """Return the contents of the modules by file name."""
    template, files = (SOURCES / "module.py.in").read_text(), {}
    for source in sorted(SOURCES.glob("*.yml")):
        text, _mark, examples = source.read_text().partition("examples:\n")
        head = load_yaml(text)
        words = {
            "@options@": dump(Writer(source.stem).options(read_spec(head["kind"])), 6),
            "@examples@": textwrap.dedent(examples).strip("\n"),
            "@module@": source.stem,
            "@Kind@": head["kind"],
            "@short@": head["short"],
            "@about@": head["about"],
        }
        content = template
        for word, value in words.items():
            content = content.replace(word, value)
        files[f"{source.stem}.py"] = content
    return files


def main() -> int:
    options = make_parser(__doc__ or "").parse_args()
    files = {MODULES / name: text for name, text in generate().items()}
    return update(files, check=options.check)


if __name__ == "__main__":
    sys.exit(main())
