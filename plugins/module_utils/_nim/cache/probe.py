# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The progress of the search for the model manifest of a NIMCache."""

from __future__ import annotations

from dataclasses import dataclass

from ..._base.errors import NimError
from ..._engine.created_once import has_other_source, has_spec_changed
from ..._engine.ownership import ownership_of, refuse_foreign
from ..._engine.reads import LATER
from ..profiles.manifest_pod import LOG, follow_pod
from ..profiles.model_manifest import NOT_FOUND, ModelManifest, dump_manifest, parse_manifest
from .app import NIMCacheApp
from .constants import MANIFEST_KEY, MODEL_FREE, NATIVE, READY
from .prepared import is_prepared
from .source import ALL_PROFILES, ARTIFACT, content_of, source_of

PROTOCOL = "protocol"


@dataclass(frozen=True)
class Probe:
    """The result of the search so far.

    ``fresh``: the manifest, if it was just found in the log. ``pod``: the probe pod is wanted.
    ``waiting``: the event that the search waits for, empty when it is over.
    """

    cache_type: str = ""
    fresh: ModelManifest | None = None
    pod: bool = False
    waiting: str = ""


def probe_image(app: NIMCacheApp) -> Probe:
    """Continue the search; NimError if the result is unreadable or the pod is not ours."""
    cache_type = stored_type(app)
    if app.observed.get(PROTOCOL) == NATIVE:
        return Probe(NATIVE)
    if not needs_probe(app):
        return Probe(cache_type)
    if needs_protocol(app):
        app.observed.refuse_invalid_mirrors()
    if app.observed.get(PROTOCOL) == LATER:
        is_there = app.live("Pod", app.pod_name) is not None
        return Probe(pod=is_there, waiting="the registry, which is slow to answer")
    target = f"ConfigMap {app.config_map_name}"
    config_map = app.live("ConfigMap", app.config_map_name)
    if refuse_foreign(config_map, app.resource, target) == "leaving" or is_map_stale(app):
        return Probe(waiting=f"{target} to be deleted")
    return _probe_by_pod(app)


def stored_type(app: NIMCacheApp) -> str:
    """The type that an earlier pass found; it is final once the Job exists."""
    may_be_of_other_image = has_spec_changed(app.resource) and not _is_decided(app)
    return "" if may_be_of_other_image else str(app.status.get("type") or "")


def is_map_stale(app: NIMCacheApp) -> bool:
    """Whether the stored manifest is that of another image."""
    live = app.live("ConfigMap", app.config_map_name)
    return live is not None and has_other_source(live, source_of(app).puller)


def needs_probe(app: NIMCacheApp) -> bool:
    """Whether the search is still to do.

    For images with several profiles the manifest is stored; for other images it only determines
    the Job's command, which neither a prepared claim nor a model in a registry needs.
    """
    is_elsewhere = is_prepared(app) or bool(app.annotation(ARTIFACT))
    if stored_type(app) or (not source_of(app).is_optimized and is_elsewhere):
        return False
    config_map = app.live("ConfigMap", app.config_map_name)
    if ownership_of(config_map, app.resource) == "ours" and not is_map_stale(app):
        return False
    return source_of(app).is_optimized or not _is_decided(app)


def _is_decided(app: NIMCacheApp) -> bool:
    """Whether the Job for the source exists, or existed."""
    job = app.live("Job", app.job_name)
    return app.state == READY or (job is not None and not has_other_source(job, content_of(app)))


def needs_protocol(app: NIMCacheApp) -> bool:
    """Whether to query the registry: before the probe pod is created, and if it found nothing.

    While the pod runs, a slow registry would only delay each pass.
    """
    started = app.state == READY or app.live("Job", app.job_name) is not None
    if not source_of(app).is_optimized or started or not needs_probe(app):
        return False
    if app.live("Pod", app.pod_name) is None:
        return True
    return NOT_FOUND in (app.observed.get(LOG) or "")


def stored_manifest(app: NIMCacheApp, probe: Probe) -> ModelManifest:
    """The manifest found in this pass or earlier; NimError if there is none."""
    if probe.fresh:
        return probe.fresh
    name = app.config_map_name
    live = app.live("ConfigMap", name)
    if live is None:
        raise NimError(
            "failed to get model manifest config file: unable to get ConfigMap"
            f' {name}: ConfigMap "{name}" not found (the image has no model manifest to choose'
            ' profiles from: set spec.source.ngc.model.profiles to ["all"])',
            reason="NoModelManifest",
        )
    text = (live.get("data") or {}).get(MANIFEST_KEY)
    if not text:
        raise NimError(
            f"failed to get model manifest config file: ConfigMap {name} has no key {MANIFEST_KEY}"
            " (delete the ConfigMap to have it recreated)",
            reason="NoModelManifest",
        )
    return parse_manifest(text)


def unknown_profiles(app: NIMCacheApp, probe: Probe) -> list[str]:
    """The profiles of the spec that the image's manifest lacks; none if there is no manifest."""
    named = [name for name in source_of(app).profiles if name != ALL_PROFILES]
    if not named or (probe.fresh is None and app.live("ConfigMap", app.config_map_name) is None):
        return []
    try:
        known = {profile.id for profile in stored_manifest(app, probe).profiles}
    except NimError:  # an edited ConfigMap; the download does not need it
        return []
    return [name for name in named if known and name not in known]


def _probe_by_pod(app: NIMCacheApp) -> Probe:
    name = app.pod_name
    found = follow_pod(app.resource, app.live("Pod", name), name, app.observed.get(LOG))
    if found.waiting:
        return Probe(pod=found.is_wanted, waiting=found.waiting)
    if not found.log.text:
        is_plain = source_of(app).is_hf and not found.log.has_puller
        return Probe("" if is_plain else MODEL_FREE)
    fresh = parse_manifest(found.log.text)
    dump_manifest(fresh)  # raises NimError here, as a probe problem, if it is too large
    return Probe(fresh=fresh)
