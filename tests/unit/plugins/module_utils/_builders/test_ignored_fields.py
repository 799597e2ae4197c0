# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Each field that a CRD describes as ignored is reported when a user sets it.

Not of the GPU kinds: NVIDIA's chart sets all of theirs, also those that are deprecated.
"""

from __future__ import annotations

import copy
import typing as t
from collections.abc import Iterator

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._builders.ignored_fields import (
    IgnoredField,
    ignored_events,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import Outcome
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_of
from nimops_harness.crds import read_samples, read_schemas

Json = dict[str, t.Any]

GPU_KINDS = {"ClusterPolicy", "NVIDIADriver"}
VALUES: Json = {"string": "other", "integer": 7, "object": {"a": "b"}, "array": ["a"]}


def ignored_paths(schema: Json, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The fields of a spec that their descriptions call ignored, except in lists."""
    if "ignored" in schema.get("description", "").lower():
        yield path
    for name, below in (schema.get("properties") or {}).items():
        yield from ignored_paths(below, (*path, name))


CASES = {
    f"{kind} {'.'.join(path)}": (kind, path)
    for kind, schema in read_schemas().items()
    if kind not in GPU_KINDS
    for path in ignored_paths(schema["properties"]["spec"])
}


def reported(resource: Json) -> list[str]:
    kind = kind_of(resource)
    events = kind.assess(kind.app(resource, Observed({})), Outcome()).events
    return [event.message for event in events if event.reason == "Ignored"]


@pytest.fixture
def make() -> t.Callable[[str], Json]:
    def copy_sample(kind: str) -> Json:
        sample = copy.deepcopy(read_samples()[kind][0])
        sample["metadata"] |= {"namespace": "nim", "uid": "u", "generation": 1}
        return sample

    return copy_sample


@pytest.mark.parametrize("kind", sorted({kind for kind, _path in CASES.values()}))
def test_sample_has_no_ignored_fields(make: t.Callable[[str], Json], kind: str) -> None:
    assert reported(make(kind)) == []


@pytest.mark.parametrize(("kind", "path"), CASES.values(), ids=CASES)
def test_ignored_field_is_reported(
    make: t.Callable[[str], Json], kind: str, path: tuple[str, ...]
) -> None:
    resource, schema = make(kind), read_schemas()[kind]["properties"]["spec"]
    place = resource["spec"]
    for name in path[:-1]:
        schema, place = schema["properties"][name], place.setdefault(name, {})
    schema = schema["properties"][path[-1]]
    place[path[-1]] = next(
        (value for value in schema.get("enum", []) if value != schema.get("default")),
        VALUES[schema["type"]],
    )
    [message] = reported(resource)
    assert message.startswith(f"spec.{'.'.join(path)} has no effect")
    resource["status"] = {"state": "Ready", "observedGeneration": 1}
    assert reported(resource) == []


POLICY = IgnoredField("jobs.pullPolicy", "spec.image.pullPolicy", default="IfNotPresent")


@pytest.mark.parametrize(
    ("jobs", "image", "messages"),
    [
        ({"pullPolicy": "Never"}, {}, ["spec.jobs.pullPolicy has no effect: use spec.image.pullPolicy"]),
        ({"pullPolicy": "Never"}, None, ["spec.jobs.pullPolicy has no effect: use spec.image.pullPolicy"]),
        ({"pullPolicy": "Always"}, {"pullPolicy": "Always"}, []),
        ({"pullPolicy": "IfNotPresent"}, {"pullPolicy": "Always"}, []),
        ({"pullPolicy": ""}, {}, []),
        ({}, {}, []),
        (None, {}, []),
    ],
)  # fmt: skip
def test_ignored_events_differing(jobs: t.Any, image: t.Any, messages: list[str]) -> None:
    resource = {"spec": {"jobs": jobs, "image": image}}
    assert [event.message for event in ignored_events(resource, [POLICY])] == messages


def test_ignored_events_in_one() -> None:
    fields = [IgnoredField("a"), IgnoredField("b", why="c counts"), IgnoredField("d")]
    [event] = ignored_events({"spec": {"a": 0, "b": True}}, fields)
    assert event.message == "spec.a has no effect; spec.b has no effect: c counts"
