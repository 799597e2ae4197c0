#!/usr/bin/env python3
# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Write the files that name our kinds, from the declarations in plugins/module_utils/_*/*/kind.py.

These are: watches.yaml and its parts, a role for each kind, the RBAC of the operator and of users,
the lists of config/*/kustomization.yaml, and the tables of kinds of the engine and the plugins.
--check writes nothing, and exits 1 if a file would change. This needs no cluster.
"""

from __future__ import annotations

import difflib
import importlib
import json
import re
import sys
import textwrap
import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from generated_files import find_stale, load_yaml, make_parser, update

ROOT = Path(__file__).resolve().parent.parent
UTILS = ROOT / "plugins/module_utils"
PACKAGE = "nimops_declarations"

LICENSE = """\
# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""
GENERATED = "Written by `make generate`."
VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "use")
ANNOTATIONS_POLICY = "config/admission/runtime_annotations.yaml"
ACCOUNT_POLICY = "config/admission/operator_account.yaml"
RULES_OF_POLICY = re.compile(r"^(    resourceRules:\n(?:      .*\n)+)", re.M)
LIST_OF_POLICY = r"(?<=^    - name: %s\n      expression: )(?:.*\n(?:        .*\n)*)"
WIDTH = 100
"""Maximum length of a line of Python, as in pyproject.toml."""
PREFIX, NAMESPACE = "nimops-", "nimops-system"
"""Name prefix and namespace of config/default, to whose output components are added."""
BASE = "nim"
"""Name of the part of the installation that is always there."""
INCLUDED = ("nemo",)
"""The components of config/default that can be omitted."""
MANAGER = "manager-role"
REASONS = "Each rule states which kind needs it, and why."
FOR_USERS = "For users, not for the operator: docs/operate/rbac.md."
SWITCHES = "docs/operate/configuration.md"
USER_VERBS = {
    "admin": "get list watch create update patch delete deletecollection",
    "editor": "get list watch create update patch delete",
    "viewer": "get list watch",
}
SCALE_VERBS = ("get", "update", "patch")
"""The verbs of the scale subresource, granted with those of the resource."""


@dataclass
class Kinds:
    """The declarations, sorted by name, and the resources that they use."""

    declared: list[Any]
    descriptions: dict[str, str]
    folders: dict[str, str]
    resources: dict[str, Any] = field(default_factory=dict)

    def of(self, *components: str) -> list[Any]:
        """The kinds of these parts of the installation; "" is the part that is always there."""
        return [kind for kind in self.declared if kind.component in components]

    @property
    def included(self) -> list[str]:
        """The parts in config/default."""
        return ["", *self._some(INCLUDED)]

    @property
    def components(self) -> list[str]:
        """The parts that are not in config/default."""
        return self._some({kind.component for kind in self.declared} - {"", *INCLUDED})

    def _some(self, components: Iterable[str]) -> list[str]:
        return sorted(name for name in components if self.of(name))


def load() -> Kinds:
    """Import each declaration from this checkout, not from an installed collection."""
    package = types.ModuleType(PACKAGE)
    package.__path__ = [str(UTILS)]
    sys.modules[PACKAGE] = package
    sys.dont_write_bytecode = True
    declared, descriptions, folders = [], {}, {}
    for file in sorted(UTILS.glob("_*/*/kind.py")):
        folder = ".".join(file.parent.relative_to(UTILS).parts)
        module = importlib.import_module(f"{PACKAGE}.{folder}.kind")
        kind = module.KIND
        declared.append(kind)
        descriptions[kind.name] = " ".join((module.__doc__ or "").partition("\n\n")[0].split())
        folders[kind.name] = folder
    declared.sort(key=lambda kind: kind.name)
    api = importlib.import_module(f"{PACKAGE}._engine.api_resources")
    resources = {kind: item for kind, item in api.KINDS.items() if kind not in api.SERVED}
    for kind in declared:
        resources |= kind.resources
    for kind in declared:
        resources[kind.name] = api.ApiResource(kind.api_version, kind.plural, kind.is_namespaced)
    return Kinds(declared, descriptions, folders, resources)


# YAML


class Flow(list[Any]):
    """A list on one line."""


class FlowMap(dict[str, Any]):
    """A map on one line."""


class Anchored(list[Any]):
    """A list that is written once, and then referred to by the name of its anchor."""

    def __init__(self, name: str, items: Iterable[Any]) -> None:
        super().__init__(items)
        self.name = name


