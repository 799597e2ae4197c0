# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Reads and previews custom resources in a live cluster, for plan and other commands."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..._base.errors import ApiError, NimError
from ..._base.types import Json
from ..._cluster.client import Client
from ..._cluster.reader import Reader, answer_of
from ..._cluster.simulated import Ask
from ..._engine.adjust import Adjust
from ..._engine.api_resources import KINDS, api_path, identity
from ..._engine.api_resources import ObjectKey as Key
from ..._engine.metadata import MANAGED_BY, MANAGED_BY_LABEL
from ..._engine.reads import Read
from ..._kinds import kind_names
from ..loader import stored, to_apply
from ..render.simulation import SimulationResult, simulate
from .diff import Change, find_changes

MANAGER = "nimops.nim.apply"
"""Our field manager for users' custom resources; children have the operator's."""


@dataclass(frozen=True)
class Preview:
    """The result of a simulated apply of custom resources."""

    changes: list[Change]
    simulated: SimulationResult


def preview(
    client: Client,
    resources: t.Iterable[Json],
    adjust: Adjust | None = None,
    *,
    is_given: bool = True,
) -> Preview:
    """The changes if these resources were applied (``is_given``), or reconciled unchanged.

    ``adjust``: see `_engine/adjust.py`.
    Writes nothing. Raises ApiError, and NimError if the API server refuses a resource.
    """
    ask = remember(lambda read: answer_of(read, _ApiServerReader(client)))
    found: dict[Key, Json] = {}
    for resource in resources:
        key = identity(resource)
        found[key] = submit_dry_run(client, resource) if is_given else resource
    simulated = simulate(found.values(), ask, adjust)
    given = found if is_given else {}
    return Preview(find_changes(simulated, given, ask), simulated)


def submit_dry_run(client: Client, resource: Json) -> Json:
    """The custom resource as stored by a dry run, with the live status.

    Without write permission, or in a namespace that does not exist yet, the API server's own
    validation is skipped.
    """
    path = path_of(resource)
    live = client.get(path)
    try:
        found = client.apply(path, to_apply(resource), MANAGER, dry=True)
    except ApiError as error:
        if error.status == 403 or _lacks_namespace(error):
            found = _merge_over(stored(resource), live)
        else:
            raise refused(resource, error) from error
    if live is None:  # the uid of a dry run identifies no object
        metadata = {key: value for key, value in found["metadata"].items() if key != "uid"}
        return {**found, "metadata": metadata}
    return found


def list_resources(client: Client, namespace: str, selector: str = "") -> list[Json]:
    """The live custom resources of a namespace, or of all if it is empty.

    ``selector``: of labels. Cluster-scoped kinds are skipped if a namespace is given, or if the
    user may not list them.
    """
    return [
        item
        for kind in kind_names()
        if KINDS[kind].is_namespaced or not namespace
        for item in _list_optional(client, kind, namespace, selector)
    ]


def _list_optional(client: Client, kind: str, namespace: str, selector: str) -> list[Json]:
    try:
        return _list_kind(client, kind, namespace, selector)
    except ApiError as error:
        if error.status == 403 and not KINDS[kind].is_namespaced:
            return []
        raise


def list_readable(
    client: Client,
    namespace: str,
    notify: t.Callable[[str], None],
    selector: str = "",
    kinds: t.Collection[str] = (),
) -> list[Json]:
    """Like `list_resources`, of the kinds that the user may list; ``notify`` names the others.

    ``kinds``: by default all. ApiError if the user may list none.
    """
    found: list[Json] = []
    denied: dict[str, ApiError] = {}
    wanted = [
        kind
        for kind in kinds or kind_names()
        if kinds or KINDS[kind].is_namespaced or not namespace
    ]
    for kind in wanted:
        try:
            items = _list_kind(client, kind, namespace, selector)
        except ApiError as error:
            if error.status != 403:
                raise
            denied[kind] = error
        else:
            found += items
    if len(denied) == len(wanted):
        raise next(iter(denied.values()))
    if names := [kind for kind in denied if KINDS[kind].is_namespaced]:
        notify(f"you may not list {', '.join(names)}, so they are left out")
    return found


def _list_kind(client: Client, kind: str, namespace: str, selector: str = "") -> list[Json]:
    query = {"labelSelector": selector} if selector else {}
    return [
        {"apiVersion": KINDS[kind].version, "kind": kind, **item}
        for item in client.list_objects(api_path(kind, namespace), **query) or []
    ]


def list_children(client: Client, kinds: t.Iterable[str], namespace: str) -> list[Json]:
    """Our objects of these kinds in a namespace, or in all if it is empty."""
    selector = f"{MANAGED_BY_LABEL}={MANAGED_BY}"
    return [
        {"apiVersion": KINDS[kind].version, "kind": kind, **item}
        for kind in kinds
        for item in client.list_objects(api_path(kind, namespace), labelSelector=selector) or []
    ]


def _merge_over(resource: Json, live: Json | None) -> Json:
    """The resource merged over the live one."""
    if live is None:
        return resource
    metadata = {**live["metadata"], **to_apply(resource)["metadata"]}
    return {**live, "spec": resource["spec"], "metadata": metadata}


def refused(resource: Json, error: ApiError) -> Exception:
    """The error for a custom resource that the API server refuses, with advice."""
    kind, namespace, name = identity(resource)
    if not error.status:
        return error
    if error.status == 404 and not _lacks_namespace(error):
        return NimError(
            f"the cluster does not know the kind {kind}: install the CRDs with kubectl nim"
            " install, ansible-playbook nimops.nim.install, or in another way of"
            " docs/operate/install.md"
        )
    if _lacks_namespace(error):
        return NimError(f"{kind} {name}: {error}: kubectl create namespace {namespace}")
    return NimError(f"{kind} {name}: {error}")


def _lacks_namespace(error: ApiError) -> bool:
    return error.status == 404 and str(error).startswith("namespaces ")


def path_of(resource: Json) -> str:
    """The path of a custom resource on the API server."""
    kind, namespace, name = identity(resource)
    return api_path(kind, namespace, name)


def remember(ask: Ask) -> Ask:
    """A caching `Ask` that repeats no read, so that a plan reflects one moment."""
    answers: dict[Read, t.Any] = {}

    def asked(read: Read) -> t.Any:
        if read not in answers:
            answers[read] = ask(read)
        return answers[read]

    return asked


class _ApiServerReader(Reader):
    """A reader for plans, which need nothing from model servers."""

    def fetch(self, _url: str, _namespace: str, _service: str) -> Json:
        """No answer."""
        return {"status": 0, "body": "", "error": "not asked"}
