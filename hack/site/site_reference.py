# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The pages of the reference that only the site has: path below docs → text.

A page per kind from the CRDs, per module and plugin from its documentation, one of roles and
playbooks, one of permissions from the comments of RBAC, and one of events and reasons from the
code.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from site_markdown import cell, code, table

Schema = dict[str, Any]

_PLUGINS = {
    "modules": "module",
    "filter": "filter",
    "inventory": "inventory",
    "callback": "callback",
}
_ROLES = ("config/rbac/role.yaml", "config/rbac/node_role.yaml", "config/components/gpu/role.yaml")
_HIDDEN = ("keys that begin with __ansible", "must be at most 98304 bytes long")
_BOUNDS = {
    "default": "default {}",
    "enum": "one of {}",
    "minimum": "at least {}",
    "maximum": "at most {}",
    "minLength": "length at least {}",
    "maxLength": "length at most {}",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "maxProperties": "at most {} entries",
    "pattern": "matches {}",
    "format": "format {}",
}
_INT32 = {"minimum": -(2**31), "maximum": 2**31 - 1}
_IGNORED = re.compile(r"\b(ignored|not served)\b", re.IGNORECASE)
_MARKUP = re.compile(r"\b(I|B|C|M|E|O|V|RV|P|U|L|R|HORIZONTALLINE)\(([^)]*)\)")


def make_pages(root: Path) -> dict[str, str]:
    """Return all pages of a checkout."""
    pages: dict[str, str] = {}
    for path in sorted((root / "config/crd/bases").glob("*_*.yaml")):
        definition = yaml.safe_load(path.read_text())
        name = definition["spec"]["names"]["singular"]
        pages[f"reference/kinds/{name}.md"] = write_kind(definition, read_effects(root, name))
    for folder, kind in _PLUGINS.items():
        for path in sorted((root / "plugins" / folder).glob("[a-z]*.py")):
            pages[f"reference/plugins/{path.stem}-{kind}.md"] = write_plugin(
                read_texts(path), kind, path.stem
            )
    specs = {
        path.parts[-3]: yaml.safe_load(path.read_text())["argument_specs"]["main"]
        for path in sorted((root / "roles").glob("*/meta/argument_specs.yml"))
    }
    pages["reference/roles.md"] = write_roles(specs)
    playbooks = {path.stem: path.read_text() for path in sorted((root / "playbooks").glob("*.yml"))}
    pages["reference/playbooks.md"] = write_playbooks(playbooks)
    texts = {name: (root / name).read_text() for name in _ROLES if (root / name).is_file()}
    pages["reference/permissions.md"] = write_permissions(texts)
    return pages


# Kinds


def read_effects(root: Path, name: str) -> dict[str, str]:
    """Return what each field of a spec becomes: places as code, or a text of the CRD source.

    A text for the kind goes before what hack/generate_effects.py found, and that before a text for
    all kinds.
    """
    folder = root / "hack/site"
    generated = folder / f"effects/{name}.json"
    found = json.loads(generated.read_text()) if generated.is_file() else {}
    written = yaml.safe_load((folder / "effects.yaml").read_text())
    places = {path: "<br>".join(map(code, items)) for path, items in found.items()}
    common, own = (
        {path: cell(text) for path, text in written.get(key, {}).items()} for key in ("all", name)
    )
    return common | places | own


def effects_of(spec: Schema, effects: Mapping[str, str]) -> dict[str, str]:
    """Return the cell of each field; empty where fields below have one, or nothing is known.

    A field without effect states this in its description, or in that of a field above.
    """
    docs = {path: doc for path, _type, _bounds, doc in list_fields(spec, "spec")}
    ignored = [path for path, doc in docs.items() if _IGNORED.search(doc)]
    found = {}
    for path in docs:
        is_ignored = any(
            path == above or path.startswith((f"{above}.", f"{above}[")) for above in ignored
        )
        if is_ignored:
            found[path] = "nothing"
        else:
            found[path] = effects.get(path) or _by_pattern(path, effects)
    return found


def _by_pattern(path: str, effects: Mapping[str, str]) -> str:
    """Return the text of the first key that fits, in which ** is any part of a path."""
    for key, text in effects.items():
        if "**" in key and re.fullmatch(".*".join(map(re.escape, key.split("**"))), path):
            return text
    return ""


def is_leaf(path: str, paths: Iterable[str]) -> bool:
    """Whether no other path is below this one."""
    return not any(
        other.startswith(path) and other[len(path) :][:1] in (".", "[") for other in paths
    )


