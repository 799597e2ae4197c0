# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Compares the revision of a driver pod with the newest one of its DaemonSet."""

from __future__ import annotations

import typing as t

from ..._base.types import Fields
from ..._engine.metadata import controller_of
from .labels import DIGEST, REVISION


class Revisions:
    """The ControllerRevisions of the driver DaemonSets."""

    def __init__(self, found: t.Iterable[Fields]) -> None:
        self._newest: dict[str, Fields] = {}
        self._all: dict[tuple[str, str], Fields] = {}
        for item in found:
            if not (owner := (controller_of(item) or {}).get("uid")):
                continue
            self._all[owner, hash_of(item)] = item
            newest = self._newest.get(owner)
            if newest is None or _number(item) > _number(newest):
                self._newest[owner] = item

    def is_outdated(self, pod: Fields) -> bool:
        """Whether the DaemonSet of a pod has a newer revision; False if that is unknown."""
        newest = self._newest.get(_owner(pod))
        return newest is not None and hash_of(newest) != hash_of(pod)

    def installs_the_same(self, pod: Fields) -> bool:
        """Whether the newest revision installs the same driver as the pod."""
        newest, own = self._newest.get(_owner(pod)), self._all.get((_owner(pod), hash_of(pod)))
        if newest is None or own is None:
            return False
        digest = _digest(newest)
        return bool(digest) and digest == _digest(own)


def hash_of(item: Fields) -> str:
    """The label that a pod shares with its ControllerRevision."""
    return str((item["metadata"].get("labels") or {}).get(REVISION) or "")


def _owner(pod: Fields) -> str:
    return str((controller_of(pod) or {}).get("uid") or "")


def _number(item: Fields) -> int:
    return int(item.get("revision") or 0)


def _digest(revision: Fields) -> str:
    """The driver digest in the environment of a container of the template."""
    template = (((revision.get("data") or {}).get("spec") or {}).get("template")) or {}
    spec = template.get("spec") or {}
    for container in [*(spec.get("containers") or []), *(spec.get("initContainers") or [])]:
        for variable in container.get("env") or []:
            if variable.get("name") == DIGEST and variable.get("value"):
                return str(variable["value"])
    return ""
