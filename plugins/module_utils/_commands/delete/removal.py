# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Deletes custom resources, and waits until they and their objects are gone."""

from __future__ import annotations

import typing as t

from ..._base.errors import ApiError, NimError
from ..._base.printable import name_some, printable
from ..._base.types import Json
from ..._cluster.client import Client
from ..._cluster.reader import Reader
from ..._engine.api_resources import KINDS, ObjectKey, api_path, identity
from ..._engine.metadata import finalizers_of, is_deleted
from ..._engine.reads import ReadClaimUsers
from ..._nim.cache.claim_fate import USERS
from ..release.release import find_held
from ..text import name_of
from ..waiting import poll
from .inventory import CLAIM, Inventory

_CACHE = "NIMCache"
_PAUSES = (0.5, 1.0, 2.0)
_MAX_SHOWN, _MAX_NAME = 3, 100
_MAX_WAIT_FOR_USERS = 30.0
_SERVER_ERROR = 500


class Removal:
    """One deletion.

    ``release``: the command that removes finalizers. ``notify`` reports progress.
    """

    def __init__(
        self,
        client: Client,
        inventory: Inventory,
        release: str,
        notify: t.Callable[[str], None],
    ) -> None:
        self._client = client
        self._release = release
        self._resources = inventory.resources
        self._served = inventory.served
        self._notify = notify
        self._left = {
            item["metadata"]["uid"]: item for item in [*inventory.resources, *inventory.children]
        }
        self._shown: list[str] = []

    def delete(self, finalize: t.Callable[[t.Sequence[Json]], None]) -> None:
        """Delete the resources, not those that were created again under the same name.

        ``finalize`` gets resources of our kinds before they are deleted. NIMCaches are the last
        ones: a claim is kept for a user that is not being deleted yet, such as a service of a
        NIMPipeline, so each of them first waits for its users.
        """
        finalize([item for item in self._served if item["kind"] != _CACHE])
        for resource in self._resources:
            if resource["kind"] == _CACHE:
                self._wait_for_users()
                finalize([resource])
            try:
                self._client.delete(api_path(*identity(resource)), resource["metadata"]["uid"])
            except ApiError as error:
                if error.status not in (404, 409):
                    raise NimError(f"{name_of(identity(resource))}: {error}") from error

    def _wait_for_users(self) -> None:
        for _turn in poll(_MAX_WAIT_FOR_USERS, _PAUSES):
            left = [item for item in self._left.values() if item["kind"] in USERS]
            if all(map(is_deleted, left)):
                return
            self._look()

    def wait(self, seconds: float) -> None:
        """Wait until all is gone. NimError with the reasons of the delay after ``seconds``."""
        for _turn in poll(seconds, _PAUSES):
            try:
                self._look()
                reasons = self._explain()
            except ApiError as error:
                if 0 < error.status < _SERVER_ERROR:
                    raise
                reasons = [str(error)]
            if not self._left:
                return
            if reasons != self._shown:
                self._notify("; ".join(reasons))
            self._shown = reasons
        raise NimError(f"not gone after {seconds:g} s: {'; '.join(self._shown)}{self._advise()}")

    def _look(self) -> None:
        """Forget what is gone."""
        places = {identity(item)[:2] for item in self._left.values()}
        live: dict[str, Json] = {}
        for kind, namespace in sorted(places):
            try:
                items = self._client.list_metadata(api_path(kind, namespace))
            except ApiError as error:
                if error.status != 404:
                    raise
                continue
            known = {"apiVersion": KINDS[kind].version, "kind": kind}
            live |= {item["metadata"]["uid"]: {**item, **known} for item in items}
        self._left = {uid: live[uid] for uid in self._left if uid in live}

    def _explain(self) -> list[str]:
        """Why something is not gone: the resources and claims first."""
        own = {item["metadata"]["uid"] for item in self._resources}
        reasons, others = [], []
        for uid, item in self._left.items():
            key = identity(item)
            if key.kind == CLAIM and is_deleted(item):
                reasons.append(f"{name_of(key)}: {self._explain_claim(key, item)}")
            elif uid in own or (is_deleted(item) and item["metadata"].get("finalizers")):
                reasons.append(f"{name_of(key)}: is being deleted{finalizers_of(item)}")
            else:
                others.append(name_of(key))
        shown = reasons[:_MAX_SHOWN]
        if more := len(reasons) - len(shown):
            shown.append(f"{more} more are being deleted")
        if not shown and others:
            shown = [f"waiting for {name_some(others, 1)}"]
        return shown

    def _explain_claim(self, key: ObjectKey, item: Json) -> str:
        """The pods that use a claim, or its finalizers."""
        read = ReadClaimUsers(key.namespace, key.name)
        try:
            pods = read.answer(Reader(self._client))
        except ApiError as error:
            if error.status != 403:
                raise
            pods = []
        names = sorted(printable(str(pod["metadata"]["name"]), _MAX_NAME) for pod in pods)
        if not names:
            return f"is being deleted{finalizers_of(item)}"
        return f"is in use by Pod {name_some(names, _MAX_SHOWN)}"

    def _advise(self) -> str:
        """Advice about finalizers that only the operator removes."""
        uids = {item["metadata"]["uid"] for item in self._resources}
        if not find_held(self._left[uid] for uid in uids & self._left.keys()):
            return ""
        return f". The operator removes its finalizers; without one, {self._release} does"