class Dumper(yaml.SafeDumper):
    """Writes YAML with indented lists and double quotes."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.names: dict[yaml.Node, str] = {}

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        del indentless  # also lists in maps
        super().increase_indent(flow)

    def choose_scalar_style(self) -> str:
        return '"' if (style := super().choose_scalar_style()) == "'" else style

    def ignore_aliases(self, data: Any) -> bool:
        return not isinstance(data, Anchored)

    def generate_anchor(self, node: yaml.Node) -> str:
        return self.names[node]

    def represent_anchored(self, data: Anchored) -> yaml.Node:
        node = self.represent_sequence("tag:yaml.org,2002:seq", data)
        self.names[node] = data.name
        return node

    def represent_flow(self, data: Flow) -> yaml.Node:
        return self.represent_sequence("tag:yaml.org,2002:seq", data, flow_style=True)

    def represent_flow_map(self, data: FlowMap) -> yaml.Node:
        return self.represent_mapping("tag:yaml.org,2002:map", data.items(), flow_style=True)


Dumper.add_representer(Anchored, Dumper.represent_anchored)
Dumper.add_representer(Flow, Dumper.represent_flow)
Dumper.add_representer(FlowMap, Dumper.represent_flow_map)
COMMENT = re.compile(r'^( *)- ("#.*")$', re.M)
BLANK = "#"
"""An item that stands for an empty line."""


def comments(*lines: str) -> list[str]:
    """Items that stand for comments before the next item."""
    return [f"# {line}".rstrip() for line in lines]


def dump(data: Any, *head: str, indent: int = 0) -> str:
    """The data as YAML, after comments."""
    text = yaml.dump(data, Dumper=Dumper, sort_keys=False, width=1000, allow_unicode=True)
    text = COMMENT.sub(lambda found: found[1] + json.loads(found[2]), text)
    text = text.replace(f"\n{BLANK}\n", "\n\n")
    lines = "".join(f"{line}\n" for line in comments(*head))
    return textwrap.indent(lines + text, " " * indent)


def words(text: str) -> Flow:
    """A list of words on one line."""
    return Flow(text.split())


# tables of the collection


def served_kinds(kinds: Kinds) -> str:
    """The table of `api_resources.py`."""

    def rows(names: Iterable[str]) -> Iterator[str]:
        for name in names:
            item = kinds.resources[name]
            values = (
                f'"{item.version}"',
                f'"{item.plural}"',
                str(item.is_namespaced),
                str(item.is_cached),
            )
            row = f'    "{name}": ({", ".join(values)}),\n'
            if len(row) > WIDTH + 1:
                row = (
                    f'    "{name}": (\n'
                    + "".join(f"        {value},\n" for value in values)
                    + "    ),\n"
                )
            yield row

    needed = sorted({name for kind in kinds.declared for name in kind.resources})
    body = "".join(rows(needed))
    return (
        f'{LICENSE}"""The kinds that we serve, and further kinds that they need. {GENERATED}"""\n\n'
        "from __future__ import annotations\n\n"
        "Row = tuple[str, str, bool, bool]\n"
        '"""apiVersion, plural, whether it is namespaced, whether it is read through the cache"""'
        "\n\n"
        "SERVED: dict[str, Row] = {\n"
        f"{''.join(rows(kind.name for kind in kinds.declared))}"
        "}\n"
        f"NEEDED: dict[str, Row] = {{{chr(10) + body if body else ''}}}\n"
        f"SHORT_NAMES: dict[str, str] = {{\n{short_names(kinds)}}}\n"
    )


def short_names(kinds: Kinds) -> str:
    """The rows of short names, with the kind of each."""
    return "".join(
        f'    "{short}": "{kind.name}",\n' for kind in kinds.declared for short in kind.short_names
    )


def registry(kinds: Kinds) -> str:
    """The table of `_kinds.py`."""
    rows = "".join(f'    "{name}": "{folder}",\n' for name, folder in sorted(kinds.folders.items()))
    return (
        f'{LICENSE}"""The kinds that we serve, each imported on first use. {GENERATED}"""\n\n'
        "from __future__ import annotations\n\n"
        "import typing as t\n"
        "from functools import cache\n"
        "from importlib import import_module\n\n"
        "from ._base.errors import NimError\n"
        "from ._base.types import Manifest\n"
        "from ._engine.kind import AnyKind\n"
        "from ._engine.reads import Read\n\n"
        f"_FOLDERS = {{\n{rows}}}\n\n\n"
        "def kind_names() -> list[str]:\n"
        '    """The kinds that we serve."""\n'
        "    return sorted(_FOLDERS)\n\n\n"
        "def kind_of(resource: t.Mapping[str, t.Any]) -> AnyKind:\n"
        '    """The kind of a custom resource; NimError if we do not serve it."""\n'
        '    kind = resource.get("kind")\n'
        "    if kind not in _FOLDERS:\n"
        "        raise NimError(f\"kind {kind!r} is not one of {', '.join(kind_names())}\")\n"
        "    return _load(kind)\n\n\n"
        "def assumed_objects() -> list[tuple[Read, Manifest]]:\n"
        '    """The objects that an unknown cluster is assumed to have."""\n'
        "    return [item for name in _FOLDERS for item in _load(name).assumed]\n\n\n"
        "@cache\n"
        "def _load(name: str) -> AnyKind:\n"
        '    module = import_module(f".{_FOLDERS[name]}.kind", __package__)\n'
        '    return t.cast("AnyKind", module.KIND)\n'
    )


# tables of nimops-apiproxy


def node_facts(kinds: Kinds) -> str:
    """The Go file with the kinds that depend on nodes, and the node metadata that they use."""
    listeners = [kind for kind in kinds.declared if kind.node_facts]
    facts = {kind.node_facts for kind in listeners}
    if len(facts) != 1:
        raise SystemExit("all kinds with node_facts must have the same")
    (fact,) = facts
    places = "".join(
        f"\t{{{quoted(kind.api_version, kind.name, f'/apis/{kind.api_version}/{kind.plural}')}}},\n"
        for kind in listeners
    )
    details = "".join(f"\t\t{quoted(name)},\n" for name in fact.labels)
    return (
        f"{LICENSE.replace('#', '//')}// Code generated by make generate. DO NOT EDIT.\n\n"
        'package nodes\n\nimport "regexp"\n\n'
        "// Listeners are the cluster-scoped kinds whose resources depend on nodes.\n"
        f"var Listeners = []Listener{{\n{places}}}\n\n"
        "const (\n"
        f"\tfeatures = {quoted(fact.prefix)}\n"
        f"\tpresent  = {quoted(fact.present)}\n"
        "\t// An annotation by which a user requests a new driver.\n"
        f"\trequested = {quoted(fact.request)}\n"
        ")\n\n"
        "var (\n"
        "\t// A label that means that a node has a GPU.\n"
        f"\tdeviceLabel = regexp.MustCompile(`^{fact.device}$`)\n"
        "\t// A node with any of these labels has, or had, parts of the GPU stack.\n"
        f"\tmarks = []string{{{quoted(*fact.marks)}}}\n"
        "\t// Further labels that matter if a node has a GPU.\n"
        f"\tdetails = []string{{\n{details}\t}}\n"
        ")\n"
    )


def quoted(*words: str) -> str:
    return ", ".join(map(json.dumps, words))


# watches and roles


def watches(kinds: Kinds) -> Iterator[tuple[str, str]]:
    """watches.yaml, and a file for each part, from which the supervisor composes another one."""
    parts = {name: watched_kinds(kinds, name) for name in kinds.included + kinds.components}
    for name, part in parts.items():
        yield f"watches-{name or BASE}.yaml", f"---\n{dump(part, GENERATED)}"
        by_role = watched_kinds(kinds, name, by_role=True)
        yield f"watches-{name or BASE}-by-role.yaml", f"---\n{dump(by_role, GENERATED)}"
    usual = [item for name in kinds.included for item in (BLANK, *parts[name])][1:]
    yield "watches.yaml", f"---\n{dump(usual, GENERATED)}"


def watched_kinds(kinds: Kinds, component: str, *, by_role: bool = False) -> list[Any]:
    """The entries of a part of the installation, with an anchor of its own, so that files can be joined."""
    watched = kinds.of(component)
    past = sorted(
        (item.group, name, item.version.rpartition("/")[2])
        for name, item in kinds.resources.items()
        if not item.is_cached and any(name in kinds_of(kind) for kind in watched)
    )
    blacklist = Anchored(
        f"{component or BASE}_past_the_cache",
        (FlowMap(group=group, version=version, kind=name) for group, name, version in past),
    )
    return [item for kind in watched for item in (BLANK, watch(kind, blacklist, by_role=by_role))][
        1:
    ]


def watch(kind: Any, blacklist: Anchored, *, by_role: bool) -> dict[str, Any]:
    """The entry of a kind."""
    role = {"role": f"nimops.nim.{kind.singular}"} if by_role else {}
    finalizer = {"name": kind.finalizer, **(role or {"playbook": "playbooks/finalize.yml"})}
    return {
        "group": kind.group,
        "version": kind.version,
        "kind": kind.name,
        **(role or {"playbook": "playbooks/reconcile.yml"}),
        **({"finalizer": finalizer} if kind.has_finalizer else {}),
        "reconcilePeriod": kind.reconcile_period,
        # The runtime's link `latest` counts as well, and ansible-runner's rotation fails on a link.
        "maxRunnerArtifacts": 5,
        "manageStatus": False,
        "snakeCaseParameters": False,
        "markUnsafe": True,
        "watchDependentResources": True,
        **({"watchAnnotationsChanges": True} if kind.watches_annotations else {}),
        "blacklist": blacklist,
    }


def kinds_of(kind: Any) -> set[str]:
    """The kinds of objects that a kind accesses."""
    return {access.kind for access in kind.access}


def role(kind: Any, about: str) -> Iterator[tuple[str, str]]:
    """The files of a role, from the templates in `hack/role`."""
    home, templates = f"roles/{kind.singular}", ROOT / "hack" / "role"
    runs_on_nodes = "DaemonSet" in kinds_of(kind)
    place = (
        "C(metadata.name) and C(metadata.namespace)" if kind.is_namespaced else "C(metadata.name)"
    )
    parts = {
        name: (templates / "tasks" / f"{name}.part.in").read_text() if runs_on_nodes else "\n"
        for name in ("daemonsets", "evict")
    }
    words = {
        **{f"@{name}@\n": text for name, text in parts.items()},
        "@namespace@": "        namespace: nim\n" if kind.is_namespaced else "",
        "@Kind@": kind.name,
        "@kind@": kind.singular,
        "@about@": about,
        "@api_version@": kind.api_version,
        "@group@": kind.group,
        "@one@": importlib.import_module(f"{PACKAGE}._engine.kind").with_article(kind.name),
        "@place@": place,
        "GENERATED": GENERATED,
    }
    for file in sorted(templates.rglob("*.in")):
        text = file.read_text()
        for word, value in words.items():
            text = text.replace(word, value)
        if not file.stem.endswith(".part"):
            yield f"{home}/{file.relative_to(templates).with_suffix('')}", text


# RBAC


@dataclass
class Grant:
    """Verbs on a resource, and why; names, if they are limited to some objects."""

    reasons: dict[str, set[str]] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)

    @property
    def verbs(self) -> set[str]:
        return set().union(*self.reasons.values())

    def add(self, verbs: Iterable[str], why: str, names: Iterable[str] = ()) -> None:
        self.reasons.setdefault(why, set()).update(verbs)
        self.names |= set(names)

    def without(self, other: Grant) -> Grant:
        """The verbs that another grant lacks."""
        held = set() if self.names - other.names else other.verbs
        reasons = {why: verbs - held for why, verbs in self.reasons.items() if verbs - held}
        return Grant(reasons, self.names)


def verbs_of(uses: str, resource: Any) -> set[str]:
    """The verbs for words of `USES`: server-side apply needs `patch`, and `create` for new objects."""
    read = {"get", "list", "watch"} if resource.is_cached else {"get"}
    meaning = {
        "read": read,
        "list": read | {"list"} if resource.is_cached else {"list"},
        "write": {"create", "patch"},
        "patch": {"patch"},
        "delete": {"delete"},
    }
    return {verb for use in uses.split() for verb in meaning[use]}


Target = tuple[str, str, bool]
"""group, resource, whether the rule is limited to some objects"""
Grants = dict[Target, Grant]


@dataclass
class Granted:
    """The permissions of the operator for some kinds."""

    inside: Grants = field(default_factory=dict)
    """Permissions in each namespace."""
    outside: Grants = field(default_factory=dict)
    """Permissions on cluster-scoped resources."""
    near: Grants = field(default_factory=dict)
    """Permissions in the operator's namespace only."""


