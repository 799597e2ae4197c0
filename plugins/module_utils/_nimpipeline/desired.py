# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The NIMServices that a NIMPipeline wants, and those that it wants no more."""

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._common.desired import Child, Desired
from ansible_collections.nimops.nim.plugins.module_utils._common.meta import is_controlled_by
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._nimpipeline.entries import (
    SERVICE,
    Resource,
    served_entries,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimpipeline.nim_service import (
    build_nim_service,
)


def desired(cr: Resource, observed: Observed) -> Desired:
    """A NIMService for each entry to serve; one that is being deleted wants nothing."""
    if cr["metadata"].get("deletionTimestamp"):
        return Desired()
    children = [Child(build_nim_service(cr, entry)) for entry in served_entries(cr).values()]
    return Desired(children, [(SERVICE, name) for name in leftovers(cr, observed)])


def leftovers(cr: Resource, observed: Observed) -> list[str]:
    """Names of the NIMServices that the pipeline controls and no entry asks for any more."""
    wanted = served_entries(cr)
    return [
        live["metadata"]["name"]
        for live in observed.get(SERVICE) or []
        if is_controlled_by(live, cr) and live["metadata"]["name"] not in wanted
    ]
