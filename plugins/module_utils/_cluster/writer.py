# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Executes a plan.

By our own client, in the process that made the plan. `kubernetes.core.k8s` would be a process, a
discovery and a second look at the result of a task for what are five requests; and the official
client escapes characters beyond U+FFFF, such as emoji, as surrogate pairs, which the API server
refuses in server-side apply.
"""

from __future__ import annotations

import typing as t
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

from .._base.errors import ApiError, NimError
from .._base.types import Json
from .._engine.api_resources import ObjectKey, api_path, identity, key_of
from .._engine.desired import Outcome, Refusal
from .._engine.metadata import FIELD_MANAGER
from .._engine.plan import Plan
from .._engine.secret_placeholders import has_placeholders, insert_values, replace_values
from .._engine.write_order import ON_NODES, turns
from .client import Client
from .private_keys import generate_keys
from .reader import secret_finder
from .task_results import is_race, refusal_text

Tried: t.TypeAlias = "tuple[Json, Json, ApiError | None]"
"""A manifest, and what the API server has made of it, or its refusal."""

_SIDE_BY_SIDE = 4
_CONFLICT = 409
_HELD = 429
"""What the API server answers to an eviction that a PodDisruptionBudget does not allow."""


def execute_plan(client: Client, plan: Plan) -> Outcome:
    """Adopt, apply, orphan, patch, apply what runs on nodes, delete and evict.

    A refused write does not stop the rest, but for what refers to that object. Nodes have their
    labels, and the namespace allows pods, when DaemonSets are written, and these are the last:
    while hundreds of pods start, each write takes a tenth of a second.
    Raises ApiError if the API server does not answer.
    """
    refusals = list(plan.refusals)
    raced: list[str] = []
    written = {}
    for patch in plan.adopt:
        # If adopting fails now, the next pass retries it; apply the rest meanwhile.
        _found, error = _try(client.patch, _path(patch), patch)
        if error and is_race(error.status, ""):
            raced.append(key_of(patch))
    manifests = list(generate_keys(plan.apply))
    writes = _Writes(client, manifests)
    done = writes.apply([item for item in manifests if item["kind"] != ON_NODES])
    orphaned = _end_all(_orphan, client, plan.orphan, raced, refusals)
    # A label that a node loses ends the pods of whatever has not been orphaned.
    patches = plan.patch if len(orphaned) == len(plan.orphan) else []
    for patch, error in _patch_all(client, patches):
        if error:
            _sort_error(patch, error, raced, refusals)
    done += writes.apply([item for item in manifests if item["kind"] == ON_NODES])
    # The root cause comes first.
    for manifest, found, error in sorted(done, key=lambda tried: isinstance(tried[2], _WaitsError)):
        if error:
            _sort_error(manifest, error, raced, refusals)
        else:
            written[key_of(manifest)] = {**found, "kind": manifest["kind"]}
    deleted = _end_all(_delete, client, plan.prune, raced, refusals) + orphaned
    evicted, held = _evict_all(client, plan.evict, raced, refusals)
    return Outcome(
        written=written,
        deleted=deleted + evicted,
        raced=raced,
        refusals=refusals,
        failure=plan.failure,
        failure_reason=plan.failure_reason or "Failed",
        held=held,
    )


def _patch_all(client: Client, patches: list[Json]) -> list[tuple[Json, ApiError | None]]:
    """Patch objects side by side; the patches of one object, in order.

    Those that change more than metadata go first, one after the other: nodes are cordoned in the
    order that an upgrade plans.
    """
    by_object: dict[str, list[Json]] = {}
    for patch in patches:
        by_object.setdefault(key_of(patch), []).append(patch)

    def write(group: list[Json]) -> list[tuple[Json, ApiError | None]]:
        return [
            (patch, _try(client.patch, _path(patch), patch, FIELD_MANAGER)[1]) for patch in group
        ]

    def is_ordered(group: list[Json]) -> bool:
        return any("spec" in patch for patch in group)

    others = [group for group in by_object.values() if not is_ordered(group)]
    done = [write(group) for group in by_object.values() if is_ordered(group)]
    if len(others) < 2:
        done += [write(group) for group in others]
    else:
        with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
            done += pool.map(write, others)
    return [item for group in done for item in group]


class _WaitsError(ApiError):
    """An object was not written as another one was not, for the same kind of reason."""


class _Writes:
    """Applies objects, but none that refers to one that was refused, or changed by others."""

    def __init__(self, client: Client, manifests: list[Json]) -> None:
        self._client = client
        self._turns = {identity(turn.manifest): turn for turn in turns(manifests)}
        self._failed: dict[ObjectKey, ApiError] = {}

    def apply(self, manifests: list[Json]) -> list[Tried]:
        """Apply them side by side, each after those that it refers to, and that its kind needs.

        A first reconcile of five children is over after the longest two, not after all.
        """
        if len(manifests) < 2:
            return [self._apply(item, ()) for item in manifests]
        given = {identity(item) for item in manifests}
        started: dict[ObjectKey, Future[Tried]] = {}
        # A write waits for earlier ones only, which have a thread before it: some can always go on.
        with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
            for key, turn in self._turns.items():
                if key in given:
                    waits = [started[before] for before in turn.waits if before in started]
                    started[key] = pool.submit(self._apply, turn.manifest, waits)
        return [started[identity(item)].result() for item in manifests]

    def _apply(self, manifest: Json, waits: t.Iterable[Future[Tried]]) -> Tried:
        for future in waits:
            future.result()
        key = identity(manifest)
        error = self._why_not(key)
        found: Json = {}
        if error is None:
            found, error = _try(_apply, self._client, manifest)
        if error:
            self._failed[key] = error
        return manifest, found, error

    def _why_not(self, key: ObjectKey) -> ApiError | None:
        """An error as long as an object that is needed was not written."""
        for target in self._turns[key].refers:
            if cause := self._failed.get(target):
                status = _CONFLICT if is_race(cause.status, str(cause)) else cause.status
                return _WaitsError(status, f'waits for {target.kind} "{target.name}"')
        return None


def _delete(client: Client, reference: Json) -> Json:
    return client.delete(_path(reference), reference["metadata"].get("uid") or "")


def _orphan(client: Client, reference: Json) -> Json:
    uid = reference["metadata"].get("uid") or ""
    return client.delete(_path(reference), uid, leave_dependents=True)


def _evict_all(
    client: Client, references: t.Iterable[Json], raced: list[str], refusals: list[Refusal]
) -> tuple[list[str], dict[str, str]]:
    """Evict pods; the keys of those that go, and why others are held."""
    evicted, held = [], {}
    for reference in references:
        error = _end(_evict, client, reference, raced, refusals)
        if error is None:
            evicted.append(key_of(reference))
        elif error.status == _HELD:
            held[key_of(reference)] = str(error)
    return evicted, held


def _end_all(
    call: t.Callable[[Client, Json], Json],
    client: Client,
    references: t.Iterable[Json],
    raced: list[str],
    refusals: list[Refusal],
) -> list[str]:
    """Delete objects; the keys of those that go."""
    return [key_of(item) for item in references if not _end(call, client, item, raced, refusals)]


def _end(
    call: t.Callable[[Client, Json], Json],
    client: Client,
    reference: Json,
    raced: list[str],
    refusals: list[Refusal],
) -> ApiError | None:
    """Delete or evict an object; None if it goes, or has gone."""
    _found, error = _try(call, client, reference)
    if error is None or error.status == 404:
        return None
    if not (call is _evict and error.status == _HELD):
        _sort_error(reference, error, raced, refusals)
    return error


def _evict(client: Client, reference: Json) -> Json:
    metadata = reference["metadata"]
    uid = metadata.get("uid") or ""
    return client.evict(_path(reference), metadata["name"], metadata["namespace"], uid)


def _apply(client: Client, manifest: Json) -> Json:
    """Apply an object; what is returned of a Secret with others' values has placeholders."""
    if not has_placeholders(manifest):
        return client.apply(_path(manifest), manifest, FIELD_MANAGER)
    find = partial(secret_finder(client), manifest["metadata"]["namespace"])
    try:
        whole = insert_values(manifest, find)
    except NimError as error:
        raise ApiError(422, str(error)) from error
    found = client.apply(_path(manifest), whole, FIELD_MANAGER)
    return replace_values(found, manifest["data"], find)


def _try(call: t.Callable[..., Json], *arguments: t.Any) -> tuple[Json, ApiError | None]:
    try:
        return call(*arguments), None
    except ApiError as error:
        if not error.status:
            raise
        return {}, error


def _path(manifest: Json) -> str:
    metadata = manifest["metadata"]
    return api_path(manifest["kind"], metadata.get("namespace"), metadata["name"])


def _sort_error(manifest: Json, error: ApiError, raced: list[str], refusals: list[Refusal]) -> None:
    if is_race(error.status, str(error)):
        raced.append(key_of(manifest))
        return
    kind = manifest["kind"]
    message = refusal_text(str(error), kind, manifest["apiVersion"])
    refusals.append(Refusal(kind, manifest["metadata"]["name"], message))