def add(
    side: Grants, target: Target, verbs: Iterable[str], why: str, names: Iterable[str] = ()
) -> None:
    """Add verbs to a set of permissions."""
    if verbs := set(verbs):
        side.setdefault(target, Grant()).add(verbs, why, names)


def grants(kinds: Kinds, *components: str) -> Granted:
    """The permissions for some parts of the installation.

    Resources of config/default are in any namespace. The children of other components are in the operator's namespace,
    which limits writes, and reads that bypass the cache. Cached reads and lists apply to all namespaces.
    """
    is_near = not set(components) <= set(kinds.included)
    granted = Granted()
    scoped = {
        (item.group, item.plural) for item in kinds.resources.values() if not item.is_namespaced
    }
    near = granted.near if is_near else granted.inside
    for kind in kinds.of(*components):
        where = granted.inside if kind.is_namespaced else granted.outside
        own = {
            "": (
                f"get list watch patch{' update' * kind.has_finalizer}",
                f"the runtime watches it{', and sets its finalizer' * kind.has_finalizer}",
            ),
            "/status": (
                "patch update",
                "writes the status; the runtime reports invalid annotations there",
            ),
            "/finalizers": ("update", "owner references that block deletion"),
        }
        for part, (verbs, why) in own.items():
            target = (kind.group, f"{kind.plural}{part}", False)
            add(where, target, verbs.split(), f"{kind.name}: {why}")
        for access in kind.access:
            item = kinds.resources[access.kind]
            target, why = (item.group, item.plural, False), f"{kind.name}: {access.why}"
            needed = verbs_of(access.uses, item)
            far = needed & ({"get", "list", "watch"} if item.is_cached else {"list"})
            if not item.is_namespaced:
                add(granted.outside, target, needed, why)
            elif is_near:
                add(granted.inside, target, far, why)
                add(near, target, needed - far, why)
            else:
                add(granted.inside, target, needed, why)
        for rule in kind.rules:
            for name in rule.resources.split():
                target = (rule.group, name, bool(rule.names))
                side = near if rule.is_local else granted.inside
                side = granted.outside if (rule.group, name.partition("/")[0]) in scoped else side
                why = f"{kind.name}: {rule.why}"
                add(side, target, rule.verbs.split(), why, rule.names.split())
    if "" in components:
        why = "all: events, for `kubectl describe`"
        add(granted.inside, ("", "events", False), ("create", "patch"), why)
        why = "all: nimops-apiproxy reports problems of their pods"
        add(granted.inside, ("", "pods", False), ("list", "watch"), why)
    return granted


