# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Detects that the API server serves a kind by another CRD, and so drops fields.

The API server drops unknown fields of a spec before it stores it, so users do not see why a setting
has no effect. It also drops fields of the status, which are then not written again in each pass.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace

from .._base.types import Fields, Json
from .conditions import condition, drop_condition, find_condition, set_condition
from .desired import Assessment, Event
from .kind import AnyKind
from .reads import Read, Source
from .schemas import load_schema

FIELDS_DROPPED = "FieldsDropped"
"""The condition type while the API server drops fields."""

_REASON, _CRD = "ForeignCRD", "CustomResourceDefinition"
_OPEN = "x-kubernetes-preserve-unknown-fields"
_MAX_NAMED, _MAX_KEPT = 5, 50

Tree = t.Optional[dict[str, t.Any]]  # noqa: UP045 Python evaluates this alias
"""The known fields of a value: name → their trees; None if all are known."""


@dataclass(frozen=True)
class ReadServedSchema(Read):
    """How the served CRD of a kind differs from ours; all passes share the answer.

    Answer: {"missing": paths in the spec, "count": int, "status": `Tree`}, or [] if it is unknown.
    """

    kind: str
    crd: str
    version: str
    is_lasting = True
    is_optional = True

    @property
    def key(self) -> str:
        return f"{_CRD}/{self.crd}#fields"

    def answer(self, source: Source) -> t.Any:
        found = source.get(_CRD, "", self.crd) or {}
        for item in (found.get("spec") or {}).get("versions") or []:
            if item.get("name") == self.version:
                served = (item.get("schema") or {}).get("openAPIV3Schema") or {}
                return _compare(load_schema(self.kind), served)
        return []


def served_schema(kind: AnyKind) -> ReadServedSchema:
    """The read of the served CRD of a kind."""
    return ReadServedSchema(kind.name, f"{kind.plural}.{kind.group}", kind.version)


def report_dropped_fields(
    kind: AnyKind, resource: Json, answers: Fields, assessment: Assessment, status: Json
) -> Assessment:
    """The assessment with the condition `FieldsDropped`, and an event when it appears.

    ``status``: the complete status.
    """
    read = served_schema(kind)
    answer = answers.get(read.key) or {}
    paths = [*answer.get("missing", ()), *_dropped(status, answer.get("status"), "status")]
    conditions = assessment.status.get("conditions") or []
    present = find_condition(conditions, FIELDS_DROPPED)
    if not paths:
        is_solved = present and read.key in answers
        kept = drop_condition(conditions, FIELDS_DROPPED) if is_solved else conditions
        return _with_conditions(assessment, kept) if is_solved else assessment
    count = answer.get("count", 0) + len(paths) - len(answer.get("missing", ()))
    message = _message(read.crd, paths, count)
    events = list(assessment.events)
    if not present and _is_news(resource, status, answer.get("status")):
        events.append(Event("Warning", _REASON, message))
    found = condition(FIELDS_DROPPED, True, _REASON, message)
    return replace(_with_conditions(assessment, set_condition(conditions, found)), events=events)


def without_dropped(kind: AnyKind, answers: Fields, status: Json) -> Json:
    """The status without the fields that the API server drops."""
    answer = answers.get(served_schema(kind).key) or {}
    return t.cast(Json, _prune(status, answer.get("status")))


def _with_conditions(assessment: Assessment, conditions: list[Json]) -> Assessment:
    return replace(assessment, status={**assessment.status, "conditions": conditions})


def _is_news(resource: Json, status: Json, known: Tree) -> bool:
    """Whether to emit an event: without conditions, only a change of the state shows that."""
    if known is None or "conditions" in known:
        return True
    return (resource.get("status") or {}).get("state") != status.get("state")


def _message(crd: str, paths: t.Sequence[str], count: int) -> str:
    groups = _by_parent(paths)[:_MAX_NAMED]
    named = [_join(group) for group in groups]
    if rest := count - sum(map(len, groups)):
        named.append(f"{rest} more")
    return (
        f"{_CRD} {crd} is not that of this operator, so the API server drops fields:"
        f" {', '.join(named)}; apply the CRDs of this operator"
    )


def _by_parent(paths: t.Sequence[str]) -> list[list[str]]:
    """The paths in groups that differ in the parent of the field only."""
    groups: dict[tuple[str, str], list[str]] = {}
    for path in paths:
        parent, _dot, name = path.rpartition(".")
        groups.setdefault((parent.rpartition(".")[0], name), []).append(path)
    return list(groups.values())


def _join(group: t.Sequence[str]) -> str:
    """The paths of a group as one, such as `spec.{dcgm,driver}.hostNetwork`."""
    if len(group) == 1:
        return group[0]
    above, _parent, name = group[0].rsplit(".", 2)
    return f"{above}.{{{','.join(path.rsplit('.', 2)[1] for path in group)}}}.{name}"


def _compare(ours: Json, served: Json) -> Json:
    """The answer to `ReadServedSchema`."""
    parts = (item.get("properties") or {} for item in (ours, served))
    mine, theirs = (part.get("spec") or {} for part in parts)
    missing = list(_missing(mine, theirs, "spec"))
    status = _tree((served.get("properties") or {}).get("status") or {})
    return {"missing": missing[:_MAX_KEPT], "count": len(missing), "status": status}


def _missing(ours: Fields, theirs: Fields, path: str) -> t.Iterator[str]:
    """The paths of fields that their schema lacks; not of those below."""
    if theirs.get(_OPEN):
        return
    known = theirs.get("properties") or {}
    for name, child in sorted((ours.get("properties") or {}).items()):
        if name in known:
            yield from _missing(child, known[name], f"{path}.{name}")
        elif not theirs.get("additionalProperties"):
            yield f"{path}.{name}"
    if "items" in ours and "items" in theirs:
        yield from _missing(ours["items"], theirs["items"], f"{path}[]")


def _tree(schema: Fields) -> Tree:
    if "items" in schema:
        return _tree(schema["items"])
    if schema.get(_OPEN) or schema.get("additionalProperties") or "properties" not in schema:
        return None
    return {name: _tree(child) for name, child in schema["properties"].items()}


def _prune(value: t.Any, known: Tree) -> t.Any:
    if known is None:
        return value
    if isinstance(value, dict):
        return {key: _prune(item, known[key]) for key, item in value.items() if key in known}
    if isinstance(value, list):
        return [_prune(item, known) for item in value]
    return value


def _dropped(value: t.Any, known: Tree, path: str) -> list[str]:
    """The paths of fields that are not known, each once."""
    if known is None:
        return []
    found: list[str] = []
    if isinstance(value, dict):
        for key, item in sorted(value.items()):
            below = f"{path}.{key}"
            found += _dropped(item, known[key], below) if key in known else [below]
    if isinstance(value, list):
        found += [name for item in value for name in _dropped(item, known, f"{path}[]")]
    return list(dict.fromkeys(found))
