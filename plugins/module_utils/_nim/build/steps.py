# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The progress of a build: the cache, then the build pod, then the manifest of the built engine.

Each pass derives it from the live state. The status records completed steps: that the engine is
built, before the build pod is deleted, and that the cache lists it, before the manifest pod is.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace

from ..._base.errors import NimError
from ..._base.types import Manifest
from ..._builders.nim_metadata import find_cache_excess
from ..._builders.pod import has_ended, is_pod_ready
from ..._builders.pod_problems import why_ended, why_not_ready
from ..._builders.tenant_limits import POD_LABELS, key_violations, refuse, root_violations
from ..._engine.created_once import has_other_source, is_outdated
from ..._engine.desired import StatusPatch
from ..._engine.oversized import is_stub
from ..._engine.ownership import ownership_of, refuse_foreign
from ..cache_spec import parse_cache
from ..cache_spec import why_not_ready as why_cache_not_ready
from ..profiles.manifest_pod import LOG, follow_pod
from ..profiles.model_manifest import Profile, manifest_map_name, parse_manifest
from .app import NIMBuildApp
from .build_pod import build_engine_pod
from .constants import FAILED, READY
from .manifest_pod import LOCAL_MANIFEST, add_manifest, build_manifest_pod
from .profiles import check_capacity, find_built, list_buildable, list_in_cache, profile_of

Stage = t.Literal[
    "cache missing",
    "cache failed",
    "cache awaited",
    "volume lost",
    "no profile",
    "several profiles",
    "waiting",
    "to build",
    "building",
    "build failed",
    "built",
    "reading",
    "read",
    "finished",
    "problem",
]

NO_ENGINE = "NoLocalManifest"
SPEC_CHANGED = "SpecChanged"


@dataclass(frozen=True)
class Step:
    """The current step of a build, and its objects.

    ``waiting``: (reason, message) of the wait or the failure. ``pod``: the pod to create.
    ``kept``: the names of the pods to keep or create. ``profile``: the input profile in the cache's
    list. ``built``: the built profile. ``listing``: the patch that adds it to the cache's list.
    """

    stage: Stage
    waiting: tuple[str, str] | None = None
    pod: Manifest | None = None
    kept: tuple[str, ...] = ()
    profile: Manifest | None = None
    config_map: Manifest | None = None
    built: Profile | None = None
    listing: StatusPatch | None = None
    problem: NimError | None = None


def next_step(app: NIMBuildApp) -> Step:
    """The next step; it raises nothing, because a problem is also a step."""
    if app.is_finished:
        return Step("finished")
    cache = app.live("NIMCache", app.spec.cache_name)
    pods = (app.build_pod_name, app.manifest_pod_name)
    if cache is None or cache["metadata"].get("deletionTimestamp"):
        return Step("cache missing")
    state = (cache.get("status") or {}).get("state")
    if is_pvc_lost(app, cache):
        message = (
            f"waiting for PersistentVolumeClaim {parse_cache(cache).claim.name} to be recreated"
        )
        if state != READY:
            message = f"{message}: {why_cache_not_ready(cache)}"
        return Step("volume lost", ("WaitingForPVC", message))
    if state != READY:
        return Step("cache failed" if state == FAILED else "cache awaited", kept=pods)
    try:
        return _use(app, cache)
    except NimError as error:
        # Keep an unreadable or foreign pod for inspection.
        return Step("problem", kept=pods, problem=error)


def _use(app: NIMBuildApp, cache: Manifest) -> Step:
    if excess := find_cache_excess(cache):
        raise excess
    return (_read_manifest if app.is_built else _build)(app, cache)


def is_pvc_lost(app: NIMBuildApp, cache: Manifest) -> bool:
    """Whether the PVC of our pods is gone, or terminating: the pods would block its deletion."""
    if is_stub(cache):
        return False
    name = parse_cache(cache).claim.name
    if not app.was_read("PersistentVolumeClaim", name):
        return False
    claim = app.live("PersistentVolumeClaim", name)
    return claim is None or bool(claim["metadata"].get("deletionTimestamp"))