def rule(target: Target, grant: Grant) -> dict[str, Flow]:
    """A rule of a role."""
    group, resource, is_limited = target
    return {
        "apiGroups": Flow([group]),
        "resources": Flow([resource]),
        **({"resourceNames": Flow(sorted(grant.names))} if is_limited else {}),
        "verbs": Flow(verb for verb in VERBS if verb in grant.verbs),
    }


def rules(granted: Grants) -> list[Any]:
    """The rules, each after its reasons."""
    return [
        item
        for target, grant in sorted(granted.items(), key=lambda item: item[0])
        for item in (*comments(*grant.reasons), rule(target, grant))
    ]


def labels(component: str = "") -> dict[str, str]:
    """The labels of an object; kustomize adds the component in config/default."""
    return {
        "app.kubernetes.io/name": "nimops",
        "app.kubernetes.io/managed-by": "kustomize",
        **({"app.kubernetes.io/component": component} if component else {}),
    }


def role_manifest(
    name: str, granted: list[Any], namespace: str = "", component: str = ""
) -> dict[str, Any]:
    """A ClusterRole, or a Role in a namespace."""
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role" if namespace else "ClusterRole",
        "metadata": {
            "name": name,
            **({"namespace": namespace} if namespace else {}),
            "labels": labels(component),
        },
        "rules": granted,
    }


