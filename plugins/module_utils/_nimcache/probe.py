# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""How far the search for the model manifest of a NIMCache has come."""

from __future__ import annotations

from dataclasses import dataclass

from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._common.manifest import (
    NOT_FOUND,
    ModelManifest,
    dump_manifest,
    parse_manifest,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.manifest_pod import (
    LOG,
    follow_pod,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import LATER, Observed
from ansible_collections.nimops.nim.plugins.module_utils._common.standing import (
    refuse_foreign,
    standing_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimcache.flavour import (
    is_hf_style,
    is_optimized,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimcache.names import (
    MANIFEST_KEY,
    MODEL_FREE,
    NATIVE,
    READY,
    Resource,
    config_map_name,
    job_name,
    pod_name,
    state_of,
)

PROTOCOL = "protocol"


@dataclass(frozen=True)
class Probe:
    """What is known of the image.

    ``fresh``: the manifest was just found in the log. ``pod``: the probe pod is wanted.
    ``waiting``: what is waited for, empty when the search is over.
    """

    cache_type: str = ""
    fresh: ModelManifest | None = None
    pod: bool = False
    waiting: str = ""


def probe_image(cr: Resource, observed: Observed) -> Probe:
    """Go on with the search. NimError if what was found cannot be read or is not ours."""
    cache_type = stored_type(cr)
    if observed.get(PROTOCOL) == NATIVE:
        return Probe(NATIVE)
    if not needs_probe(cr, observed):
        return Probe(cache_type)
    if observed.get(PROTOCOL) == LATER:
        is_there = observed.object("Pod", pod_name(cr)) is not None
        return Probe(pod=is_there, waiting="the registry, which does not answer at once")
    what = f"ConfigMap {config_map_name(cr)}"
    config_map = observed.object("ConfigMap", config_map_name(cr))
    if refuse_foreign(config_map, cr, what) == "leaving":
        return Probe(waiting=f"{what} to be gone")
    return _probe_by_pod(cr, observed)


def stored_type(cr: Resource) -> str:
    """The type that was decided before. It stays: the image of a NIMCache cannot change."""
    return str((cr.get("status") or {}).get("type") or "")


def needs_probe(cr: Resource, observed: Observed) -> bool:
    """Whether the manifest has still to be found.

    Where there is a choice of profiles it is kept for good; elsewhere it only decides the command
    of the Job.
    """
    if stored_type(cr):
        return False
    config_map = observed.object("ConfigMap", config_map_name(cr))
    if standing_of(config_map, cr) == "ours":
        return False
    decided = observed.object("Job", job_name(cr)) is not None or state_of(cr) == READY
    return is_optimized(cr) or not decided


def needs_protocol(cr: Resource, observed: Observed) -> bool:
    """Whether the registry is to be asked: before a probe pod is made, and if it found nothing.

    Not while the pod is at work: a registry that is slow to answer would slow each pass.
    """
    started = state_of(cr) == READY or observed.object("Job", job_name(cr)) is not None
    if not is_optimized(cr) or started or not needs_probe(cr, observed):
        return False
    if observed.object("Pod", pod_name(cr)) is None:
        return True
    return NOT_FOUND in (observed.get(LOG) or "")


def kept_manifest(cr: Resource, observed: Observed, probe: Probe) -> ModelManifest:
    """The manifest found now or before. NimError if the image has none."""
    if probe.fresh:
        return probe.fresh
    name = config_map_name(cr)
    live = observed.object("ConfigMap", name)
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
            " (delete the ConfigMap to have it made again)",
            reason="NoModelManifest",
        )
    return parse_manifest(text)


def _probe_by_pod(cr: Resource, observed: Observed) -> Probe:
    name = pod_name(cr)
    found = follow_pod(cr, observed.object("Pod", name), name, observed.get(LOG))
    if found.waiting:
        return Probe(pod=found.is_wanted, waiting=found.waiting)
    if not found.log.text:
        is_plain = is_hf_style(cr) and not found.log.has_puller
        return Probe("" if is_plain else MODEL_FREE)
    fresh = parse_manifest(found.log.text)
    dump_manifest(fresh)  # one that cannot be kept is a problem of the probe
    return Probe(fresh=fresh)
