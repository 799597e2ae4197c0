# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Pods and Jobs that are created once, and whether their custom resource has changed since.

They are never updated but deleted and recreated, which loses work. A difference to the desired
object is not a reason for that: a new release of the operator may build it in another way. So
annotations record the generation of the resource, and a digest of what the pods work on.
"""

from __future__ import annotations

import hashlib
import json

from .._base.types import Fields
from .metadata import Labels

GENERATION = "nimops.nim/last-applied-generation"
SOURCE = "nimops.nim/last-applied-source"


def marks_of(cr: Fields, source: object = None) -> Labels:
    """The annotations of a new object; ``source``: what its pods work on, as JSON values."""
    generation = cr["metadata"].get("generation")
    marks = {GENERATION: str(generation)} if generation else {}
    return marks if source is None else {**marks, SOURCE: _digest(source)}


def has_spec_changed(cr: Fields) -> bool:
    """Whether the spec has changed since the last pass.

    False before the first pass, when the generation is -1, and after a takeover, when it is absent.
    """
    seen = (cr.get("status") or {}).get("observedGeneration") or 0
    return seen > 0 and _differs(cr, str(seen))


def is_outdated(live: Fields, cr: Fields) -> bool:
    """Whether the spec has changed since the object was created, by this release or another."""
    made_for = (live["metadata"].get("annotations") or {}).get(GENERATION)
    return has_spec_changed(cr) if made_for is None else _differs(cr, made_for)


def has_other_source(live: Fields, source: object) -> bool:
    """Whether the pods of the object work on something else; unknown without annotation."""
    made_of = (live["metadata"].get("annotations") or {}).get(SOURCE)
    return made_of is not None and made_of != _digest(source)


def _differs(cr: Fields, generation: str) -> bool:
    """Whether the resource has another generation. Its deletion also counts as one."""
    metadata = cr["metadata"]
    return not metadata.get("deletionTimestamp") and generation != str(metadata.get("generation"))


def _digest(source: object) -> str:
    return hashlib.sha256(json.dumps(source, sort_keys=True).encode()).hexdigest()[:16]
