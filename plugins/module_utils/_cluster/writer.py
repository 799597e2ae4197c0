# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Executes a plan.

Uses our own client, in the process that computed the plan. `kubernetes.core.k8s` would need a
process, a discovery and a conversion of its result for about five requests; and the official client
escapes characters beyond U+FFFF, such as emoji, as surrogate pairs, which the API server refuses in
server-side apply.
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
from .connection import MAX_CONNECTIONS
from .private_keys import generate_keys
from .reader import secret_finder
from .task_results import is_race, refusal_text

Tried: t.TypeAlias = "tuple[Json, Json, ApiError | None]"
"""A manifest, the resulting object, and the error if the API server refused it."""

_CONFLICT = 409
_HELD = 429
"""Status of an eviction that a PodDisruptionBudget does not allow."""


def execute_plan(client: Client, plan: Plan) -> Outcome:
    """Adopt, apply, orphan, patch, apply DaemonSets, delete and evict.

    A refused write only stops writes of objects that refer to the refused one. DaemonSets come
    after the patches of nodes and namespaces, and are applied last: while hundreds of pods start,
    each write takes a tenth of a second. Raises ApiError if the API server does not answer.
    """
    refusals = list(plan.refusals)
    raced: list[str] = []
    written = {}
    for patch in plan.adopt:
        # The next pass retries a failed adoption; the rest is applied anyway.
        _found, error = _try(client.patch, _path(patch), patch)
        if error and is_race(error.status, ""):
            raced.append(key_of(patch))
    manifests = list(generate_keys(plan.apply))
    writes = _Writes(client, manifests)
    done = writes.apply([item for item in manifests if item["kind"] != ON_NODES])
    orphaned = _remove_all(_orphan, client, plan.orphan, raced, refusals)
    # Removing a label of a node would delete the pods of a DaemonSet that is not orphaned.
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
    deleted = _remove_all(_delete, client, plan.prune, raced, refusals) + orphaned
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
    """Patch objects in parallel; the patches of one object in order.

    Patches of more than metadata come first, one after the other: nodes are cordoned in the order
    of the upgrade.
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
        with ThreadPoolExecutor(MAX_CONNECTIONS) as pool:
            done += pool.map(write, others)
    return [item for group in done for item in group]


class _WaitsError(ApiError):
    """An object was not written because it refers to one that was not written."""


class _Writes:
    """Applies objects, except those that refer to an object that was refused or raced."""

    def __init__(self, client: Client, manifests: list[Json]) -> None:
        self._client = client
        self._turns = {identity(turn.manifest): turn for turn in turns(manifests)}
        self._failed: dict[ObjectKey, ApiError] = {}

    def apply(self, manifests: list[Json]) -> list[Tried]:
        """Apply objects in parallel, each after its references, and after kinds that it depends on.

        The first reconcile of five children takes as long as two writes, not five.
        """
        if len(manifests) < 2:
            return [self._apply(item, ()) for item in manifests]
        given = {identity(item) for item in manifests}
        started: dict[ObjectKey, Future[Tried]] = {}
        # A write only waits for earlier ones, which get a thread first: no deadlock.
        with ThreadPoolExecutor(MAX_CONNECTIONS) as pool:
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
        """An error if a reference of the object was not written."""
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
    """Evict pods; returns the keys of evicted ones, and why others are blocked."""
    evicted, held = [], {}
    for reference in references:
        error = _remove(_evict, client, reference, raced, refusals)
        if error is None:
            evicted.append(key_of(reference))
        elif error.status == _HELD:
            held[key_of(reference)] = str(error)
    return evicted, held


def _remove_all(
    call: t.Callable[[Client, Json], Json],
    client: Client,
    references: t.Iterable[Json],
    raced: list[str],
    refusals: list[Refusal],
) -> list[str]:
    """Delete objects; returns the keys of deleted ones."""
    return [key_of(item) for item in references if not _remove(call, client, item, raced, refusals)]


def _remove(
    call: t.Callable[[Client, Json], Json],
    client: Client,
    reference: Json,
    raced: list[str],
    refusals: list[Refusal],
) -> ApiError | None:
    """Delete or evict an object; returns None on success, also if it does not exist."""
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
    """Apply an object; a returned Secret has placeholders in place of values of other Secrets."""
    if not has_placeholders(manifest):
        return client.apply(_path(manifest), manifest, FIELD_MANAGER)
    find = partial(secret_finder(client.get), manifest["metadata"]["namespace"])
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
