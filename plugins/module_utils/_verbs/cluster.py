# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A live cluster, asked and changed for verbs."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._common.meta import (
    MANAGED_BY,
    MANAGED_BY_LABEL,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import Read
from ansible_collections.nimops.nim.plugins.module_utils._common.resources import (
    API_VERSION,
    KINDS,
    api_path,
)
from ansible_collections.nimops.nim.plugins.module_utils._k8s.client import ApiError, Client
from ansible_collections.nimops.nim.plugins.module_utils._k8s.observer import answer
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_names
from ansible_collections.nimops.nim.plugins.module_utils._verbs.changes import (
    Change,
    find_changes,
)
from ansible_collections.nimops.nim.plugins.module_utils._verbs.documents import (
    identity,
    stored,
    to_apply,
)
from ansible_collections.nimops.nim.plugins.module_utils._verbs.outlook import Outlook, look_ahead
from ansible_collections.nimops.nim.plugins.module_utils._verbs.world import Ask, Key

Json = dict[str, t.Any]

MANAGER = "nimops.nim.apply"
"""Our field manager for custom resources, which are the user's; children have the operator's."""


@dataclass(frozen=True)
class Preview:
    """What applying custom resources would lead to."""

    changes: list[Change]
    outlook: Outlook


def preview(client: Client, resources: t.Iterable[Json], *, is_given: bool = True) -> Preview:
    """What would change, if these custom resources were applied (``is_given``) or as they are.

    Writes nothing. Raises ApiError, and NimError for what the API server refuses.
    """
    ask = remember(lambda read: _ask_quietly(client, read))
    found: dict[Key, Json] = {}
    for resource in resources:
        key = identity(resource)
        found[key] = try_out(client, resource) if is_given else resource
    outlook = look_ahead(found.values(), ask)
    given = found if is_given else {}
    return Preview(find_changes(outlook, given, ask), outlook)


def try_out(client: Client, resource: Json) -> Json:
    """The custom resource as it would be stored, by a dry run; its status is the live one.

    Who may not write, or gives a namespace that does not exist yet, gets it without the checks that
    only the API server makes.
    """
    path = path_of(resource)
    live = client.get(path)
    try:
        found = client.apply(path, to_apply(resource), MANAGER, dry=True)
    except ApiError as error:
        if error.status == 403 or _lacks_namespace(error):
            found = _put_over(stored(resource), live)
        else:
            raise refused(resource, error) from error
    if live is None:  # the uid of a dry run is nobody's
        metadata = {key: value for key, value in found["metadata"].items() if key != "uid"}
        return {**found, "metadata": metadata}
    return found


def list_resources(client: Client, namespace: str) -> list[Json]:
    """The live custom resources of a namespace, or of all if it is empty."""
    return [
        {"apiVersion": API_VERSION, "kind": kind, **item}
        for kind in kind_names()
        for item in client.list_objects(api_path(kind, namespace)) or []
    ]


def list_children(client: Client, kinds: t.Iterable[str], namespace: str) -> list[Json]:
    """The objects of these kinds that are ours, of a namespace, or of all if it is empty."""
    selector = f"{MANAGED_BY_LABEL}={MANAGED_BY}"
    return [
        {"apiVersion": KINDS[kind][0], "kind": kind, **item}
        for kind in kinds
        for item in client.list_objects(api_path(kind, namespace), labelSelector=selector) or []
    ]


def _put_over(resource: Json, live: Json | None) -> Json:
    """The resource in the place of the live one."""
    if live is None:
        return resource
    metadata = {**live["metadata"], **to_apply(resource)["metadata"]}
    return {**live, "spec": resource["spec"], "metadata": metadata}


def refused(resource: Json, error: ApiError) -> Exception:
    """Why the API server does not take a custom resource, in words that say what to do."""
    kind, _namespace, name = identity(resource)
    if not error.status:
        return error
    if error.status == 404 and not _lacks_namespace(error):
        return NimError(
            f"the cluster does not know the kind {kind}: install the CRDs of nimops.nim, as its"
            " page about installing says"
        )
    return NimError(f"{kind} {name}: {error}")


def _lacks_namespace(error: ApiError) -> bool:
    return error.status == 404 and str(error).startswith("namespaces ")


def path_of(resource: Json) -> str:
    """The path of a custom resource on the API server."""
    kind, namespace, name = identity(resource)
    return api_path(kind, namespace, name)


def remember(ask: Ask) -> Ask:
    """The same, but each read is made once: a plan is of one moment."""
    answers: dict[Read, t.Any] = {}

    def asked(read: Read) -> t.Any:
        if read not in answers:
            answers[read] = ask(read)
        return answers[read]

    return asked


def _ask_quietly(client: Client, read: Read) -> t.Any:
    """A plan asks only the API server: a model says nothing that a plan would need."""
    if read.how == "http":
        return {"status": 0, "body": "", "error": "not asked"}
    return answer(client, read)