def operator_roles(kinds: Kinds) -> Iterator[tuple[str, str]]:
    """The permissions of the operator."""
    granted = grants(kinds, *kinds.included)
    yield (
        "config/rbac/role.yaml",
        dump(
            role_manifest(MANAGER, rules(granted.inside)),
            "The permissions of the operator, in all namespaces, or in one (config/overlays/namespaced).",
            f"{GENERATED} {REASONS}",
            "",
            "Children are written by server-side apply: this needs `patch`, and `create` if the object does not exist yet.",
            "Kinds that are read through the runtime's cache need get, list and watch; kinds in the blacklist of watches.yaml",
            "bypass the cache, and are read one by one. Only kinds that a pass may prune need `delete`.",
        ),
    )
    yield (
        "config/rbac/node_role.yaml",
        dump(
            role_manifest("node-role", rules(granted.outside)),
            "Cluster-scoped resources: omitted if the operator only works in some namespaces (config/overlays/namespaced).",
            GENERATED,
        ),
    )


# components: optional parts of the installation, with names as in the output of config/default


COMPONENT = {"apiVersion": "kustomize.config.k8s.io/v1alpha1", "kind": "Component"}
SWITCH = {
    "path": "switch.yaml",
    "target": FlowMap(kind="Deployment", name=f"{PREFIX}controller-manager"),
}


