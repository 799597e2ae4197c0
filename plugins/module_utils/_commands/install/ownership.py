# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Decides whether an object of a cluster may be changed or deleted by an installation."""

from __future__ import annotations

from ..._base.printable import printable
from ..._base.types import Json
from ..._engine.api_resources import identity
from ..plan.diff import ADOPT, CHANGE, CREATE, Change
from ..takeover.installations import Installation
from ..text import name_of
from .definitions import compare_definition
from .manifests import CRD

_OUR_NAME = ("app.kubernetes.io/name", "nimops")
_RELEASE, _RELEASE_NAMESPACE = "meta.helm.sh/release-name", "meta.helm.sh/release-namespace"
_SHOWN_METADATA = ("name", "namespace", "labels", "annotations")
_MAX_NAME = 200


def is_ours(live: Json) -> bool:
    """Whether an object, not a CRD, belongs to an installation of nimops.nim."""
    name, value = _OUR_NAME
    return (live["metadata"].get("labels") or {}).get(name) == value


def obstacle(live: Json | None, wanted: Json) -> str:
    """Why a live object may not become the wanted one; empty if it may."""
    if live is None:
        return ""
    if wanted["kind"] == CRD:
        found = compare_definition(live, wanted).obstacle
        return f"{CRD} {found}" if found else ""
    if not is_ours(live):
        return f"{name_of(identity(wanted))} exists and is not of nimops.nim: delete or rename it"
    return other_installer(live, wanted["kind"])


def other_installer(live: Json, kind: str) -> str:
    """The tool that keeps an object of ours as it is, with advice; empty if there is none."""
    annotations = live["metadata"].get("annotations") or {}
    name = name_of(identity({**live, "kind": kind}))
    if release := annotations.get(_RELEASE):
        where = annotations.get(_RELEASE_NAMESPACE)
        return printable(
            f"{name} belongs to the Helm release {where}/{release}: use Helm", _MAX_NAME
        )
    if kind == "Deployment" and (owner := Installation(live, is_ours=True).olm_owner):
        return printable(f"{name} belongs to the ClusterServiceVersion {owner}: use OLM", _MAX_NAME)
    return ""


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