def write_kind(definition: Schema, effects: Mapping[str, str]) -> str:
    """Return the page of a CustomResourceDefinition: its fields and rules.

    ``effects``: what fields of the spec become, as cells.
    """
    spec = definition["spec"]
    names = spec["names"]
    version = next(item for item in spec["versions"] if item["storage"])
    schema = version["schema"]["openAPIV3Schema"]
    other = [names["plural"], *names.get("shortNames", ())]
    text = (
        f"# {names['kind']}\n\n{schema['description']}\n\n"
        f"`{spec['group']}/{version['name']}`, {spec['scope'].lower()}, "
        f"also {', '.join(code(name) for name in other)}; categories "
        f"{', '.join(code(name) for name in names.get('categories', ()))}.\n\n"
        "Fields of Kubernetes' own types are not expanded. The column *becomes* has the places of a"
        " field in the objects that the operator writes; `[]` is each item, or one of several.\n"
    )
    for part in ("spec", "status"):
        head: tuple[str, ...] = ("field", "type", "bounds", "meaning")
        rows: list[tuple[str, ...]] = [
            (code(path), cell(kind), cell(bounds), cell(doc))
            for path, kind, bounds, doc in list_fields(schema["properties"][part], part)
        ]
        if part == "spec":
            head = (*head, "becomes")
            known = effects_of(schema["properties"]["spec"], effects)
            rows = [(*row, known[row[0].strip("`")]) for row in rows]
        text += f"\n## {part.capitalize()}\n\n{table(head, rows)}"
    rules = [
        (code(f"{path}{rule.get('fieldPath', '')}".lstrip(".")), cell(rule["message"]))
        for path, rule in list_rules(schema, "")
    ]
    if rules:
        text += f"\n## Rules\n\n{table(('field', 'message'), list(dict.fromkeys(rules)))}"
    return text


