# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A spec is read where it is parsed, in `spec.py` of a kind or `*_spec.py` of a family, and nowhere else."""

from __future__ import annotations

import ast
import enum
import typing as t
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4] / "plugins/module_utils"
FOLDERS = ("_builders", "_gpu", "_nemo", "_nim")

RESOURCES = {"cache", "cr", "custom_resource", "resource"}
"""Names of variables with a custom resource."""
PLAIN = {"env", "ports"}
"""Attributes of a parsed spec whose keys are names, or fields of Kubernetes."""
OURS = {
    "_builders/app.py": 1,  # labels and annotations, which every kind has
    "_builders/expose.py": 2,  # the same
    "_builders/within_limits.py": 2,  # all that a spec contains, whatever its kind
    "_nim/service/kserve/scaling.py": 3,  # a HorizontalPodAutoscaler's fields, as Kubernetes has them
}
"""Module → how many reads of custom resources, or by key of a parsed spec, are right there."""
OTHERS = {
    "_builders/autoscaler.py": "workloads and autoscalers",
    "_builders/deployment.py": "Deployments",
    "_builders/expose.py": "Ingresses",
    "_builders/inputs.py": "Deployments",
    "_builders/pod.py": "templates of pods",
    "_builders/pod_templates.py": "templates of pods",
    "_builders/pvc.py": "PersistentVolumeClaims",
    "_builders/rollout.py": "Deployments",
    "_builders/traffic.py": "Services",
    "_builders/within_limits.py": "Ingresses and routes",
    "_gpu/clusterpolicy/operands/dcgm.py": "Services",
    "_gpu/clusterpolicy/runtimes.py": "the DaemonSet of the toolkit",
    "_gpu/driver/license.py": "DaemonSets and pods",
    "_gpu/preserve_live.py": "DaemonSets",
    "_gpu/upgrade/pods.py": "pods",
    "_gpu/upgrade/revisions.py": "ControllerRevisions",
    "_gpu/upgrade/snapshot.py": "nodes and pods",
    "_gpu/upgrade/services.py": "workloads and pods",
    "_gpu/daemonset_problems.py": "pods",
    "_gpu/node_problems.py": "nodes and DaemonSets",
    "_nemo/status.py": "Deployments",
    "_nim/build/profiles.py": "pods",
    "_nim/cache/download_status.py": "Jobs",
    "_nim/cache/job.py": "Jobs",
    "_nim/dra/applied.py": "Deployments",
    "_nim/dra/templates.py": "ResourceClaimTemplates",
    "_nim/service/compute_domain.py": "ComputeDomains",
    "_nim/service/endpoint_picker/config.py": "Deployments",
    "_nim/service/endpoint_picker/deployment.py": "Deployments",
    "_nim/service/endpoints.py": "Services and Ingresses",
    "_nim/service/expose/service.py": "Services",
    "_nim/service/kserve/children.py": "InferenceServices",
    "_nim/service/kserve/predictor.py": "InferenceServices",
    "_nim/service/multi_node/leader_worker_set.py": "LeaderWorkerSets",
    "_nim/service/readiness.py": "LeaderWorkerSets",
    "_nim/service/workload.py": "workloads",
}
"""Module → the objects, other than our custom resources, whose `spec` it reads."""


class Origin(enum.Enum):
    """The origin of an expression."""

    RESOURCE = enum.auto()
    """A custom resource of ours."""
    FIELDS = enum.auto()
    """Its spec, raw or parsed."""
    UNKNOWN = enum.auto()
    """Another object, as far as we know."""


Names = t.Mapping[str, Origin]


class Reading(t.NamedTuple):
    """A read by a constant key."""

    line: int
    key: str
    origin: Origin


def keyed(node: ast.AST) -> tuple[ast.expr, str] | None:
    """The object that a node reads, and the key."""
    match node:
        case ast.Subscript(value=value, slice=ast.Constant(value=str(key)), ctx=ast.Load()):
            return value, key
        case ast.Call(
            func=ast.Attribute(value=value, attr="get" | "pop"),
            args=[ast.Constant(value=str(key)), *_],
        ):
            return value, key
    return None


def origin_of(node: ast.AST, names: Names) -> Origin:
    """The origin of an expression, given those of variables."""
    match node:
        case ast.Name(id=name):
            return names.get(name, Origin.UNKNOWN)
        case ast.Attribute(attr="resource"):
            return Origin.RESOURCE
        case (
            ast.Attribute(attr="spec")
            | ast.Attribute(attr="fields", value=ast.Name(id="app" | "self"))
        ):
            return Origin.FIELDS
    found = (origin_of(item, names) for item in sources_of(node))
    return next((origin for origin in found if origin is not Origin.UNKNOWN), Origin.UNKNOWN)


def sources_of(node: ast.AST) -> list[ast.expr]:
    """The expressions that an expression takes its value from."""
    found: list[ast.expr] = []
    match node:
        case ast.Attribute(attr=name) if name in PLAIN:
            pass
        case (
            ast.Attribute(value=value)
            | ast.Subscript(value=value)
            | ast.NamedExpr(value=value)
            | ast.Call(func=ast.Attribute(attr="cast"), args=[_, value])
            | ast.Call(func=ast.Attribute(value=value, attr="get" | "pop" | "items" | "values"))
        ):
            found = [value]
        case ast.BoolOp(values=values) | ast.Tuple(elts=values):
            found = values
        case ast.IfExp(body=body, orelse=other):
            found = [body, other]
        case ast.Dict(keys=keys, values=values):
            found = [value for key, value in zip(keys, values, strict=True) if key is None]
    return found


