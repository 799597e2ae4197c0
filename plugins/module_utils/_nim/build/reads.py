# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The reads of a NIMBuild reconcile."""

from __future__ import annotations

from ..._base.types import Manifest
from ..._builders.traffic import selector_reads
from ..._engine.oversized import is_stub
from ..._engine.reads import Read, ReadNodes, ReadObject
from ..cache_spec import parse_cache
from ..profiles.manifest_pod import read_log_of
from ..profiles.model_manifest import manifest_map_name
from .app import NIMBuildApp
from .constants import MANIFEST_CONTAINER, READY


def reads(app: NIMBuildApp) -> list[Read]:
    """The pods and, until the build is done, the cache and the inputs of the next step."""
    namespace = app.namespace
    names = (app.build_pod_name, app.manifest_pod_name)
    wanted: list[Read] = [ReadObject("Pod", namespace, name) for name in names]
    if app.is_finished:
        return wanted
    wanted.append(ReadObject("NIMCache", namespace, app.spec.cache_name))
    cache = app.live("NIMCache", app.spec.cache_name)
    if cache and not is_stub(cache):
        wanted += _dependent_reads(app, cache)
    return wanted


def _dependent_reads(app: NIMBuildApp, cache: Manifest) -> list[Read]:
    """The PVC of the pods, and the inputs of a new pod."""
    namespace = app.namespace
    building, reading = (
        app.live("Pod", name) for name in (app.build_pod_name, app.manifest_pod_name)
    )
    wanted: list[Read] = []
    if building or reading or app.is_built:
        claim = parse_cache(cache).claim
        wanted.append(ReadObject("PersistentVolumeClaim", namespace, claim.name))
    if (cache.get("status") or {}).get("state") != READY:
        return wanted
    if not (reading if app.is_built else building):
        return [*wanted, ReadNodes(), *selector_reads(app)]
    if app.is_built:
        name = manifest_map_name(cache["metadata"]["name"])
        wanted += [
            ReadObject("ConfigMap", namespace, name),
            *read_log_of(app.resource, reading, MANIFEST_CONTAINER),
        ]
    return wanted
