# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The reads of a NIMCache reconcile."""

from __future__ import annotations

from ..._builders.claim_users import claim_user_reads
from ..._builders.rbac import CONSTRAINTS_READ, may_have_constraints
from ..._builders.traffic import selector_reads
from ..._engine.metadata import is_deleted
from ..._engine.reads import Read, ReadNodes, ReadObject, ReadObjects, ReadProtocol
from ..profiles.manifest_pod import read_log_of
from .app import NIMCacheApp
from .artifact import image_reads
from .claim_fate import USERS, deletion_reads
from .constants import CONTAINER, READY, ROLE, ROLE_BINDING, SERVICE_ACCOUNT
from .probe import PROTOCOL, needs_probe, needs_protocol
from .progress import pod_reads
from .removal import removal_reads
from .renewal import renewal_app
from .source import source_of
from .steps import has_pvc
from .wanted import is_renewing


def reads(app: NIMCacheApp) -> list[Read]:
    """The children, then, unless the cache is settled, the inputs of the next steps."""
    if is_deleted(app.resource):
        return deletion_reads(app)
    namespace = app.namespace
    wanted: list[Read] = [CONSTRAINTS_READ]
    wanted += [
        ReadObject(kind, namespace, name)
        for kind, name in (
            ("PersistentVolumeClaim", app.spec.claim.name),
            ("ConfigMap", app.config_map_name),
            ("Job", app.job_name),
            ("Pod", app.pod_name),
            ("ServiceAccount", SERVICE_ACCOUNT),
            *((("Role", ROLE), ("RoleBinding", ROLE_BINDING)) if may_have_constraints(app) else ()),
        )
    ]
    if all(app.observed.has(read.key) for read in wanted):
        wanted += _dependent_reads(app)
    return wanted


def _dependent_reads(app: NIMCacheApp) -> list[Read]:
    namespace = app.namespace
    pvc_exists = has_pvc(app)
    renewing = pvc_exists and is_renewing(app)
    settled = app.state == READY and pvc_exists and not renewing
    kinds = () if settled else USERS
    wanted: list[Read] = [ReadObjects(kind, namespace) for kind in kinds]
    wanted += claim_user_reads(app, app.spec.claim.name)
    if not pvc_exists:
        return wanted
    if renewing:
        wanted += [ReadObject("Job", namespace, app.renewal_name), *removal_reads(app)]
        if not app.was_read("Job", app.renewal_name):
            return wanted
    subject = renewal_app(app) or app
    if not settled:
        wanted += [*pod_reads(subject), *image_reads(app)]
    return wanted + _probe_reads(subject, is_settled=settled)


def _probe_reads(app: NIMCacheApp, *, is_settled: bool) -> list[Read]:
    """The reads of the search for the manifest, and of the choice of profiles."""
    wanted: list[Read] = []
    probing = needs_probe(app)
    if probing or not is_settled:
        wanted += [ReadNodes(), *selector_reads(app)]
    if probing:
        wanted += read_log_of(app.resource, app.live("Pod", app.pod_name), CONTAINER)
    if needs_protocol(app):
        source = source_of(app)
        secrets = (source.pull_secret,) if source.pull_secret else ()
        wanted.append(ReadProtocol(PROTOCOL, source.puller, app.namespace, secrets))
    return wanted
