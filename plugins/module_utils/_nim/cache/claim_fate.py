# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The fate of the created claim when its NIMCache is deleted.

The garbage collector deletes a claim with its owner. A claim that is to stay loses its owner, and
gets a record of the model that it holds. A NIMCache of the same name adopts such a claim: it
downloads nothing that the record lists, and once it is Ready it owns the claim, without a record.
"""

from __future__ import annotations

from ..._base.printable import name_some
from ..._base.types import Manifest
from ..._builders.app import invalid_annotation
from ..._builders.claim_users import list_users
from ..._engine.desired import (
    ABSENT,
    Assessment,
    Desired,
    Event,
    Field,
    FieldPolicy,
    Outcome,
    Patch,
)
from ..._engine.metadata import is_deleted, owner_reference
from ..._engine.ownership import is_marked
from ..._engine.reads import Read, ReadClaimUsers, ReadObject, ReadObjects
from ..cache_spec import uses_claim
from .app import NIMCacheApp
from .constants import READY
from .record import CACHED_MODEL, record_of, write_record

KEEP_CLAIM = "nimops.nim/keep-claim"
"""Annotation of a NIMCache: whether its claim stays when it is deleted."""

USERS = ("NIMBuild", "NIMService")
"""Kinds that use a cache, and wait for it; no watch reports its state to them."""

_CLAIM = "PersistentVolumeClaim"
_VALUES = {"": False, "false": False, "true": True}
_MAX_NAMED = 5
_OWNERS = ("metadata", "ownerReferences")


def deletion_reads(app: NIMCacheApp) -> list[Read]:
    """The reads of a NIMCache that is being deleted: its claim, and the users of that."""
    claim = ReadObject(_CLAIM, app.namespace, app.spec.claim.name)
    if _annotation(app) not in ("", "false") or not _is_owned(app):
        return [claim]
    users = [ReadObjects(kind, app.namespace) for kind in USERS]
    return [claim, *users, ReadClaimUsers(app.namespace, app.spec.claim.name)]


def claim_patches(app: NIMCacheApp) -> list[Patch]:
    """The change of the owner of a claim, if it needs one; NimError if the annotation is invalid.

    A claim to keep loses its owner at once, not at the deletion: in the foreground, the garbage
    collector would be faster. A claim with a record belongs to the NIMCache again once that is
    Ready: a pass that ends before that still finds the record.
    """
    is_kept = _VALUES.get(_annotation(app))
    if is_kept is None:
        raise invalid_annotation(KEEP_CLAIM, _annotation(app), "is neither true nor false")
    live = _live(app)
    if live is None or is_deleted(live) or not (_is_owned(app) or _is_left(app)):
        return []
    if is_kept:
        return [_leave(app, live)]
    return [_take(app, live)] if app.state == READY and may_take(app) else []


def may_take(app: NIMCacheApp) -> bool:
    """Whether the NIMCache becomes the owner of a claim that was left, once it is Ready."""
    live = _live(app)
    is_free = live is not None and _is_left(app) and is_marked(live)
    return is_free and _VALUES.get(_annotation(app)) is False


def is_record_due(app: NIMCacheApp) -> bool:
    """Whether the next pass of a Ready NIMCache completes the record of a claim that is to stay."""
    record = record_of(app) if _is_left(app) and _VALUES.get(_annotation(app)) else None
    return record is not None and not record.is_complete


def may_remove_files(app: NIMCacheApp) -> bool:
    """Whether the claim was created for this NIMCache, or for a deleted one of its name."""
    return _is_owned(app) or _is_left(app)


def finalize(app: NIMCacheApp) -> Desired:
    """Leave a claim that is to stay."""
    live = _live(app)
    return Desired(patches=[_leave(app, live)] if live and _is_owned(app) and why_kept(app) else [])


def assess_deletion(app: NIMCacheApp, outcome: Outcome) -> Assessment:
    """The event about a claim that stays; an error while it still has its owner."""
    why = why_kept(app)
    errors = [item.message for item in outcome.refusals] + list(outcome.raced)
    if why and errors:
        text = f'{_CLAIM} "{app.spec.claim.name}" could not be kept: {"; ".join(errors)}'
        return Assessment(dict(app.status), error=text)
    events = [_kept_event(app, why)] if why else []
    return Assessment(dict(app.status), events=events, error=outcome.failure)


def why_kept(app: NIMCacheApp) -> str:
    """Why the claim stays when the NIMCache is deleted; empty if it goes, or was never ours.

    Any value of the annotation but false counts: an invalid one loses no data.
    """
    if not (_is_owned(app) or _is_left(app)):
        return ""
    if _annotation(app) not in ("", "false"):
        return f"the annotation {KEEP_CLAIM} is set"
    users = _users_of(app)
    if not users:
        return ""
    return f"{name_some(users, _MAX_NAMED)} use{'s' if len(users) == 1 else ''} it"


def _kept_event(app: NIMCacheApp, why: str) -> Event:
    text = (
        f'{_CLAIM} "{app.spec.claim.name}" is kept without an owner, because {why}. A new NIMCache'
        f" {app.name} adopts it; to free its space, delete it"
    )
    return Event("Normal", "ClaimKept", text)


def _users_of(app: NIMCacheApp) -> list[str]:
    """The resources that use the claim and stay, by kind and name."""
    alive = {
        f"{kind} {item['metadata']['name']}": item
        for kind in USERS
        for item in app.listed(kind) or []
        if not is_deleted(item)
    }
    claim = app.spec.claim.name
    jobs = {f"Job {name}" for name in (app.job_name, app.renewal_name, app.removal_name)}
    named = {text for text, item in alive.items() if uses_claim(item, app.name, claim)}
    for user in list_users(app, claim):
        is_over = user.split(" ")[0] in USERS and user not in alive
        if not is_over and user not in jobs:
            named.add(user)
    return sorted(named)


def _annotation(app: NIMCacheApp) -> str:
    return app.annotation(KEEP_CLAIM).strip().lower()


def _live(app: NIMCacheApp) -> Manifest | None:
    return app.live(_CLAIM, app.spec.claim.name)


def _is_owned(app: NIMCacheApp) -> bool:
    """Whether the claim would be deleted with the NIMCache, which alone owns it."""
    live = _live(app) or {"metadata": {}}
    owners = {item.get("uid") for item in live["metadata"].get("ownerReferences") or []}
    return owners == {app.resource["metadata"].get("uid")}


def _is_left(app: NIMCacheApp) -> bool:
    """Whether this NIMCache, or a deleted one of that name, has left the claim."""
    live = _live(app)
    if live is None or live["metadata"].get("ownerReferences"):
        return False
    return record_of(app) is not None


def _leave(app: NIMCacheApp, live: Manifest) -> Patch:
    record = Field(("metadata", "annotations", CACHED_MODEL), write_record(app), FieldPolicy.LEAVE)
    return Patch(_CLAIM, live, (Field(_OWNERS, ABSENT), record))


def _take(app: NIMCacheApp, live: Manifest) -> Patch:
    owners = Field(_OWNERS, [owner_reference(app.resource)], FieldPolicy.LEAVE)
    record = Field(("metadata", "annotations", CACHED_MODEL), ABSENT)
    return Patch(_CLAIM, live, (owners, record))
