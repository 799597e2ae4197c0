# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Collects the content of a report from live objects."""

from __future__ import annotations

import typing as t
from collections import defaultdict
from dataclasses import replace

from ..._base.types import Json
from ..._engine.metadata import controller_of
from ..._nim.cache_spec import named_cache
from ..._nim.pipeline.spec import parse_spec
from ..gather.redact import Redactor
from ..gather.related_objects import list_references
from ..plan import diff
from ..plan.preview import Preview
from ..status.status_table import Line
from ..text import name_of, summarize
from .advice import find_advice
from .model import Cache, Change, GraphNode, Pipeline, Plan, Resource, Volume

_OFF = "Off"
_CLAIM, _CACHE, _SERVICE = "PersistentVolumeClaim", "NIMCache", "NIMService"
_MAX_DIFF_LINES = 60
_MAX_DIFFS = 400 << 10
"""Characters of all diffs."""

Place = tuple[str, str]
"""Namespace and name."""


def collect_resources(lines: t.Iterable[Line]) -> tuple[Resource, ...]:
    """The rows of `status`, with advice."""
    return tuple(Resource(line, _advise(line)) for line in lines)


def _advise(line: Line) -> tuple[t.Any, ...]:
    if line.state == "Ready" and not line.reason:
        return ()
    return find_advice(line.kind, line.state, line.reason, line.message)


def collect_caches(resources: t.Iterable[Json], lines: t.Iterable[Line]) -> tuple[Cache, ...]:
    """The NIMCaches, and what uses each."""
    items = list(resources)
    users: dict[Place, list[str]] = defaultdict(list)
    for item in items:
        if item["kind"] in (_SERVICE, "NIMBuild") and (name := named_cache(item)):
            users[_place(item)[0], name].append(_name(item))
    profiles = {
        _place(item): len((item.get("status") or {}).get("profiles") or [])
        for item in items
        if item["kind"] == _CACHE
    }
    return tuple(
        Cache(
            line.namespace,
            line.name,
            line.state,
            line.model,
            profiles.get((line.namespace, line.name), 0),
            line.endpoint.removeprefix("pvc/"),
            tuple(sorted(users[line.namespace, line.name])),
        )
        for line in lines
        if line.kind == _CACHE
    )


def collect_volumes(
    claims: t.Iterable[Json], resources: t.Iterable[Json], workloads: t.Iterable[Json]
) -> tuple[Volume, ...]:
    """The claims that custom resources name, control, or mount through a workload."""
    users: dict[Place, set[str]] = defaultdict(set)
    for item in (*resources, *workloads):
        owner = _owner(item)
        for kind, name in list_references(item):
            if kind == _CLAIM:
                users[_place(item)[0], name].add(owner)
        if pvc := (item.get("status") or {}).get("pvc"):
            users[_place(item)[0], str(pvc)].add(owner)
    found = list(claims)
    for claim in found:
        if (controller := controller_of(claim)) and _place(claim) in users:
            users[_place(claim)].add(f"{controller['kind']} {controller['name']}")
    return tuple(
        _volume_of(claim, sorted(users[_place(claim)]))
        for claim in sorted(found, key=_place)
        if _place(claim) in users
    )


def _volume_of(claim: Json, users: t.Iterable[str]) -> Volume:
    spec, status = claim.get("spec") or {}, claim.get("status") or {}
    wanted = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    return Volume(
        *_place(claim),
        str(status.get("phase") or ""),
        str((status.get("capacity") or {}).get("storage") or wanted or ""),
        ", ".join(map(str, spec.get("accessModes") or [])),
        str(spec.get("storageClassName") or ""),
        tuple(users),
    )


def collect_pipelines(resources: t.Iterable[Json], lines: t.Iterable[Line]) -> tuple[Pipeline, ...]:
    """The NIMPipelines as graphs: services, what they depend on, and their caches."""
    states = {(line.kind, line.namespace, line.name): line.state for line in lines}
    return tuple(
        _pipeline_of(item, states)
        for item in sorted(resources, key=_place)
        if item["kind"] == "NIMPipeline"
    )


def _pipeline_of(item: Json, states: t.Mapping[tuple[str, str, str], str]) -> Pipeline:
    namespace, name = _place(item)
    nodes: dict[tuple[str, str], GraphNode] = {}
    edges: list[tuple[tuple[str, str], tuple[str, str]]] = []

    def add(kind: str, other: str, *, is_on: bool = True) -> tuple[str, str]:
        state = states.get((kind, namespace, other), "") if is_on else _OFF
        nodes.setdefault((kind, other), GraphNode(kind, other, state))
        return kind, other

    entries = {entry.name: entry for entry in parse_spec(item).entries if entry.name}
    for entry in entries.values():
        add(_SERVICE, entry.name, is_on=entry.is_enabled)
    for entry in entries.values():
        own = (_SERVICE, entry.name)
        edges += [(own, add(_SERVICE, other)) for other in entry.dependencies if other != own[1]]
        if cache := named_cache({"spec": entry.service_spec}):
            edges.append((own, add(_CACHE, cache)))
    order = {key: index for index, key in enumerate(nodes)}
    return Pipeline(
        namespace,
        name,
        states.get(("NIMPipeline", namespace, name), ""),
        tuple(nodes.values()),
        tuple(dict.fromkeys((order[user], order[used]) for user, used in edges)),
    )


def collect_plan(found: Preview, redactor: Redactor) -> Plan:
    """The changes of the next reconcile, without credentials.

    Long diffs are cut, and omitted once all are too large.
    """
    changes: list[Change] = []
    size = omitted = 0
    for item in found.changes:
        text = _diff_of(item, redactor)
        if size + len(text) > _MAX_DIFFS:
            text, omitted = "", omitted + 1
        size += len(text)
        parent = "" if item.parent == item.key else name_of(item.parent)
        changes.append(Change(item.action, name_of(item.key), parent, text, item.restarts))
    problems = found.simulated.problems.items()
    return Plan(
        summarize(found.changes),
        tuple(changes),
        tuple((name_of(key), text) for key, texts in problems for text in texts),
        omitted,
    )


def _diff_of(item: diff.Change, redactor: Redactor) -> str:
    if item.action != diff.CHANGE:
        return ""
    shown = replace(
        item,
        before=redactor.redact_object(item.before),
        after=redactor.redact_object(item.after),
    )
    lines = shown.diff().splitlines()
    if not lines:
        return "only redacted values differ"
    more = len(lines) - _MAX_DIFF_LINES
    return "\n".join(lines[:_MAX_DIFF_LINES] + ([f"… and {more} more lines"] if more > 0 else []))


def _place(item: Json) -> Place:
    return item["metadata"].get("namespace") or "", item["metadata"]["name"]


def _name(item: Json) -> str:
    return f"{item['kind']} {item['metadata']['name']}"


def _owner(item: Json) -> str:
    """The custom resource: an object's controller, otherwise the object itself."""
    controller = controller_of(item)
    is_child = controller and item["kind"] != _SERVICE
    return f"{controller['kind']} {controller['name']}" if controller and is_child else _name(item)