def _build(
    app: NIMBuildApp,
    cache: Manifest,
) -> Step:
    name = app.build_pod_name
    pod = app.live("Pod", name)
    if refuse_foreign(pod, app.resource, f"Pod {name}") == "leaving":
        return Step("waiting", ("WaitingForPod", f"waiting for Pod {name} to be deleted"))
    if pod is None:
        return _start(
            app,
            cache,
        )
    if _must_rebuild(app, pod):
        message = f"Pod {name} is recreated, because the spec has changed"
        return Step("waiting", (SPEC_CHANGED, message))
    return replace(_follow(pod), kept=(name,), profile=profile_of(pod, cache))


def _must_rebuild(app: NIMBuildApp, pod: Manifest) -> bool:
    """Whether the spec requires a new pod; a finished one suffices for the same engine."""
    if is_pod_ready(pod):
        return has_other_source(pod, app.content)
    return is_outdated(pod, app.resource)


def _start(
    app: NIMBuildApp,
    cache: Manifest,
) -> Step:
    """Create the build pod; NimError if the operator forbids it, or the cache is full."""
    refuse(
        [
            *key_violations(app.observed, POD_LABELS, "spec.labels", app.spec.labels),
            *_root_violations(app, cache),
        ]
    )
    check_capacity(cache)
    app = _without_forbidden_labels(app)
    profiles = list_buildable(app, cache)
    if len(profiles) != 1:
        return Step("several profiles" if profiles else "no profile")
    pod = build_engine_pod(app, cache, profiles[0], app.observed.orchestrator)
    return Step("to build", pod=pod, kept=(app.build_pod_name,), profile=profiles[0])


def _root_violations(app: NIMBuildApp, cache: Manifest) -> list[str]:
    """Violations of the root limit: pods run as the user of the cache."""
    if parse_cache(cache).user != 0:
        return []
    return root_violations(app, f"spec.userID of NIMCache {cache['metadata']['name']}", 0)


def _without_forbidden_labels(app: NIMBuildApp) -> NIMBuildApp:
    """The NIMBuild without forbidden labels, which tools may set and the pod must not get."""
    labels = {
        key: value
        for key, value in (app.resource["metadata"].get("labels") or {}).items()
        if not key_violations(app.observed, POD_LABELS, "", [key])
    }
    metadata = {**app.resource["metadata"], "labels": labels}
    return NIMBuildApp({**app.resource, "metadata": metadata}, app.observed)


def _follow(pod: Manifest) -> Step:
    if is_pod_ready(pod):
        return Step("built")
    name = pod["metadata"]["name"]
    if has_ended(pod):
        message = f"Pod {name} ended: {why_ended(pod)}; see its log. Delete it to build again"
        return Step("build failed", ("PodFailed", message))
    message = f"waiting for Pod {name} to build the engine{why_not_ready(pod)}"
    return Step("building", ("BuildingEngine", message))


def _read_manifest(
    app: NIMBuildApp,
    cache: Manifest,
) -> Step:
    name = app.manifest_pod_name
    live = app.live("Pod", name)
    found = follow_pod(app.resource, live, name, app.observed.get(LOG))
    if found.waiting:
        pod = build_manifest_pod(app, cache, app.observed.orchestrator) if live is None else None
        kept = (name,) if found.is_wanted else ()
        return Step("reading", ("WaitingForManifest", f"waiting for {found.waiting}"), pod, kept)
    if not found.log.text:
        raise NimError(
            f"the build left no {LOCAL_MANIFEST} on the volume of NIMCache {app.spec.cache_name},"
            " so there is no engine: recreate the NIMBuild to build again",
            reason=NO_ENGINE,
        )
    manifest = parse_manifest(found.log.text)
    built = find_built(app, manifest)
    return Step(
        "read",
        kept=(name,),
        config_map=add_manifest(app, _config_map_of(app, cache), manifest),
        built=built,
        listing=list_in_cache(app, cache, built),
    )


def _config_map_of(app: NIMBuildApp, cache: Manifest) -> Manifest:
    name = manifest_map_name(cache["metadata"]["name"])
    live = app.live("ConfigMap", name)
    if live is None or ownership_of(live, cache) != "ours":
        raise NimError(
            f'unable to get ConfigMap {name}: ConfigMap "{name}" not found, or not owned by'
            " the NIMCache (which recreates it in its next reconcile)",
            reason="NoModelManifest",
        )
    return live
