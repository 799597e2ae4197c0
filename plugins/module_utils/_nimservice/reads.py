# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What must be known of the cluster to serve a NIMService."""

from __future__ import annotations

from dataclasses import replace

from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import (
    Observed,
    Read,
    read_object,
    read_tanzu,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.pvc import claim_name
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.desired import FEATURES
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.dra import dra_reads
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.endpoints import (
    cluster_endpoint,
    missing_endpoint,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.features import (
    Resource,
    cache_name,
    creates_claim,
    is_deleted,
    is_kserve,
    name_of,
    namespace_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.groups import group_reads
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.kserve.platform import (
    platform_reads,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.layout import layout_reads
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.model import (
    model_reads,
    needs_model,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.picker import picker_reads
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.readiness import readiness_of
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.service import service_name
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.store import (
    Store,
    select_store,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.strategy import (
    strategy_reads,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.workload import (
    DEPLOYMENT,
    INFERENCE_SERVICE,
    is_known,
)

_ALWAYS = ("ServiceAccount", "Role", "RoleBinding", "Service")


def reads(cr: Resource, observed: Observed) -> list[Read]:
    """The children, also those of features that are off, the cache, whether nodes are TKGS's.

    Then what depends on these: the image's protocol and the model server's answer.
    """
    if is_deleted(cr):
        return []
    name, namespace = name_of(cr), namespace_of(cr)
    wanted = [(kind, name) for kind in (*_ALWAYS, *_of_platform(cr))]
    if service_name(cr) != name:
        wanted.append(("Service", service_name(cr)))
    if creates_claim(cr):
        wanted.append(("PersistentVolumeClaim", claim_name(cr)))
    if cache_name(cr):
        wanted.append(("NIMCache", cache_name(cr)))
    found = [*read_tanzu(), *(read_object(kind, namespace, item) for kind, item in wanted)]
    found += platform_reads(cr, observed)
    found += group_reads(cr, observed)
    found += strategy_reads(cr, observed)
    found += dra_reads(cr, observed)
    found += picker_reads(cr, observed)
    if is_known(cr, observed):
        found += layout_reads(cr, observed)
        found += _model_reads(cr, observed)
    return found


def _of_platform(cr: Resource) -> list[str]:
    """The workload and the features that are on, or may have been: a new resource had none."""
    features = [kind for kind, is_wanted, _build in FEATURES if cr.get("status") or is_wanted(cr)]
    if is_kserve(cr):
        return [INFERENCE_SERVICE, *(kind for kind in features if kind == "ServiceMonitor")]
    return [DEPLOYMENT, *features]


def _model_reads(cr: Resource, observed: Observed) -> list[Read]:
    """The model server is asked once everything else is in order."""
    try:
        is_usable = isinstance(select_store(cr, observed), Store)
    except NimError:
        return []
    endpoint = cluster_endpoint(cr, observed)
    if not is_usable or missing_endpoint(cr, observed) or not needs_model(cr, endpoint):
        return []
    if not readiness_of(cr, observed).ready:
        return []
    found = model_reads(endpoint, namespace_of(cr), observed)
    return found if is_kserve(cr) else [replace(read, name=service_name(cr)) for read in found]
