# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Removes annotations that would break the runtime from our resources.

The API server refuses them if the policy of config/admission is installed. Without it, or if they
were set before, one of them stops the operator for all resources.
"""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime

from .._base.errors import ApiError
from .._base.types import Json
from .._engine.api_resources import KINDS, api_path
from .._engine.desired import Event
from .._engine.metadata import FIELD_MANAGER
from .._engine.runtime_annotations import out_of_range
from .client import Client
from .status_writer import event_of


def remove_harmful_annotations(
    client: Client, kinds: t.Iterable[str], namespaces: t.Sequence[str]
) -> t.Iterator[str]:
    """Remove out-of-range values, with an Event; yields a message for each resource.

    ``namespaces``: the watched ones; a single empty name means all. Errors of one resource or kind
    are also yielded as messages and do not stop the others; ApiError if the API server does not
    answer.
    """
    for kind in kinds:
        for namespace in namespaces:
            try:
                found = client.list_metadata(api_path(kind, namespace or None))
            except ApiError as error:
                if not error.status:
                    raise
                if error.status != 404:  # 404: the kind is not installed yet
                    yield f"{kind}: {error}"
                continue
            for item in found:
                if wrong := out_of_range(item["metadata"].get("annotations")):
                    yield _remove(client, kind, item["metadata"], wrong)


def _remove(client: Client, kind: str, metadata: Json, wrong: t.Mapping[str, str]) -> str:
    name, namespace = metadata["name"], metadata.get("namespace", "")
    title = f"{kind} {namespace}/{name}".replace(" /", " ")
    why = "; ".join(f"annotation {key} {reason}" for key, reason in wrong.items())
    subject = {"apiVersion": KINDS[kind].version, "kind": kind, "metadata": metadata}
    removed = Event("Warning", "AnnotationRemoved", f"{why}: removed")
    event = event_of(subject, removed, datetime.now(UTC))
    try:
        body = {"metadata": {"annotations": dict.fromkeys(wrong)}}
        client.patch(api_path(kind, namespace, name), body)
        written = event["metadata"]
        client.apply(api_path("Event", written["namespace"], written["name"]), event, FIELD_MANAGER)
    except ApiError as error:
        return f"{title}: {why}: {error}"
    return f"{title}: {why}: removed"
