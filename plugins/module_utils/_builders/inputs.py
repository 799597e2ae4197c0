# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""External inputs of a service: Secrets, ConfigMaps and claims that the user provides.

A missing input is reported in the status, and the reconcile waits for it. Pods read most inputs
only when they start, so a change of an input restarts them once, by an annotation of the pods. The
Deployment records the digests of its inputs. Without a record, after a takeover, the first pass
only writes the record.
"""

from __future__ import annotations

import json
import typing as t

from .._base.types import Fields
from .._engine.digests import digest_key
from .._engine.metadata import Labels, hash_name
from .._engine.reads import Read, ReadDigest
from .app import App

RECORD_ANNOTATION = "nimops.nim/last-applied-inputs"
"""Annotation of a Deployment: input → its version and digest, as JSON."""
RESTART_ANNOTATION = "nimops.nim/restarted-for-inputs"
"""Annotation of pods: the input digests at their last restart; absent without a restart."""

Record = dict[str, list[str]]
"""input → [version, digest]"""


_WAITING = "Waiting for "


class Input(t.NamedTuple):
    """A Secret or ConfigMap that the ``field`` of the spec refers to.

    ``keys``: the required keys, whose values count; by default all values count. ``is_copied``: a
    child contains a value of it. Otherwise only pods refer to it, and wait for it.
    """

    kind: str
    name: str
    field: str
    keys: tuple[str, ...] = ()
    is_copied: bool = False

    @property
    def title(self) -> str:
        """Kind and name, for messages."""
        return f'{self.kind} "{self.name}"'

    def absent(self) -> Missing:
        """The missing input, if it does not exist."""
        return Missing(
            f"{self.kind}NotFound",
            f"{_WAITING}{self.title}, which does not exist ({self.field})",
            self.is_copied,
        )

    def lacking(self, keys: t.Iterable[str]) -> Missing:
        """The missing input, if it lacks keys."""
        named = ", ".join(f'"{key}"' for key in keys)
        return Missing(
            f"{self.kind}KeyNotFound",
            f"{_WAITING}{self.title} to have {named} ({self.field})",
            self.is_copied,
        )


class Missing(t.NamedTuple):
    """A missing input: the reason for a condition, and the message.

    ``is_blocking``: without it, children cannot be built.
    """

    reason: str
    message: str
    is_blocking: bool = True


def input_reads(app: App, inputs: t.Iterable[Input]) -> list[Read]:
    """The reads of the inputs; none before the Deployment with the record was read."""
    if not app.was_read("Deployment"):
        return []
    record = _record_of(app.live("Deployment")) or {}
    salt = str(app.resource["metadata"].get("uid") or "")
    return [
        ReadDigest(
            item.kind, app.namespace, item.name, item.keys, salt, record.get(_id(item), [""])[0]
        )
        for item in inputs
    ]


def missing_inputs(app: App, inputs: t.Iterable[Input]) -> list[Missing]:
    """The inputs that do not exist, or lack a key."""
    missing = []
    for item in inputs:
        key = digest_key(item.kind, app.namespace, item.name, item.keys)
        if not app.observed.has(key):
            continue
        found = app.observed.get(key)
        if found is None:
            missing.append(item.absent())
        elif found["missing"]:
            missing.append(item.lacking(found["missing"]))
    return missing


def join_missing(missing: t.Iterable[Missing]) -> Missing | None:
    """All missing inputs as one, which has the reason of the first; blocking inputs come first."""
    ordered = sorted(missing, key=lambda item: not item.is_blocking)
    if not ordered:
        return None
    first, *others = ordered
    texts = [first.message, *(item.message.removeprefix(_WAITING) for item in others)]
    return Missing(first.reason, "; ".join(texts), first.is_blocking)


def record_inputs(app: App, inputs: t.Iterable[Input], values: Labels | None = None) -> Record:
    """The current record of the inputs, as far as they are known.

    ``values``: name → hash of rendered content that also counts as an input.
    """
    former, record = _record_of(app.live("Deployment")) or {}, Record()
    for item in inputs:
        found = app.observed.get(digest_key(item.kind, app.namespace, item.name, item.keys)) or {}
        known = former.get(_id(item), ["", ""])
        digest = found.get("digest") or (known[1] if found.get("version") == known[0] else "")
        if digest:
            record[_id(item)] = [found["version"], digest]
        elif _id(item) in former:
            record[_id(item)] = known
    return record | {name: ["", value] for name, value in (values or {}).items()}


def record_annotation(record: Record) -> Labels:
    """The annotation of the Deployment with the record; empty without a record."""
    text = json.dumps(record, sort_keys=True, separators=(",", ":"))
    return {RECORD_ANNOTATION: text} if record else {}


def is_restart_due(app: App, record: Record) -> bool:
    """Whether an input has changed since the Deployment recorded it."""
    former = _record_of(app.live("Deployment")) or {}
    return any(name in former and former[name][1] != record[name][1] for name in record)


def restart_annotation(app: App, record: Record) -> Labels:
    """The annotation of the pods, which changes and restarts them if an input changed."""
    if is_restart_due(app, record):
        digests = json.dumps({name: digest for name, (_version, digest) in record.items()})
        return {RESTART_ANNOTATION: hash_name(digests)}
    given = live_pod_annotations(app)
    return {key: value for key, value in given.items() if key == RESTART_ANNOTATION}


def live_pod_annotations(app: App) -> Labels:
    """The annotations of the live Deployment's pods."""
    template = ((app.live("Deployment") or {}).get("spec") or {}).get("template") or {}
    return dict((template.get("metadata") or {}).get("annotations") or {})


def _id(item: Input) -> str:
    keys = ",".join(sorted(set(item.keys)))
    return f"{item.kind}/{item.name}" + (f"#{keys}" if keys else "")


def _record_of(deployment: Fields | None) -> Record | None:
    """The record, or None if it is missing or malformed."""
    text = (((deployment or {}).get("metadata") or {}).get("annotations") or {}).get(
        RECORD_ANNOTATION
    )
    try:
        found = json.loads(text or "null")
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    is_pair = all(isinstance(item, list) and len(item) == 2 for item in found.values())
    return {key: [str(part) for part in item] for key, item in found.items()} if is_pair else None