def names_in(function: ast.AST) -> dict[str, Origin]:
    """The variables of a function that are a custom resource or part of it."""
    names = dict.fromkeys(RESOURCES, Origin.RESOURCE)
    for node in ast.walk(function):
        pairs: list[tuple[ast.expr, ast.expr]] = []
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                pairs = list(zip(targets, values, strict=False))
            case (
                ast.Assign(targets=[target], value=value)
                | ast.AnnAssign(target=target, value=ast.expr() as value)
                | ast.NamedExpr(target=target, value=value)
                | ast.For(target=target, iter=value)
                | ast.comprehension(target=target, iter=value)
            ):
                pairs = [(target, value)]
        for target, value in pairs:
            origin = origin_of(value, names)
            if isinstance(target, ast.Name) and origin is not Origin.UNKNOWN:
                names[target.id] = origin
    return names


def parsed_in(tree: ast.AST) -> set[ast.AST]:
    """The whole specs that are passed to a parser."""
    calls = [item for item in ast.walk(tree) if isinstance(item, ast.Call)]
    return {
        node
        for call in calls
        if isinstance(call.func, ast.Name) and call.func.id.startswith("parse_")
        for value in call.args
        for node in (value.values if isinstance(value, ast.BoolOp) else [value])
    }


def raw_reads(text: str) -> set[Reading]:
    """The reads of `spec`, of whatever, and those of any key within a spec."""
    tree = ast.parse(text)
    parsed = parsed_in(tree)
    functions = [item for item in ast.walk(tree) if isinstance(item, ast.FunctionDef | ast.Lambda)]
    found: dict[tuple[int, int, str], Reading] = {}
    for scope in (tree, *functions):
        names = {} if scope is tree else names_in(scope)
        for node in ast.walk(scope):
            read = keyed(node)
            if not read or node in parsed:
                continue
            value, key = read
            place = t.cast("ast.expr", node)
            origin = origin_of(value, names)
            if origin is Origin.FIELDS or key == "spec":
                known = found.get(at := (place.end_lineno or 0, place.end_col_offset or 0, key))
                if known is None or known.origin is Origin.UNKNOWN:
                    found[at] = Reading(place.lineno, key, origin)
    return set(found.values())


def faults(module: str, text: str) -> list[str]:
    """The reads that should not be in a module, unless as many are allowed there."""
    reads = raw_reads(text)
    if module in OTHERS:
        reads = {item for item in reads if item.origin is not Origin.UNKNOWN}
    if len(reads) <= OURS.get(module, 0):
        return []
    return [
        f"{module}:{item.line}: {item.key}, {item.origin.name}" for item in sorted(reads, key=str)
    ]


def is_parser(file: Path) -> bool:
    return file.stem == "spec" or file.stem.endswith("_spec")


MODULES = {
    file.relative_to(ROOT).as_posix(): file.read_text()
    for folder in FOLDERS
    for file in sorted((ROOT / folder).rglob("*.py"))
    if not is_parser(file)
}


@pytest.mark.parametrize("module", MODULES)
def test_spec_is_only_read_in_parsers(module: str) -> None:
    assert faults(module, MODULES[module]) == []


@pytest.mark.parametrize("module", MODULES)
def test_find_reads_detects_new_read(module: str) -> None:
    text = f"{MODULES[module]}\n\ndef more(app):\n    return app.resource['spec']['x']\n"
    assert faults(module, text)


@pytest.mark.parametrize(
    "code",
    [
        "return app.resource['spec']['x']",
        "return app.resource.get('spec')",
        "return (app.resource.get('spec') or {}).get('x')",
        "found = app.resource; return found['spec']",
        "found: dict = {**app.resource}; return found['spec']",
        "return [item['spec'] for item in (app.resource,)]",
        "if (found := app.resource): return found['spec']",
        "return cr['spec']['x']",
        "return t.cast('Fields', app.resource['spec'])",
        "return app.live('NIMCache', 'x')['spec']",
        "return app.fields['x']",
        "return self.fields.get('x')",
        "return app.spec['x']",
        "return app.spec.storage.get('x')",
        "spec, more = app.spec, 1; return spec.storage['x']",
        "given = app.spec.expose.picker or {}; return given.get('x')",
        "return [item.get('x') for item in app.spec.entries]",
        "return {**app.spec.fields}['x']",
        "return parse_image(app.resource['spec']['image'])",
    ],
)
def test_find_reads_positive(code: str) -> None:
    assert faults("_nim/x.py", f"def f(app, cr, self):\n    {code}")


@pytest.mark.parametrize(
    "code",
    [
        "return app.spec.storage.claim",
        "return app.resource['metadata']['name']",
        "return app.spec.annotations.get(NAME)",
        "return app.spec.expose.ports['api']",
        "return [item['name'] for item in app.spec.env]",
        "return {'spec': {'x': 1}}",
        "made['spec'] = {}",
        "return live['status']['x']",
    ],
)
def test_find_reads_negative(code: str) -> None:
    assert faults("_nim/x.py", f"def f(app, live):\n    {code}") == []


@pytest.mark.parametrize("module", [*OURS, *OTHERS])
def test_allowed_reads_exist(module: str) -> None:
    found = [item.origin for item in raw_reads(MODULES[module])]
    others = found.count(Origin.UNKNOWN)
    assert others or module not in OTHERS
    assert len(found) - others == OURS.get(module, len(found) - others)