def component_files(kinds: Kinds, component: str) -> Iterator[tuple[str, str]]:
    """The files that an optional part of the installation adds to config/default."""
    home, of, granted = (
        f"config/components/{component}",
        kinds.of(component),
        grants(kinds, component),
    )
    name = f"{PREFIX}{component}-role"
    yield (
        f"{home}/role.yaml",
        dump(
            role_manifest(name, rules(granted.outside | granted.inside), component="rbac"),
            f"The permissions of the operator for {', '.join(kind.name for kind in of)} in the whole cluster.",
            GENERATED,
        )
        + "---\n"
        + dump(
            role_manifest(name, rules(granted.near), NAMESPACE, "rbac"),
            "The permissions in the operator's namespace, which contains their children.",
        ),
    )
    yield (
        f"{home}/role_binding.yaml",
        f"{dump(binding(name), GENERATED)}---\n{dump(binding(name, NAMESPACE))}",
    )
    for_users = [item for kind in of for item in user_roles(kind, home, PREFIX, "rbac")]
    yield from for_users
    files = [
        *("../../crd/bases", "role.yaml", "role_binding.yaml"),
        *comments(FOR_USERS),
        *(path.rpartition("/")[2] for path, _text in for_users),
    ]
    yield (
        f"{home}/kustomization.yaml",
        dump({**COMPONENT, "resources": files, "patches": [SWITCH]}, GENERATED),
    )
    variable = FlowMap(name="NIMOPS_COMPONENT", value=component)
    yield (
        f"{home}/switch.yaml",
        dump(
            [{"op": "add", "path": "/spec/template/spec/containers/0/env/-", "value": variable}],
            f"{GENERATED} {SWITCHES}",
        ),
    )


def included_files(kinds: Kinds, component: str) -> Iterator[tuple[str, str]]:
    """The components that omit a part of config/default, and that restore it."""
    kept = [name for name in kinds.included if name != component]
    base, needed = (grants(kinds, *names).inside for names in (kept, [component]))
    names = ", ".join(kind.name for kind in kinds.of(component))
    yield from switch_files(
        f"without-{component}",
        (f"Leaves out {names}.", "Their definitions and the roles for users stay."),
        [{"op": "replace", "path": "/rules", "value": rules(base)}],
        (component, "off"),
    )
    more = {key: grant.without(base.get(key, Grant())) for key, grant in sorted(needed.items())}
    yield from switch_files(
        component,
        (f"Brings back {names},", f"which config/components/without-{component} leaves out."),
        [
            item
            for key, grant in more.items()
            if grant.reasons
            for item in (
                *comments(*grant.reasons),
                {"op": "add", "path": "/rules/-", "value": FlowMap(rule(key, grant))},
            )
        ],
        (component, "on"),
    )


def switch_files(
    name: str, about: Iterable[str], patch: list[Any], switch: tuple[str, str]
) -> Iterator[tuple[str, str]]:
    """A component that changes the operator's role and one of its variables."""
    home, (component, value) = f"config/components/{name}", switch
    role_patch = {"path": "role.yaml", "target": FlowMap(name=f"{PREFIX}{MANAGER}")}
    patches = [
        *comments("A ClusterRole or, with config/overlays/namespaced, a Role."),
        role_patch,
        SWITCH,
    ]
    yield (
        f"{home}/kustomization.yaml",
        dump({**COMPONENT, "patches": patches}, *about, GENERATED),
    )
    yield f"{home}/role.yaml", dump(patch, f"{GENERATED} {REASONS}")
    variable = {"name": f"NIMOPS_{component.upper()}", "value": value}
    pod = {"containers": [{"name": "manager", "env": [variable]}]}
    yield (
        f"{home}/switch.yaml",
        dump(
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": f"{PREFIX}controller-manager"},
                "spec": {"template": {"spec": pod}},
            },
            f"{GENERATED} {SWITCHES}",
        ),
    )


