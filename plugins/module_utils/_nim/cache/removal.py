# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The removal of the files of former versions, one at a time, once nothing mounts them.

The first version is in a folder that others may use as well. So its files are removed only if the
NIMCache created the claim, and no other resource names it.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..._base.errors import NimError
from ..._base.types import Fields, Manifest
from ..._builders.pod import has_ended
from ..._engine.conditions import STALLED, find_condition
from ..._engine.created_once import has_other_source
from ..._engine.metadata import controller_of, is_deleted
from ..._engine.ownership import refuse_foreign
from ..._engine.reads import Read, ReadClaimFolders, ReadObject, ReadObjects
from ..cache_spec import join, mounted_folder, mounts_claim, named_cache, parse_cache
from ..cache_versions import FOLDER, Version, former_versions
from .app import NIMCacheApp
from .claim_fate import may_remove_files
from .job import build_removal_job
from .steps import has_succeeded, job_condition
from .turns import mounted_by, services_of
from .wanted import is_renewal_wanted, wanted_version

_CLAIM, _CACHE = "PersistentVolumeClaim", "NIMCache"
_FINISHED = ("Ready", "Failed")


@dataclass(frozen=True)
class Removal:
    """The next step of the removal.

    ``started``: a version that nothing uses, to mark; ``job``: the Job to create, which removes its
    files. ``is_job_unwanted``: the live Job has ended, or is that of another version. ``done``: a
    version that has no files any more. ``left``: one whose files stay, as others may use them.
    ``waiting`` and ``problem``: texts about files that still exist.
    """

    job: Manifest | None = None
    started: Version | None = None
    is_job_unwanted: bool = False
    done: Version | None = None
    left: Version | None = None
    waiting: str = ""
    problem: str = ""


def removal_reads(app: NIMCacheApp) -> list[Read]:
    """The reads while there are former versions: who uses the claim, and the Job."""
    if not app.status.get("former"):
        return []
    namespace, claim = app.namespace, app.spec.claim.name
    return [
        ReadObject("Job", namespace, app.removal_name),
        ReadObjects(_CACHE, namespace),
        ReadClaimFolders(namespace, claim),
    ]


def plan_removal(app: NIMCacheApp) -> Removal:
    """The next step of the removal.

    A version is marked before its Job exists: no one returns to files that are being removed.
    """
    former = [item for item in former_versions(app.resource) if not _is_resumed(app, item)]
    live = app.live("Job", app.removal_name)
    if not former:
        return Removal()
    version = next((item for item in former if item.is_removed), None)
    if version is not None:
        try:
            return _follow(app, version, live)
        except NimError as error:  # a foreign Job, or an image that is not given
            return Removal(problem=str(error))
    reasons = {item.version_id: why_used(app, item) for item in former}
    unused = next((item for item in former if not reasons[item.version_id]), None)
    if unused is None:
        return Removal(waiting="; ".join(dict.fromkeys(reasons.values())))
    if not unused.folder and not _owns_first(app):
        return Removal(left=unused)
    return Removal(started=unused)


def _follow(app: NIMCacheApp, version: Version, live: Manifest | None) -> Removal:
    """The step of the Job that removes the files of a version."""
    name = app.removal_name
    if live is None:
        return Removal(job=build_removal_job(app, version.folder, app.observed.orchestrator))
    if refuse_foreign(live, app.resource, f"Job {name}") == "leaving":
        return Removal(waiting=f"waiting for Job {name} to be deleted")
    if has_other_source(live, version.folder):
        return Removal(is_job_unwanted=True, waiting=f"Job {name} of other files is deleted")
    if has_succeeded(live):
        return Removal(is_job_unwanted=True, done=version)
    if failed := job_condition(live, "Failed"):
        return Removal(problem=_failure_text(app, version, str(failed.get("message") or "")))
    return Removal(waiting=f"Job {name} removes the files of {_title(version)}")


def _is_resumed(app: NIMCacheApp, version: Version) -> bool:
    """Whether a download continues this part of one."""
    if version.is_removed or version.source or not is_renewal_wanted(app):
        return False
    return wanted_version(app).version_id == version.version_id


