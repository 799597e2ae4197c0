# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The download of another version of the model, beside the one that a Ready NIMCache serves.

The download runs as the first one does, for a NIMCache that has only this version: with a folder,
a Job and a state of its own, which `status.renewal` keeps.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ..._base.types import Json
from ..._engine.ownership import ownership_of
from ..cache_spec import in_folder
from ..cache_versions import Version, former_versions, parse_version, served_version
from .app import NIMCacheApp
from .job import folder_of_job
from .prepared import PREPARED, is_prepared
from .steps import Problem, Steps, download_steps
from .wanted import is_renewal_wanted, wanted_version

MAX_FORMER = 2
"""Former versions beside which a renewal may start; each can be as large as the served one."""

AWAITS_REMOVAL = "WaitingForRemoval"
_PREPARED = Problem(
    "spec.source has changed, but the claim holds the model according to the annotation"
    f" {PREPARED}: remove the annotation to download the model beside it, or create another"
    " NIMCache for another claim",
    "ClaimPrepared",
)
_DOWNLOAD_FIELDS = ("state", "type", "download", "profiles")


class RenewalApp(NIMCacheApp):
    """The context of the download: the NIMCache with only the version of its spec."""

    @property
    def job_name(self) -> str:
        """The Job that downloads the version."""
        return self.renewal_name

    @property
    def folder(self) -> str:
        """The folder of the version, below the folder of the spec."""
        return str(self.status.get("folder") or "")

    @property
    def kept_bytes(self) -> int:
        """The bytes of the versions that stay during the download, as far as known."""
        return int(self.status.get("kept") or 0)

    @property
    def likely_size(self) -> int:
        """The size of the served version."""
        return int(self.status.get("likely") or 0)


@dataclass(frozen=True)
class Renewal:
    """The progress of a renewal.

    ``version``: the wanted one. ``app``: the context of its download, and ``steps`` its steps.
    ``reused``: a former version that is the wanted one, so that nothing is downloaded.
    """

    version: Version
    app: RenewalApp
    steps: Steps = field(default_factory=Steps)
    reused: Version | None = None

    @property
    def awaits_removal(self) -> bool:
        """Whether files must be removed before the download."""
        return self.steps.waiting is not None and self.steps.waiting[0] == AWAITS_REMOVAL

    @property
    def download_status(self) -> Json:
        """The status of the download, as that of a NIMCache with this version only."""
        status = self.app.status
        return {name: status[name] for name in _DOWNLOAD_FIELDS if name in status}


def find_renewal(app: NIMCacheApp) -> Renewal | None:
    """The renewal that the spec requires, with its next steps; None without one."""
    if not is_renewal_wanted(app):
        return None
    version = wanted_version(app)
    if is_prepared(app):
        return Renewal(version, _app_of(app, version), Steps(problem=_PREPARED))
    former = {item.version_id: item for item in former_versions(app.resource)}
    found = former.get(version.version_id)
    renewal = Renewal(version, _app_of(app, version))
    if found is not None and found.source and not found.is_removed:
        return replace(renewal, reused=found)
    if found is not None and found.is_removed:
        text = "waiting for the removal of earlier files of this version"
        return replace(renewal, steps=Steps(waiting=(AWAITS_REMOVAL, text)))
    if len({*former} - {version.version_id}) >= MAX_FORMER:
        text = "waiting for the removal of former versions, which services still mount"
        return replace(renewal, steps=Steps(waiting=(AWAITS_REMOVAL, text)))
    return replace(renewal, steps=_steps_of(renewal.app))


def abandoned_version(app: NIMCacheApp) -> Version | None:
    """The part of a download that the spec no longer requires."""
    current = app.status.get("renewal")
    if not current:
        return None
    version = parse_version(current)
    if is_renewal_wanted(app) and wanted_version(app).version_id == version.version_id:
        return None
    return Version(version.version_id, version.folder)


def is_job_unwanted(app: NIMCacheApp, renewal: Renewal | None) -> bool:
    """Whether the Job of a renewal exists that is not wanted, or not any more."""
    live = app.live("Job", app.renewal_name)
    if live is None or ownership_of(live, app.resource) == "foreign":
        return False
    if renewal is None or renewal.reused:
        return bool(app.status.get("renewal"))
    return renewal.steps.is_job_stale


def to_status(renewal: Renewal, status: Json) -> Json:
    """`status.renewal` from the status of the download."""
    fields = {name: status[name] for name in _DOWNLOAD_FIELDS if status.get(name)}
    return {"id": renewal.version.version_id, "folder": renewal.version.folder, **fields}


def renewal_app(app: NIMCacheApp) -> NIMCacheApp | None:
    """The context of the download that a renewal needs; None if none is wanted."""
    return _app_of(app, wanted_version(app)) if is_renewal_wanted(app) else None


def _steps_of(app: RenewalApp) -> Steps:
    """The steps of the download; the Job of another version is deleted first."""
    live = app.live("Job", app.job_name)
    is_ours = live is not None and ownership_of(live, app.resource) == "ours"
    if live and is_ours and folder_of_job(live) != app.spec.claim.sub_path:
        text = f"waiting for Job {app.job_name} of another version to be deleted"
        return Steps(is_job_stale=True, waiting=("WaitingForJob", text))
    return download_steps(app)


def _app_of(app: NIMCacheApp, version: Version) -> RenewalApp:
    """The context of the download of a version."""
    current = app.status.get("renewal") or {}
    known = current if current.get("id") == version.version_id else {}
    served = served_version(app.resource) or version
    kept = served.size + sum(item.size for item in former_versions(app.resource))
    status = {
        **{name: known[name] for name in _DOWNLOAD_FIELDS if name in known},
        "observedGeneration": app.status.get("observedGeneration"),
        "folder": version.folder,
        "likely": served.size,
        "kept": kept,
    }
    return RenewalApp({**in_folder(app.resource, version.folder), "status": status}, app.observed)
