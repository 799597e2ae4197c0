# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Writes one status patch, events on transitions, and annotations and status of other resources."""

from __future__ import annotations

import contextlib
import hashlib
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

from .._base.errors import ApiError
from .._base.types import Json
from .._engine.api_resources import api_path
from .._engine.desired import Assessment, Event
from .._engine.metadata import FIELD_MANAGER
from .._engine.status import format_time
from .client import Client

MAX_EVENT_MESSAGE = 1024
_EVENT_NAMESPACE = "default"
"""The namespace of events of cluster-scoped objects, where kubectl searches for them."""
_MAX_EVENT_PREFIX = 253 - 1 - 16
"""An object name has at most 253 characters; a dot and a digest follow the prefix."""


def write_report(
    client: Client, resource: Json, patch: Json, assessment: Assessment, now: datetime
) -> None:
    """Patch the status, write events, and then triggers and patches of other resources.

    The status is one merge patch, with the resourceVersion that it was computed from. Events are
    written in parallel. An event that the API server refuses is dropped: it is not worth a failed
    run.
    """
    if patch and assessment.events:
        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(_write_events, client, resource, assessment, now)
            _write_status(client, resource, patch)
        writing.result()
    elif patch:
        _write_status(client, resource, patch)
    else:
        _write_events(client, resource, assessment, now)
    _write_triggers(client, resource, assessment)
    _write_patches(client, resource, assessment)


def _write_status(client: Client, resource: Json, patch: Json) -> None:
    meta = resource["metadata"]
    path = api_path(resource["kind"], meta.get("namespace"), meta["name"])
    body = {"metadata": {"resourceVersion": meta["resourceVersion"]}, "status": patch}
    client.patch(f"{path}/status", body)


def refetch(client: Client, resource: Json) -> Json | None:
    """The resource with its latest status; None if it was deleted or recreated.

    Spec and generation stay those that were reconciled. Lists by field selector, because a GET by
    name would be answered by the stale cache.
    """
    meta = resource["metadata"]
    path = api_path(resource["kind"], meta.get("namespace"))
    found = (client.get(path, fieldSelector=f"metadata.name={meta['name']}") or {}).get("items")
    if not found or found[0]["metadata"].get("uid") != meta.get("uid"):
        return None
    version = found[0]["metadata"]["resourceVersion"]
    return resource | {
        "metadata": meta | {"resourceVersion": version},
        "status": found[0].get("status") or {},
    }


def _write_events(client: Client, resource: Json, assessment: Assessment, now: datetime) -> None:
    for event in assessment.events:
        body = event_of(resource, event, now, assessment.source)
        path = api_path("Event", body["metadata"]["namespace"], body["metadata"]["name"])
        with contextlib.suppress(ApiError):
            client.apply(path, body, FIELD_MANAGER)


def event_of(resource: Json, event: Event, now: datetime, source: str = "") -> Json:
    """The Event object; ``source`` is by default the kind's controller.

    It is applied, not posted: the runtime's proxy would make the custom resource the owner of a
    posted object, and then watch all Events.
    """
    meta = resource["metadata"]
    text = f"{event.reason}\0{event.message}\0{now.timestamp()}"
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    prefix = meta["name"][:_MAX_EVENT_PREFIX].rstrip("-.")
    component = source or f"{resource['kind'].lower()}-controller"
    namespace = meta.get("namespace") or _EVENT_NAMESPACE
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{prefix}.{digest}", "namespace": namespace},
        "involvedObject": {
            "apiVersion": resource["apiVersion"],
            "kind": resource["kind"],
            "name": meta["name"],
            **({"namespace": meta["namespace"]} if "namespace" in meta else {}),
            "resourceVersion": meta.get("resourceVersion", ""),
            "uid": meta.get("uid", ""),
        },
        "type": event.kind,
        "reason": event.reason,
        "message": event.message[:MAX_EVENT_MESSAGE],
        "count": 1,
        "firstTimestamp": format_time(now),
        "lastTimestamp": format_time(now),
        "source": {"component": component},
        "reportingComponent": component,
        "reportingInstance": "",
    }


def _write_triggers(client: Client, resource: Json, assessment: Assessment) -> None:
    namespace = resource["metadata"].get("namespace")
    for item in assessment.triggers:
        body = {"metadata": {"annotations": {item.key: item.value}}}
        try:
            client.patch(api_path(item.kind, item.namespace or namespace, item.name), body)
        except ApiError as error:
            if error.status != 404:
                raise


def _write_patches(client: Client, resource: Json, assessment: Assessment) -> None:
    """Write the status patches; a conflict or a missing object is left to the next pass."""
    namespace = resource["metadata"].get("namespace")
    for item in assessment.patches:
        body = {"metadata": {"resourceVersion": item.version}, "status": item.status}
        try:
            client.patch(
                f"{api_path(item.kind, item.namespace or namespace, item.name)}/status", body
            )
        except ApiError as error:
            if error.status not in (404, 409):
                raise
