# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Which pure functions think for which kind."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ansible_collections.nimops.nim.plugins.module_utils._common.desired import (
    Assessment,
    Desired,
    Outcome,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import Observed, Read
from ansible_collections.nimops.nim.plugins.module_utils._nimbuild import (
    desired as nimbuild_desired,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimbuild import reads as nimbuild_reads
from ansible_collections.nimops.nim.plugins.module_utils._nimbuild import status as nimbuild_status
from ansible_collections.nimops.nim.plugins.module_utils._nimcache import (
    desired as nimcache_desired,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimcache import reads as nimcache_reads
from ansible_collections.nimops.nim.plugins.module_utils._nimcache import status as nimcache_status
from ansible_collections.nimops.nim.plugins.module_utils._nimpipeline import (
    desired as nimpipeline_desired,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimpipeline import (
    reads as nimpipeline_reads,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimpipeline import (
    status as nimpipeline_status,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice import (
    desired as nimservice_desired,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice import (
    reads as nimservice_reads,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice import (
    status as nimservice_status,
)

Resource = t.Mapping[str, t.Any]


@dataclass(frozen=True)
class Kind:
    """The three pure functions of a kind; `_common/desired.py` says what each must do."""

    reads: t.Callable[[Resource, Observed], list[Read]]
    desired: t.Callable[[Resource, Observed], Desired]
    assess: t.Callable[[Resource, Observed, Outcome], Assessment]


_KINDS = {
    "NIMBuild": Kind(nimbuild_reads.reads, nimbuild_desired.desired, nimbuild_status.assess),
    "NIMCache": Kind(nimcache_reads.reads, nimcache_desired.desired, nimcache_status.assess),
    "NIMPipeline": Kind(
        nimpipeline_reads.reads, nimpipeline_desired.desired, nimpipeline_status.assess
    ),
    "NIMService": Kind(
        nimservice_reads.reads, nimservice_desired.desired, nimservice_status.assess
    ),
}


def kind_names() -> list[str]:
    """The kinds that we serve."""
    return sorted(_KINDS)


def kind_of(resource: Resource) -> Kind:
    """The kind of a custom resource; NimError if it is none of ours."""
    kind = resource.get("kind")
    if kind not in _KINDS:
        raise NimError(f"kind {kind!r} is not one of {', '.join(kind_names())}")
    return _KINDS[kind]
