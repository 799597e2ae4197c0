# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Installs CRDs, admission policies, roles for users and, on request, the operator."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from functools import cached_property

from ..._base.errors import ApiError, NimError
from ..._base.printable import printable
from ..._base.types import Json
from ..._cluster.client import Client
from ..._engine.api_resources import collection_path, identity
from ..._engine.conditions import find_condition
from ..._engine.metadata import is_deleted
from ..operators import read_installations, wait_available
from ..plan.diff import DELETE, Change
from ..takeover.installations import Installation, is_labeled
from ..text import name_of
from ..waiting import wait_while
from .manifests import (
    CRD,
    MANAGER_NAME,
    NAMESPACE,
    Order,
    is_in_watched_namespace,
    known_objects,
    path_of,
    plural_of,
    select_manifests,
)
from .ownership import TAKEOVER, find_active, find_change, find_operator, obstacle

MANAGER = "nimops.nim.install"
"""Our field manager."""

_RBAC = "rbac.authorization.k8s.io/v1"
_POLICY = collection_path(
    "admissionregistration.k8s.io/v1",
    "validatingadmissionpolicybindings",
    None,
    "nimops-operator-account",
)
_MAX_MESSAGE = 300


@dataclass(frozen=True)
class Step:
    """One write. ``item``: the object to apply, or the live one to delete."""

    change: Change
    item: Json


class Installer:
    """One installation. ``notify`` reports progress; ``takeover`` is the command of that name."""

    def __init__(
        self,
        client: Client,
        order: Order,
        notify: t.Callable[[str], None],
        takeover: str = TAKEOVER,
    ) -> None:
        order.check()
        self._client = client
        self._order = order
        self._notify = notify
        self._takeover = takeover
        self._operators = read_installations(client)
        ours = find_operator(self._operators, is_removal=False)
        self.namespace = find_namespace(client, ours)
        # What `plan` has read: the paths of objects that are being deleted, and of served CRDs.
        self._leaving: set[str] = set()
        self._served: set[str] = set()

    @cached_property
    def _wanted(self) -> list[Json]:
        return select_manifests(self._order, self.namespace)

    def plan(self) -> list[Step]:
        """The changes, in the order of the writes. NimError if something may not be replaced."""
        live = [self._read(path_of(item)) for item in self._wanted]
        pairs = [
            (old, new)
            for old, new in zip(live, self._wanted, strict=True)
            if new["kind"] != "Namespace" or old is None
        ]
        obstacles = find_active(self._operators, self._takeover)
        obstacles += [text for old, new in pairs if (text := obstacle(old, new))]
        if obstacles:
            raise NimError(f"nothing was changed: {'; '.join(obstacles)}")
        steps = [Step(change, new) for old, new in pairs if (change := self._compare(old, new))]
        return steps + (self._unwanted() if self._order.image else [])

    def install(self, steps: t.Iterable[Step], seconds: float) -> None:
        """Write the changes; wait until CRDs are established before what uses them."""
        items = list(steps)
        for step in items:
            if step.item["kind"] == CRD:
                self._write(step, seconds)
                self._served.discard(path_of(step.item))
        self._wait_established(seconds)
        for step in items:
            if step.item["kind"] != CRD:
                self._write(step, seconds)

    def wait_available(self, seconds: float) -> None:
        """Wait until the operator is available. NimError after a timeout."""
        self._notify(f"waiting for the operator in the namespace {self.namespace}")
        wait_available(self._client, self.namespace, MANAGER_NAME, seconds)

    def _read(self, path: str) -> Json | None:
        """The live object; None if it is being deleted, because changes of it would be lost."""
        live = self._client.get(path)
        if live and is_deleted(live):
            self._leaving.add(path)
            return None
        if live and not _why_not_served(live):
            self._served.add(path)
        return live

    def _compare(self, live: Json | None, wanted: Json) -> Change | None:
        after = wanted
        if live is not None:
            try:
                after = self._client.apply(path_of(wanted), wanted, MANAGER, dry=True)
            except ApiError as error:
                raise _explain(wanted, error) from error
        return find_change(live, {**after, "kind": wanted["kind"]}, MANAGER)

    def _unwanted(self) -> list[Step]:
        """The operator's objects of other installations, such as a component that is off now."""
        kept = {path_of(item) for item in self._wanted}
        found = find_installed(self._client, self.namespace, of_operator=True, without=kept)
        return [deletion(item) for item in found]

    def _write(self, step: Step, seconds: float) -> None:
        if step.change.action == DELETE:
            delete(self._client, step.item)
            return
        path = path_of(step.item)
        if path in self._leaving:
            wait_until_gone(self._client, path, seconds)
        try:
            self._client.apply(path, step.item, MANAGER)
        except ApiError as error:
            raise _explain(step.item, error) from error

    def _wait_established(self, seconds: float) -> None:
        known = {path_of(item) for item in self._wanted if item["kind"] == CRD}
        paths = sorted(known - self._served, reverse=True)

        def find_missing() -> list[str]:
            while paths and (why := _why_not_served(self._client.get(paths[-1]))) == "":
                paths.pop()
            return [f"{paths[-1].rpartition('/')[2]}: {why}"] if paths else []

        wait_while(find_missing, "CRDs are not established", seconds)


