# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The status of a Ready NIMCache about its versions: served, renewed, former."""

from __future__ import annotations

import json
import typing as t
from dataclasses import replace

from ..._base.types import Json
from ..._engine.desired import Event, Outcome, Requeue, Trigger
from ..._engine.status_builder import StatusBuilder
from ..cache_versions import (
    CACHE_STORE,
    Version,
    former_versions,
    served_version,
    turn_value,
)
from .app import NIMCacheApp
from .constants import FAILED, READY
from .disk_need import size_of_served
from .download_status import follow_job, record_start
from .record import Record
from .removal import Removal, building, plan_removal
from .renewal import Renewal, abandoned_version, find_renewal, to_status
from .turns import Turn, next_turn
from .wanted import is_renewing, wanted_version

RENEWED = "Renewed"
"""The condition of a renewed NIMCache: whether all NIMServices mount the version of its spec."""

RENEWAL_FAILED = "RenewalFailed"
_DOWNLOADING, _SWITCHING, _NOT_READY = "Downloading", "Switching", "ServiceNotReady"
_REMOVAL_FAILED = "RemovalFailed"
_MAX_FORMER_PROFILES, _MAX_FORMER_BYTES = 512, 128 << 10
"""The first is the bound of the CRD."""
_ADVICE = "the NIMCache serves what it served before"


def record_first(builder: StatusBuilder, app: NIMCacheApp, adopted: Record | None) -> None:
    """Record the version that a Ready cache serves, if none is recorded: that of its spec.

    The operator refused changes of the source until it recorded this. ``adopted``: the record of
    the claim that it adopted in this pass.
    """
    is_recorded = served_version({"status": builder.status})
    if builder.state != READY or is_recorded or app.spec.source is None:
        return
    status = {**builder.status, "download": app.status.get("download")}
    size = size_of_served(NIMCacheApp({**app.resource, "status": status}, app.observed))
    folder = adopted.folder if adopted else ""
    version = replace(wanted_version(app), folder=folder, size=size)
    builder.set_field("served", version.to_status())


def forget_versions(builder: StatusBuilder) -> None:
    """Forget all versions, which are lost with the claim."""
    for name in ("served", "renewal", "former"):
        builder.set_field(name, None)
    builder.remove_condition(RENEWED)


def report_versions(builder: StatusBuilder, app: NIMCacheApp, outcome: Outcome) -> None:
    """Continue a renewal, then the switch of the services, then the removal of former versions."""
    if not is_renewing(app):
        return
    if abandoned := abandoned_version(app):
        if abandoned.version_id:
            _add_former(builder, abandoned)
        builder.set_field("renewal", None)
    renewal, removal = find_renewal(app), plan_removal(app)
    _record_removal(builder, app, removal)
    if renewal and renewal.reused:
        _serve(builder, app, renewal.reused)
    elif renewal:
        _download(builder, app, renewal, outcome)
    if not renewal:
        _switch(builder, app, removal)
    elif former_versions(app.resource) and not renewal.reused:
        _hand_on(builder, app, next_turn(app.resource, app.listed("NIMService") or []))
    builder.requeue = replace(builder.requeue, after=True)


def _download(builder: StatusBuilder, app: NIMCacheApp, renewal: Renewal, outcome: Outcome) -> None:
    """Follow the download, and serve its version once it is complete and no build is running."""
    if renewal.awaits_removal:
        _wait(builder, *t.cast(tuple[str, str], renewal.steps.waiting))
        return
    inner = _follow(renewal, outcome)
    if inner.state and not renewal.download_status.get("state"):
        text = f"the model is downloaded again, to {renewal.version.folder} of the claim"
        builder.events.append(Event("Normal", "RenewalStarted", text))
    _drop_former(builder, renewal.version.version_id)
    builder.events += inner.events
    builder.set_field("renewal", to_status(renewal, inner.status))
    if inner.state == READY and not (build := building(app)):
        _serve(builder, app, _complete(renewal, inner.status))
    elif inner.state == READY:
        text = f"waiting for NIMBuild {build}, which builds on the files that are served"
        _wait(builder, _DOWNLOADING, text)
    elif inner.stalled:
        _fail(builder, inner)
    else:
        _reason, message = inner.reconciling or ("", "")
        is_slow = builder.requeue.slow or inner.requeue.slow
        builder.requeue = replace(inner.requeue, slow=is_slow)
        _wait(builder, _DOWNLOADING, message)


def _follow(renewal: Renewal, outcome: Outcome) -> StatusBuilder:
    """The status of the download after this pass."""
    inner, steps, app = StatusBuilder(renewal.download_status), renewal.steps, renewal.app
    if inner.state == READY:
        return inner
    inner.set_field("type", steps.probe.cache_type)
    record_start(inner, app, steps)
    if steps.problem:
        inner.stalled = (steps.problem.reason, steps.problem.message)
    elif steps.waiting:
        inner.reconciling = steps.waiting
    else:
        follow_job(inner, app.at(outcome.view(app.observed)), steps, outcome)
    return inner