def binding(role: str, namespace: str = "") -> dict[str, Any]:
    """Bind a role to the operator."""
    kind = "Role" if namespace else "ClusterRole"
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": f"{kind}Binding",
        "metadata": {
            "name": f"{role}binding",
            **({"namespace": namespace} if namespace else {}),
            "labels": labels("rbac"),
        },
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
        "subjects": [
            {
                "kind": "ServiceAccount",
                "name": f"{PREFIX}controller-manager",
                "namespace": NAMESPACE,
            }
        ],
    }


def user_roles(
    kind: Any, home: str = "config/rbac", prefix: str = "", component: str = ""
) -> Iterator[tuple[str, str]]:
    """Roles for users."""
    for role_name, verbs in USER_VERBS.items():
        scaling = " ".join(verb for verb in SCALE_VERBS if verb in verbs.split())
        granted = [
            {"apiGroups": Flow([kind.group]), "resources": Flow([resource]), "verbs": words(text)}
            for resource, text in (
                (kind.plural, verbs),
                (f"{kind.plural}/status", "get"),
                *([(f"{kind.plural}/scale", scaling)] if kind.is_scalable else []),
            )
        ]
        name = f"{kind.singular}-{role_name}-role"
        yield (
            f"{home}/{name.replace('-', '_')}.yaml",
            dump(role_manifest(f"{prefix}{name}", granted, component=component), GENERATED),
        )


def kustomizations(kinds: Kinds) -> Iterator[tuple[str, str]]:
    """The kustomization files with lists of files."""
    roles = [
        *("service_account.yaml", "role.yaml", "role_binding.yaml"),
        *("node_role.yaml", "node_role_binding.yaml"),
        *("leader_election_role.yaml", "leader_election_role_binding.yaml"),
        *comments(FOR_USERS),
        *(
            f"{kind.singular}_{role_name}_role.yaml"
            for kind in kinds.of(*kinds.included)
            for role_name in USER_VERBS
        ),
    ]
    pairs = {"app.kubernetes.io/component": "rbac"}
    yield (
        "config/rbac/kustomization.yaml",
        dump({"resources": roles, "labels": [{"pairs": pairs}]}, GENERATED),
    )
    bases = [f"bases/{file}" for file in definitions(kinds.of(*kinds.included))]
    # By it, a later installation recognizes a newer definition: _commands/install/definitions.py.
    galaxy = load_yaml((ROOT / "galaxy.yml").read_text())
    release = {"commonAnnotations": {"nimops.nim/operator-version": galaxy["version"]}}
    yield "config/crd/kustomization.yaml", dump({"resources": bases, **release}, GENERATED)
    if files := definitions(kinds.of(*kinds.components)):
        # kustomize reads no file above its folder, and `kubectl apply -f` no file without a suffix.
        about = "The definitions of config/components; ../kustomization.yaml lists the others."
        yield (
            "config/crd/bases/Kustomization",
            dump({"resources": files, **release}, f"{about} {GENERATED}"),
        )
    samples = sorted((ROOT / "config/samples").glob("*.yaml"))
    listed = [file.name for file in samples if file.stem != "kustomization"]
    yield (
        "config/samples/kustomization.yaml",
        dump(
            {"namespace": "nim", "resources": listed},
            "Examples, one per use case; apply the ones you want with kubectl apply -n <namespace> -f.",
            GENERATED,
        ),
    )


def definitions(of: Iterable[Any]) -> list[str]:
    """The file names of CRDs."""
    return sorted(f"{kind.group}_{kind.plural}.yaml" for kind in of)


def annotations_policy(kinds: Kinds) -> str:
    """The policy on the runtime's annotations, for the resources of our kinds."""
    groups: dict[str, list[str]] = {}
    for kind in kinds.declared:
        groups.setdefault(kind.group, []).append(kind.plural)
    checked = [
        checked_rule(group, "CREATE UPDATE", plurals) for group, plurals in sorted(groups.items())
    ]
    text = (ROOT / ANNOTATIONS_POLICY).read_text()
    head, _rules, rest = RULES_OF_POLICY.split(text)
    return f"{head}{resource_rules(checked)}{rest}"


def checked_rule(group: str, operations: str, resources: list[str]) -> dict[str, Any]:
    """The rule of a policy for some resources."""
    return {
        "apiGroups": Flow([group]),
        "apiVersions": Flow(["*"]),
        "operations": words(operations),
        "resources": resources,
    }


def resource_rules(checked: list[dict[str, Any]]) -> str:
    """The part of a policy with the rules."""
    return dump({"resourceRules": checked}, indent=4)