def why_used(app: NIMCacheApp, version: Version) -> str:
    """Why the files of a version must stay; empty if nothing uses them."""
    services = services_of(app.resource, app.listed("NIMService") or [])
    names = [item["metadata"]["name"] for item in services if mounted_by(item) == version.name]
    if names and version.source:
        return f"NIMService {names[0]} still mounts {_title(version)}"
    named = _named_folders(app) if version.folder else {}
    for user, folder in named.items():
        if _mounts(app, [folder], version):
            return f"{user} names {_title(version)}"
    pods = app.observed.get(ReadClaimFolders(app.namespace, app.spec.claim.name).key)
    if pods is None:
        return "the pods of the namespace are not known"
    for pod in pods:
        if not has_ended(pod) and _mounts(app, _folders_of(app, pod), version):
            return f"Pod {pod['metadata']['name']} still mounts {_title(version)}"
    return ""


def building(app: NIMCacheApp) -> str:
    """A NIMBuild that adds a profile to the served version; empty if there is none."""
    for build in app.listed("NIMBuild") or []:
        status = build.get("status") or {}
        stalled = find_condition(status.get("conditions"), STALLED) or {}
        is_over = status.get("state") in _FINISHED or stalled.get("status") == "True"
        is_over = is_over or is_deleted(build)
        if named_cache(build) == app.name and not is_over:
            return str(build["metadata"]["name"])
    return ""


def _owns_first(app: NIMCacheApp) -> bool:
    """Whether the files beside the renewed versions are the NIMCache's own."""
    if not app.spec.claim.is_created or not may_remove_files(app):
        return False
    claim = app.spec.claim.name
    if any(mounts_claim(item, claim) for item in app.listed("NIMService") or []):
        return False
    others = (item for item in app.listed(_CACHE) or [] if item["metadata"]["name"] != app.name)
    return not any(_claim_of(item) == claim for item in others)


def _claim_of(cache: Fields) -> str:
    return parse_cache(cache).claim.name


def _named_folders(app: NIMCacheApp) -> dict[str, str]:
    """The folders of the claim that other resources name, by kind and name of the resource."""
    claim, found = app.spec.claim.name, {}
    for item in app.listed("NIMService") or []:
        if mounts_claim(item, claim) and not is_deleted(item):
            found[f"NIMService {item['metadata']['name']}"] = mounted_folder(item)
    for item in app.listed(_CACHE) or []:
        name = str(item["metadata"]["name"])
        if name != app.name and _claim_of(item) == claim:
            found[f"NIMCache {name}"] = parse_cache(item).claim.sub_path
    return found


def _mounts(app: NIMCacheApp, folders: t.Iterable[str], version: Version) -> bool:
    """Whether one of these folders of the claim contains files of a version."""
    return any(_overlaps(app, folder.strip("/"), version) for folder in folders)


def _overlaps(app: NIMCacheApp, folder: str, version: Version) -> bool:
    parent = app.spec.claim.sub_path.strip("/")
    if version.folder:
        return _share_files(folder, join(parent, version.folder))
    return not _is_below(folder, join(parent, FOLDER)) and _share_files(folder, parent)


def _share_files(*folders: str) -> bool:
    """Whether one of two folders is the other one, or in it."""
    return _is_below(*folders) or _is_below(*reversed(folders))


def _is_below(folder: str, parent: str) -> bool:
    """Whether a folder is another one, or in it; an empty parent is the whole volume."""
    return not parent or folder == parent or folder.startswith(f"{parent}/")


def _folders_of(app: NIMCacheApp, pod: Fields) -> list[str]:
    """The folders that a pod uses. Our Jobs mount the parent of the versions, to make folders."""
    owner, folders = controller_of(pod) or {}, [str(item) for item in pod["folders"]]
    if owner.get("kind") != "Job" or owner.get("name") not in (app.renewal_name, app.removal_name):
        return folders
    parent = app.spec.claim.sub_path.strip("/")
    return [folder for folder in folders if folder.strip("/") != parent]


def _title(version: Version) -> str:
    return f"the version in {version.folder}" if version.folder else "the first version"


def _failure_text(app: NIMCacheApp, version: Version, why: str) -> str:
    return (
        f"the files of {_title(version)} in claim {app.spec.claim.name} were not removed: Job"
        f" {app.removal_name} failed: {why or 'it gave no reason'}; see the logs of its pods."
        " The removal is tried again when the Job is deleted"
    )