def _complete(renewal: Renewal, status: Json) -> Version:
    """The version that is complete, with its size if it is known."""
    app = renewal.app
    done = NIMCacheApp({**app.resource, "status": {**app.status, **status}}, app.observed)
    return replace(
        renewal.version,
        size=max(size_of_served(done), size_of_served(app)),
        cache_type=str(status.get("type") or ""),
        profiles=status.get("profiles") or [],
    )


def _serve(builder: StatusBuilder, app: NIMCacheApp, version: Version) -> None:
    """Serve a version that is complete; the present one becomes a former one."""
    served = served_version(app.resource)
    if served:
        kept = replace(
            served,
            cache_type=str(builder.status.get("type") or ""),
            profiles=_bounded(builder.status.get("profiles") or []),
        )
        _drop_former(builder, version.version_id)
        _add_former(builder, kept)
    builder.set_field("renewal", None)
    builder.set_field("type", version.cache_type)
    builder.set_field("profiles", list(version.profiles))
    described = replace(version, cache_type="", profiles=())
    builder.set_field("served", described.to_status())
    where = version.folder or "the folder of the spec"
    text = f"the renewed model in {where} of the claim is complete; services switch one by one"
    builder.events.append(Event("Normal", RENEWED, text))
    _wait(builder, _SWITCHING, text)


def _bounded(profiles: t.Sequence[Json]) -> list[Json]:
    """The first profiles of a former version; the status has only room for some hundred of them."""
    kept, left = [], _MAX_FORMER_BYTES
    for profile in profiles[:_MAX_FORMER_PROFILES]:
        left -= len(json.dumps(profile))
        if left < 0:
            break
        kept.append(profile)
    return kept


def _switch(builder: StatusBuilder, app: NIMCacheApp, removal: Removal) -> None:
    """Report the switch of the services, and then the removal of former versions."""
    turn = next_turn(app.resource, app.listed("NIMService") or [])
    _hand_on(builder, app, turn)
    if turn.service and turn.problem:
        text = (
            f"NIMService {turn.service} does not become Ready with the renewed model:"
            f" {turn.problem}. The services that have not switched stay; change spec.source back,"
            " or fix the NIMService"
        )
        _warn(builder, _NOT_READY, text)
        builder.requeue_slowly()
    elif turn.service:
        _wait(builder, _SWITCHING, f"NIMService {turn.service} switches to the renewed model")
    elif removal.problem:
        builder.warn(RENEWED, _REMOVAL_FAILED, removal.problem)
        builder.requeue_slowly()
    else:
        message = "all NIMServices mount the model of the spec"
        if removal.waiting:
            message += f"; former files: {removal.waiting}"
            builder.requeue_slowly()
        builder.set_condition(RENEWED, True, RENEWED, message)


def _hand_on(builder: StatusBuilder, app: NIMCacheApp, turn: Turn) -> None:
    """Ask the next service to mount the served version."""
    served = served_version(app.resource)
    if turn.is_new and served:
        value = turn_value(app.name, served.version_id)
        builder.triggers.append(Trigger("NIMService", turn.service, CACHE_STORE, value))


def _record_removal(builder: StatusBuilder, app: NIMCacheApp, removal: Removal) -> None:
    former: list[Json] = [item for item in builder.status.get("former") or [] if item.get("id")]
    if removal.started:
        former = [_marked(item, removal.started) for item in former]
    if gone := removal.done or removal.left:
        former = [item for item in former if item.get("id") != gone.version_id]
        what = f"version in {gone.folder}" if gone.folder else "first version"
        is_done = removal.done is not None
        text = (
            f"the files of the {what} are removed from claim {app.spec.claim.name}"
            if is_done
            else f"the files of the {what} stay in claim {app.spec.claim.name}, because others may"
            " use them: remove them yourself to free the space"
        )
        builder.events.append(Event("Normal", "FilesRemoved" if is_done else "FilesKept", text))
    builder.set_field("former", former)


def _marked(item: Json, version: Version) -> Json:
    return {**item, "removed": True} if item.get("id") == version.version_id else item


def _add_former(builder: StatusBuilder, version: Version) -> None:
    former = builder.status.get("former") or []
    builder.set_field("former", [*former, version.to_status()])


def _drop_former(builder: StatusBuilder, version_id: str) -> None:
    former = builder.status.get("former") or []
    builder.set_field("former", [item for item in former if item.get("id") != version_id])


def _fail(builder: StatusBuilder, inner: StatusBuilder) -> None:
    """Report a download that does not continue; the served version stays."""
    reason, message = inner.stalled or ("", "")
    if inner.state == FAILED:
        reason = RENEWAL_FAILED
        message += ". Or change spec.source, or the annotation nimops.nim/renew, to download again"
    text = f"{message}. Meanwhile, {_ADVICE}"
    _warn(builder, reason, text)
    builder.stalled = (reason, text)
    builder.requeue = Requeue(after=True, slow=True)


def _wait(builder: StatusBuilder, reason: str, message: str) -> None:
    """Report progress of a renewal."""
    builder.set_condition(RENEWED, False, reason, message)
    builder.reconciling = (reason, message)


def _warn(builder: StatusBuilder, reason: str, message: str) -> None:
    """Report a problem of a renewal, and once in an event."""
    builder.warn(RENEWED, reason, message)
    builder.set_condition(RENEWED, False, reason, message)