HARMLESS = {
    ("", "events"): "users only read them",
    ("", "nodes"): "labels, annotations and spec.unschedulable",
    ("", "pods/eviction"): "an eviction honors budgets, like a drain",
}
"""Resources that the operator may write, but the policy on its account does not check. Subresources of its own kinds are exempt as well."""

NEVER = {
    ("", "pods/attach"): "CONNECT",
    ("", "pods/ephemeralcontainers"): "UPDATE",
    ("", "pods/exec"): "CONNECT",
    ("", "serviceaccounts/token"): "CREATE",
}
"""Resources that would give the operator permissions of other accounts, should a role ever grant them."""


def checked_resources(kinds: Kinds) -> list[tuple[str, str]]:
    """The resources that the operator may write, in all parts of the installation, except harmless ones."""
    own = {(kind.group, kind.plural) for kind in kinds.declared}
    written = set()
    for component in (*kinds.included, *kinds.components):
        granted = grants(kinds, component)
        for side in (granted.inside, granted.outside, granted.near):
            for (group, resource, _names), grant in side.items():
                whole, _slash, part = resource.partition("/")
                is_own_part = part in ("status", "finalizers") and (group, whole) in own
                if grant.verbs & {"create", "update", "patch", "delete"} and not is_own_part:
                    written.add((group, resource))
    return sorted(written - HARMLESS.keys())


def account_rules(kinds: Kinds) -> list[dict[str, Any]]:
    """The rules of the policy on the operator's account."""
    groups: dict[tuple[str, str], list[str]] = {}
    for group, resource in checked_resources(kinds):
        groups.setdefault((group, "CREATE UPDATE DELETE"), []).append(resource)
    for (group, resource), operation in NEVER.items():
        groups.setdefault((group, operation), []).append(resource)
    return [checked_rule(*key, resources) for key, resources in groups.items()]


def account_policy(kinds: Kinds) -> str:
    """The policy on the operator's account: its rules, and the owners whose objects the account may write."""
    shared = importlib.import_module(f"{PACKAGE}._builders.nim_metadata").CACHE_NAMES
    near = [kind for kind in kinds.declared if kind.is_namespaced]
    far = [kind for kind in kinds.declared if not kind.is_namespaced]
    lists = {
        "owners": [f"{kind.api_version}/{kind.name}" for kind in near],
        "clusterOwners": [f"{kind.api_version}/{kind.name}" for kind in far],
        "ownerTypes": [f"{kind.name}.{kind.group}" for kind in near],
        "ownResources": [f"{kind.group}/{kind.plural}" for kind in kinds.declared],
        "sharedNames": list(shared),
    }
    head, _rules, text = RULES_OF_POLICY.split((ROOT / ACCOUNT_POLICY).read_text())
    for name, items in lists.items():
        listed = ",\n".join(f"        '{item}'" for item in items)
        pattern = re.compile(LIST_OF_POLICY % name, re.M)
        text = pattern.sub(f">-\n        [\n{listed}\n        ]\n", text)
    return f"{head}{resource_rules(account_rules(kinds))}{text}"


def generate(kinds: Kinds) -> dict[str, str]:
    """Path → content."""
    files = {
        "plugins/module_utils/_engine/served_kinds.py": served_kinds(kinds),
        "plugins/module_utils/_kinds.py": registry(kinds),
        ANNOTATIONS_POLICY: annotations_policy(kinds),
        ACCOUNT_POLICY: account_policy(kinds),
    }
    if any(kind.node_facts for kind in kinds.declared):
        files["packages/nimops-apiproxy/internal/nodes/declared.go"] = node_facts(kinds)
    for kind in kinds.declared:
        files |= dict(role(kind, kinds.descriptions[kind.name]))
        if kind.component in kinds.included:
            files |= dict(user_roles(kind))
    for component in kinds.components:
        files |= dict(component_files(kinds, component))
    for component in filter(None, kinds.included):
        files |= dict(included_files(kinds, component))
    return files | dict(watches(kinds)) | dict(operator_roles(kinds)) | dict(kustomizations(kinds))


def main() -> int:
    options = make_parser(__doc__ or "").parse_args()
    files = {ROOT / name: text for name, text in generate(load()).items()}
    for path in find_stale(files) if options.check else ():
        old = path.read_text().splitlines() if path.is_file() else []
        new, name = files[path].splitlines(), str(path.relative_to(ROOT))
        print("\n".join(difflib.unified_diff(old, new, name, "declared", lineterm="")))
    return update(files, check=options.check)


if __name__ == "__main__":
    sys.exit(main())
