# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""How far a build has come: the cache, then the build pod, then the manifest of what it built.

Found anew on every pass, from what is live. The status keeps what is over: that the engine is
built, before its pod goes, and that the cache lists it, before the other pod goes.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace

from ansible_collections.nimops.nim.plugins.module_utils._common.desired import (
    Manifest,
    StatusPatch,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._common.manifest import (
    Profile,
    manifest_map_name,
    parse_manifest,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.manifest_pod import (
    LOG,
    follow_pod,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._common.pods import (
    is_pod_ready,
    phase_of,
    why_ended,
    why_not_running,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.policy import (
    POD_LABELS,
    key_faults,
    refuse,
    root_faults,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.pvc import claim_name
from ansible_collections.nimops.nim.plugins.module_utils._common.resources import object_key
from ansible_collections.nimops.nim.plugins.module_utils._common.standing import (
    refuse_foreign,
    standing_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimbuild.build_pod import build_engine_pod
from ansible_collections.nimops.nim.plugins.module_utils._nimbuild.manifest_pod import (
    LOCAL_MANIFEST,
    add_manifest,
    build_manifest_pod,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimbuild.names import (
    FAILED,
    READY,
    Resource,
    build_pod_name,
    cache_name,
    is_built,
    is_finished,
    manifest_pod_name,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimbuild.profiles import (
    check_room,
    find_built,
    list_buildable,
    list_in_cache,
    profile_of,
)

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


@dataclass(frozen=True)
class Step:
    """Where a build stands, and what that takes.

    ``waiting``: a (reason, message), of what is to come or of the failure. ``pod``: one to make.
    ``kept``: the names of the pods that are to stay or come. ``profile``: the one that is built
    for, as the cache lists it. ``built``: the one that was built. ``listing``: what makes the cache
    list it.
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


def take_step(cr: Resource, observed: Observed) -> Step:
    """The step to take now; raises nothing, as a problem is a step."""
    if is_finished(cr):
        return Step("finished")
    cache = observed.object("NIMCache", cache_name(cr))
    pods = (build_pod_name(cr), manifest_pod_name(cr))
    if cache is None or cache["metadata"].get("deletionTimestamp"):
        return Step("cache missing")
    if is_claim_lost(cache, observed):
        message = f"waiting for PersistentVolumeClaim {claim_name(cache)} to be made anew"
        return Step("volume lost", ("WaitingForPVC", message))
    state = (cache.get("status") or {}).get("state")
    if state != READY:
        return Step("cache failed" if state == FAILED else "cache awaited", kept=pods)
    take = _read_manifest if is_built(cr) else _build
    try:
        return take(cr, cache, observed)
    except NimError as error:
        # A pod that cannot be read or is in the way stays, to look at.
        return Step("problem", kept=pods, problem=error)


def is_claim_lost(cache: Manifest, observed: Observed) -> bool:
    """Whether the volume that pods of ours work on is gone or going, which they would hold up."""
    name = claim_name(cache)
    if not observed.has(object_key("PersistentVolumeClaim", name)):
        return False
    claim = observed.object("PersistentVolumeClaim", name)
    return claim is None or bool(claim["metadata"].get("deletionTimestamp"))


def _build(cr: Resource, cache: Manifest, observed: Observed) -> Step:
    name = build_pod_name(cr)
    pod = observed.object("Pod", name)
    if refuse_foreign(pod, cr, f"Pod {name}") == "leaving":
        return Step("waiting", ("WaitingForPod", f"waiting for Pod {name} to be gone"))
    if pod is None:
        return _start(cr, cache, observed)
    return replace(_follow(pod), kept=(name,), profile=profile_of(pod, cache))


def _start(cr: Resource, cache: Manifest, observed: Observed) -> Step:
    """NimError if it is for nothing: the operator forbids it, or the cache is full."""
    refuse(
        [
            *key_faults(observed, POD_LABELS, "spec.labels", cr["spec"].get("labels")),
            *_root_faults(cache, observed),
        ]
    )
    check_room(cache)
    cr = _without_forbidden_labels(cr, observed)
    profiles = list_buildable(cr, cache)
    if len(profiles) != 1:
        return Step("several profiles" if profiles else "no profile")
    pod = build_engine_pod(cr, cache, profiles[0], observed.orchestrator)
    return Step("to build", pod=pod, kept=(build_pod_name(cr),), profile=profiles[0])


def _root_faults(cache: Manifest, observed: Observed) -> list[str]:
    """Pods run as the user of the cache."""
    if cache["spec"].get("userID") != 0:
        return []
    return root_faults(observed, f"spec.userID of NIMCache {cache['metadata']['name']}", 0)


def _without_forbidden_labels(cr: Resource, observed: Observed) -> Resource:
    """Tools label the NIMBuild itself as they like: the pod gets of these what it may have."""
    labels = {
        key: value
        for key, value in (cr["metadata"].get("labels") or {}).items()
        if not key_faults(observed, POD_LABELS, "", [key])
    }
    return {**cr, "metadata": {**cr["metadata"], "labels": labels}}


def _follow(pod: Manifest) -> Step:
    if is_pod_ready(pod):
        return Step("built")
    name = pod["metadata"]["name"]
    if phase_of(pod) in ("Failed", "Succeeded"):
        message = f"Pod {name} ended: {why_ended(pod)}; see its log. Delete it to build again"
        return Step("build failed", ("PodFailed", message))
    message = f"waiting for Pod {name} to build the engine{why_not_running(pod)}"
    return Step("building", ("BuildingEngine", message))


def _read_manifest(cr: Resource, cache: Manifest, observed: Observed) -> Step:
    name = manifest_pod_name(cr)
    live = observed.object("Pod", name)
    found = follow_pod(cr, live, name, observed.get(LOG))
    if found.waiting:
        pod = build_manifest_pod(cr, cache, observed.orchestrator) if live is None else None
        kept = (name,) if found.is_wanted else ()
        return Step("reading", ("WaitingForManifest", f"waiting for {found.waiting}"), pod, kept)
    if not found.log.text:
        raise NimError(
            f"the build has left no {LOCAL_MANIFEST} on the volume of NIMCache {cache_name(cr)}, so"
            " there is no engine: make the NIMBuild anew to build again",
            reason=NO_ENGINE,
        )
    manifest = parse_manifest(found.log.text)
    built = find_built(cr, manifest)
    return Step(
        "read",
        kept=(name,),
        config_map=add_manifest(cr, _config_map_of(cache, observed), manifest),
        built=built,
        listing=list_in_cache(cr, cache, built),
    )


def _config_map_of(cache: Manifest, observed: Observed) -> Manifest:
    name = manifest_map_name(cache["metadata"]["name"])
    live = observed.object("ConfigMap", name)
    if live is None or standing_of(live, cache) != "ours":
        raise NimError(
            f'unable to get ConfigMap {name}: ConfigMap "{name}" not found, or not that of'
            " the NIMCache (which makes it anew when it reconciles next)",
            reason="NoModelManifest",
        )
    return live