def find_namespace(client: Client, ours: Installation | None = None) -> str:
    """The operator's namespace: where it is or was installed or, by default, the one of config/.

    A takeover installs it into the namespace of the reference operator.
    """
    if ours:
        return ours.namespace
    live = client.get(_POLICY) or {}
    reference = (live.get("spec") or {}).get("paramRef") or {}
    return str(reference.get("namespace") or NAMESPACE)


def find_installed(
    client: Client,
    namespace: str,
    *,
    of_operator: bool = False,
    without: t.Container[str] = frozenset(),
) -> list[Json]:
    """Our live objects in the order of their deletion, except for CRDs and the namespace.

    ``without``: the paths of those to leave out.
    """
    found = []
    for item in known_objects(namespace, of_operator=of_operator):
        path, name = path_of(item), item["metadata"]["name"]
        if is_in_watched_namespace(item):
            everywhere = client.list_objects(collection_path(_RBAC, plural_of(item["kind"]))) or []
            candidates = [live for live in everywhere if live["metadata"]["name"] == name]
        else:
            only = None if path in without else client.get(path)
            candidates = [only] if only else []
        api = {"apiVersion": item["apiVersion"], "kind": item["kind"]}
        mine = [{**live, **api} for live in candidates if is_labeled(live)]
        found += [live for live in mine if path_of(live) not in without]
    return found


def deletion(live: Json) -> Step:
    """The deletion of a live object."""
    key = identity(live)
    return Step(Change(DELETE, key, key), live)


def delete(client: Client, live: Json) -> None:
    """Delete an object, unless another one has taken its place."""
    try:
        client.delete(path_of(live), live["metadata"].get("uid", ""))
    except ApiError as error:
        if error.status not in (404, 409):
            raise


def wait_until_gone(client: Client, path: str, seconds: float) -> None:
    """Wait while an object is being deleted. NimError after a timeout."""

    def find_left() -> list[str]:
        live = client.get(path)
        return [path] if live and is_deleted(live) else []

    wait_while(find_left, "an object is still being deleted", seconds)


def _why_not_served(definition: Json | None) -> str:
    """Why the API server does not serve a CRD; empty if it does."""
    conditions = ((definition or {}).get("status") or {}).get("conditions")
    for kind in ("NamesAccepted", "Established"):
        found = find_condition(conditions, kind)
        if not found or found["status"] != "True":
            text = str((found or {}).get("message") or f"waits for the condition {kind}")
            return printable(text, _MAX_MESSAGE)
    return ""


def _explain(item: Json, error: ApiError) -> Exception:
    if not error.status:
        return error
    return NimError(f"{name_of(identity(item))}: {error}")