def list_fields(schema: Schema, path: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield path, type, bounds and description of each field with a description."""
    required = set(schema.get("required", ()))
    for name, node in schema.get("properties", {}).items():
        if "description" not in node:
            continue
        below = f"{path}.{name}"
        given = ["required"] if name in required else []
        yield below, type_of(node), ", ".join(given + bounds_of(node)), node["description"]
        inner, suffix = node, ""
        while "items" in inner or isinstance(inner.get("additionalProperties"), dict):
            suffix += "[]" if "items" in inner else ".*"
            inner = inner["items"] if "items" in inner else inner["additionalProperties"]
        yield from list_fields(inner, below + suffix)


def type_of(node: Schema) -> str:
    """Return a type in words."""
    if node.get("x-kubernetes-int-or-string"):
        return "quantity" if "pattern" in node else "integer or string"
    if "items" in node:
        return f"list of {type_of(node['items'])}"
    if isinstance(node.get("additionalProperties"), dict):
        return f"map of {type_of(node['additionalProperties'])}"
    return str(node.get("type", "any"))


def bounds_of(node: Schema) -> list[str]:
    """Return the default and the bounds in words."""
    is_quantity = bool(node.get("x-kubernetes-int-or-string"))
    return [
        text.format(
            ", ".join(code(value) for value in node[key])
            if key == "enum"
            else code(node[key])
            if key in ("default", "pattern")
            else node[key]
        )
        for key, text in _BOUNDS.items()
        if key in node
        and not (is_quantity and key in ("pattern", "maxLength"))
        and node[key] != _INT32.get(key)
    ]


def list_rules(schema: Schema, path: str) -> Iterator[tuple[str, Schema]]:
    """Yield the CEL rules with a path, without those that every kind has."""
    for rule in schema.get("x-kubernetes-validations", ()):
        if not rule["message"].startswith(_HIDDEN):
            yield path, rule
    for name, node in schema.get("properties", {}).items():
        yield from list_rules(node, f"{path}.{name}")
    if "items" in schema:
        yield from list_rules(schema["items"], f"{path}[]")
    if isinstance(schema.get("additionalProperties"), dict):
        yield from list_rules(schema["additionalProperties"], f"{path}.*")


# Modules, plugins, roles and playbooks


def read_texts(path: Path) -> dict[str, str]:
    """Return the texts of a plugin that Ansible reads: DOCUMENTATION, EXAMPLES and RETURN."""
    found = {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            [target] = node.targets
            if isinstance(target, ast.Name) and target.id.isupper():
                found[target.id] = str(node.value.value)
    return found


def plain(text: Any) -> str:
    """Return a text without the markup of Ansible."""
    return _MARKUP.sub(lambda found: code(found[2].partition("#")[0].partition(",")[0]), str(text))


def paragraphs(value: Any) -> str:
    """Return a description, a text or a list of texts."""
    return "\n\n".join(plain(item) for item in ([value] if isinstance(value, str) else value or ()))


def write_plugin(texts: Mapping[str, str], kind: str, name: str) -> str:
    """Return the page of a module or a plugin."""
    documented = yaml.safe_load(texts["DOCUMENTATION"])
    text = (
        f"# nimops.nim.{name} ({kind})\n\n{plain(documented['short_description'])}.\n\n"
        f"{paragraphs(documented['description'])}\n"
    )
    if options := documented.get("options"):
        text += f"\n## Options\n\n{write_options(options)}"
    if documented.get("extends_documentation_fragment"):
        text += (
            f"\nFurther options are common to several modules: `ansible-doc nimops.nim.{name}`.\n"
        )
    if notes := documented.get("notes"):
        text += "\n## Notes\n\n" + "".join(f"- {plain(note)}\n" for note in notes)
    if "EXAMPLES" in texts:
        text += f"\n## Examples\n\n```yaml\n{texts['EXAMPLES'].strip()}\n```\n"
    if returned := yaml.safe_load(texts.get("RETURN", "")):
        rows = [
            (code(key), cell(node.get("type", "")), cell(paragraphs(node["description"])))
            for key, node in returned.items()
        ]
        text += f"\n## Results\n\n{table(('value', 'type', 'meaning'), rows)}"
    return text


def write_options(options: Mapping[str, Any]) -> str:
    """Return the table of options."""
    rows = []
    for path, node in _options(options, ""):
        kind = node.get("type", "str")
        if "elements" in node:
            kind += f" of {node['elements']}"
        given = ["required"] if node.get("required") else []
        given += [f"default {code(node['default'])}"] if "default" in node else []
        given += (
            [f"one of {', '.join(code(str(choice)) for choice in node['choices'])}"]
            if "choices" in node
            else []
        )
        rows.append(
            (code(path), kind, cell(", ".join(given)), cell(paragraphs(node.get("description"))))
        )
    return table(("option", "type", "bounds", "meaning"), rows)


def _options(options: Mapping[str, Any], path: str) -> Iterator[tuple[str, Any]]:
    for name, node in options.items():
        yield f"{path}{name}", node
        yield from _options(node.get("suboptions") or node.get("options") or {}, f"{path}{name}.")


def write_roles(specs: Mapping[str, Any]) -> str:
    """Return the page of the roles."""
    text = "# Roles\n\nA role per kind: [extend](../user/extend.md) says when to use one.\n"
    for name, spec in specs.items():
        text += (
            f"\n## nimops.nim.{name}\n\n{plain(spec['short_description'])}.\n\n"
            f"{paragraphs(spec['description'])}\n\n{write_options(spec['options'])}"
        )
    return text


def write_playbooks(texts: Mapping[str, str]) -> str:
    """Return the page of the playbooks: what the comment at the top of each says."""
    rows = []
    for name, text in texts.items():
        lines = [line.removeprefix("#").strip() for line in text.splitlines() if line[:1] == "#"]
        variables = sorted(set(re.findall(r"\{\{ (\w+) \| default", text)))
        rows.append(
            (code(f"nimops.nim.{name}"), cell(" ".join(lines)), ", ".join(map(code, variables)))
        )
    link = "[From a terminal or a pipeline](../user/verbs.md)"
    head = f"# Playbooks\n\n{link} shows how to use them.\n\n"
    return head + table(("playbook", "does", "variables"), rows)


# Permissions, events and reasons


def write_permissions(texts: Mapping[str, str]) -> str:
    """Return the page of the operator's permissions: the rules with the comments above them."""
    text = (
        "# Permissions with reasons\n\n[Permissions](../operate/rbac.md) explains them, and what"
        " limits them.\n"
    )
    for name, content in texts.items():
        rows = [
            (
                ", ".join(
                    code(str(item)) for item in rule.get("resources") or rule["nonResourceURLs"]
                ),
                ", ".join(str(group) or "core" for group in rule.get("apiGroups", ())),
                ", ".join(rule["verbs"]),
                "<br>".join(cell(reason) for reason in reasons),
            )
            for document in content.split("\n---\n")
            for reasons, rule in list_permissions(document)
        ]
        head = ("resources", "API groups", "verbs", "reasons")
        text += f"\n## {Path(name).parent.name}/{Path(name).name}\n\n{table(head, rows)}"
    return text


def list_permissions(content: str) -> list[tuple[list[str], Schema]]:
    """Return the rules of a role, each with the lines of the comment above it."""
    reasons: list[list[str]] = []
    above: list[str] = []
    in_rules = False
    for line in content.splitlines():
        stripped = line.strip()
        if line.startswith("rules:"):
            in_rules = True
        elif in_rules and stripped.startswith("#"):
            above.append(stripped.removeprefix("#").strip())
        elif in_rules and stripped.startswith("- ") and line.index("-") <= 2:
            reasons.append(above)
            above = []
    rules = (yaml.safe_load(content) or {}).get("rules", [])
    return list(zip(reasons, rules, strict=True))
