# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Takes annotations that the runtime would not survive off our resources.

The API server refuses them where the policy of config/admission is installed. Where it is not, or
was not when they were set, one of them stops the operator for everybody.
"""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime

from ansible_collections.nimops.nim.plugins.module_utils._common.desired import Event
from ansible_collections.nimops.nim.plugins.module_utils._common.meta import FIELD_MANAGER
from ansible_collections.nimops.nim.plugins.module_utils._common.resources import (
    API_VERSION,
    api_path,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.runtime_annotations import (
    out_of_range,
)
from ansible_collections.nimops.nim.plugins.module_utils._k8s.client import ApiError, Client
from ansible_collections.nimops.nim.plugins.module_utils._k8s.reporter import event_of
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_names

Json = dict[str, t.Any]


def remove_harmful_annotations(client: Client, namespaces: t.Sequence[str]) -> t.Iterator[str]:
    """Remove what is out of range, with an Event; yields a line for each resource.

    ``namespaces``: those that are watched, one empty name for all. What one resource or kind
    refuses is told, too, and the others are looked at; ApiError if there is no answer at all.
    """
    for kind in kind_names():
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
    name, namespace = metadata["name"], metadata["namespace"]
    who = f"{kind} {namespace}/{name}"
    why = "; ".join(f"annotation {key} {reason}" for key, reason in wrong.items())
    subject = {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata}
    said = Event("Warning", "AnnotationRemoved", f"{why}: removed")
    event = event_of(subject, said, datetime.now(UTC))
    try:
        body = {"metadata": {"annotations": dict.fromkeys(wrong)}}
        client.patch(api_path(kind, namespace, name), body)
        client.apply(api_path("Event", namespace, event["metadata"]["name"]), event, FIELD_MANAGER)
    except ApiError as error:
        return f"{who}: {why}: {error}"
    return f"{who}: {why}: removed"
