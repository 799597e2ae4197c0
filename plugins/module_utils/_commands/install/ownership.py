# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Decides whether an object of a cluster may be changed or deleted by an installation."""

from __future__ import annotations

import typing as t

from ..._base.errors import NimError
from ..._base.printable import printable
from ..._base.types import Json
from ..._engine.api_resources import identity
from ..plan.diff import ADOPT, CHANGE, CREATE, Change
from ..takeover.installations import Installation, find_helm_release, is_labeled, only
from ..text import name_of
from .definitions import compare_definition
from .manifests import CRD

_SHOWN_METADATA = ("name", "namespace", "labels", "annotations")
TAKEOVER = "ansible-playbook nimops.nim.takeover"
_MAX_TEXT = 500


def obstacle(live: Json | None, wanted: Json) -> str:
    """Why a live object may not become the wanted one; empty if it may."""
    if live is None:
        return ""
    if wanted["kind"] == CRD:
        found = compare_definition(live, wanted).obstacle
        return f"{CRD} {found}" if found else ""
    if not is_labeled(live):
        name = name_of(identity(wanted))
        return f"{name} exists and does not belong to nimops.nim: delete or rename it"
    return other_installer(live, wanted["kind"])


def other_installer(live: Json, kind: str) -> str:
    """The Helm release that an object of ours belongs to, with advice; empty if there is none."""
    if not (release := find_helm_release(live)):
        return ""
    name = name_of(identity({**live, "kind": kind}))
    return printable(f"{name} belongs to the Helm release {release}: use Helm", _MAX_TEXT)


def find_operator(found: t.Iterable[Installation], *, is_removal: bool) -> Installation | None:
    """Our operator, None if it is not installed.

    NimError with the command to use instead if Helm or OLM manages it.
    """
    ours = only(found, is_ours=True)
    if ours is None or not ours.owner:
        return ours
    done, do = ("deleted", "remove") if is_removal else ("changed", "upgrade")
    command = ours.removal if is_removal else ours.upgrade
    text = (
        f"nothing was {done}: Deployment {ours.namespace}/{ours.name} belongs to {ours.owner}. To"
        f" {do} it: {command}"
    )
    raise NimError(printable(text, _MAX_TEXT))


def find_active(found: t.Iterable[Installation], takeover: str = TAKEOVER) -> list[str]:
    """The operators of others that are active, with the command that replaces them."""
    return [
        f"{item.describe()} is active: {takeover} replaces it"
        for item in found
        if not item.is_ours and item.replicas
    ]


def find_change(live: Json | None, after: Json, manager: str) -> Change | None:
    """The change of a live object to what an apply returns; None if it would write nothing."""
    key = identity(after)
    if live is None:
        return Change(CREATE, key, key, None, after)
    old, new = _shown(live), _shown(after)
    if old != new:
        return Change(CHANGE, key, key, old, new)
    applied = {
        entry.get("manager")
        for entry in live["metadata"].get("managedFields") or []
        if entry.get("operation") == "Apply"
    }
    return None if manager in applied else Change(ADOPT, key, key)


def _shown(item: Json) -> Json:
    """The parts that an apply can change."""
    metadata = {
        name: item["metadata"][name] for name in _SHOWN_METADATA if item["metadata"].get(name)
    }
    rest = {key: value for key, value in item.items() if key not in ("metadata", "status")}
    return {**rest, "metadata": metadata}
