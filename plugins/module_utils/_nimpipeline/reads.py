# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What a reconcile of a NIMPipeline reads."""

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._common.observed import (
    Observed,
    Read,
    read_object,
    read_objects,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimpipeline.desired import leftovers
from ansible_collections.nimops.nim.plugins.module_utils._nimpipeline.entries import (
    SERVICE,
    Resource,
    served_entries,
)


def reads(cr: Resource, observed: Observed) -> list[Read]:
    """The services, and all of the namespace, of which some may be left over."""
    if cr["metadata"].get("deletionTimestamp"):
        return []
    namespace = cr["metadata"]["namespace"]
    names = [*served_entries(cr), *leftovers(cr, observed)]
    return [
        read_objects(SERVICE, namespace),
        *(read_object(SERVICE, namespace, name) for name in names),
    ]
