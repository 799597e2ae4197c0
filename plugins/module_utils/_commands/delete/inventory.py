# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The objects that go with deleted custom resources, and the resources that miss them."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ..._base.errors import ApiError
from ..._base.printable import printable
from ..._base.types import Json
from ..._cluster.client import Client
from ..._cluster.reader import Reader, answer_of
from ..._engine.api_resources import KINDS, ObjectKey, api_path, collection_path, identity
from ..._engine.metadata import OWNER_ANNOTATION, controller_of
from ..._engine.observed import Observed
from ..._engine.reads import ReadClaimUsers, ReadObjects
from ..._engine.served_kinds import SERVED
from ..._kinds import kind_of
from ..._nim.cache.app import NIMCacheApp
from ..._nim.cache.claim_fate import USERS, why_kept
from ..._nim.cache_spec import named_cache
from ..references import reference_of
from ..text import name_of

CLAIM = "PersistentVolumeClaim"
_CACHE, _PIPELINE = "NIMCache", "NIMPipeline"
_RETAIN = "Retain"
_MAX_SIZE = 30


@dataclass
class Inventory:
    """``resources``: those to delete. ``children``: the objects that go with them, as metadata.

    ``kept``: the claims that stay, with the reason. ``lost``: the claims with data, in words.
    ``notes``: what else the user should know.
    """

    resources: list[Json]
    children: list[Json] = field(default_factory=list)
    kept: dict[ObjectKey, str] = field(default_factory=dict)
    lost: dict[ObjectKey, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def served(self) -> list[Json]:
        """The custom resources of our kinds among them."""
        return [*self.resources, *(item for item in self.children if item["kind"] in SERVED)]

    def lines(self) -> list[str]:
        """A line for each object and note."""
        keys = [identity(item) for item in [*self.resources, *self.children]]
        goes = [f"- delete {self.lost.get(key) or name_of(key)}" for key in keys]
        others = [f"- {text}" for key, text in self.lost.items() if key not in keys]
        kept = [f"- keep {name_of(key)}: {why}" for key, why in self.kept.items()]
        return [*goes, *others, *kept, *(f"! {text}" for text in self.notes)]


def take_inventory(client: Client, resources: list[Json]) -> Inventory:
    """Read what goes with the resources; what the user may not list is noted."""
    lists = _Lists(client)
    found = Inventory(resources, _find_children(lists, resources))
    found.kept = _find_kept(client, lists, found.served)
    found.children = [item for item in found.children if identity(item) not in found.kept]
    for child in found.children:
        if child["kind"] == CLAIM:
            _judge_claim(client, found, child)
    gone = found.served
    found.notes += [note for item in gone for note in _find_users(lists, item, gone)]
    found.notes += [note for item in resources for note in _find_maker(item, gone)]
    for kind, namespace in sorted(lists.forbidden):
        where = f" of namespace {namespace}" if namespace else ""
        text = f"you may not list the {kind}s{where}"
        if kind == CLAIM:
            found.lost[ObjectKey(kind, namespace, "")] = f"{text}, so data may be lost"
        else:
            found.notes.append(f"{text}, so they are not shown")
    return found


class _Lists:
    """Lists of a cluster, each read once."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: dict[tuple[str, str], list[Json]] = {}
        self.forbidden: set[tuple[str, str]] = set()

    def of(self, kind: str, namespace: str) -> list[Json]:
        """The objects of a kind, only metadata unless we serve the kind; empty if not served."""
        key = (kind, namespace if KINDS[kind].is_namespaced else "")
        if key not in self._known:
            self._known[key] = self._read(*key)
        return self._known[key]

    def _read(self, kind: str, namespace: str) -> list[Json]:
        path = api_path(kind, namespace)
        try:
            if kind in SERVED:
                items = self._client.list_objects(path) or []
            else:
                items = self._client.list_metadata(path)
        except ApiError as error:
            if error.status == 403:
                self.forbidden.add((kind, namespace))
            elif error.status != 404:
                raise
            return []
        return [{**item, "apiVersion": KINDS[kind].version, "kind": kind} for item in items]


def _find_children(lists: _Lists, resources: list[Json]) -> list[Json]:
    """The objects that only these resources own, and those that these own in turn."""
    owners = {item["metadata"]["uid"]: item for item in resources}
    found: dict[str, Json] = {}
    while True:
        places = {
            (access.kind, item["metadata"].get("namespace") or "")
            for item in owners.values()
            for access in kind_of(item).access
            if "write" in access.uses.split()
        }
        new = [
            item
            for place in sorted(places)
            for item in lists.of(*place)
            if item["metadata"]["uid"] not in found | owners and _goes_with(item, owners)
        ]
        found |= {item["metadata"]["uid"]: item for item in new}
        served = {item["metadata"]["uid"]: item for item in new if item["kind"] in SERVED}
        if not served:
            return list(found.values())
        owners |= served


def _goes_with(item: Json, owners: t.Mapping[str, Json]) -> bool:
    """Whether the garbage collector, or a finalizer, deletes an object with its owners."""
    metadata = item["metadata"]
    if references := metadata.get("ownerReferences"):
        return all(reference["uid"] in owners for reference in references)
    return (metadata.get("annotations") or {}).get(OWNER_ANNOTATION) in owners


def _find_kept(client: Client, lists: _Lists, gone: t.Sequence[Json]) -> dict[ObjectKey, str]:
    """The claims of NIMCaches that stay, with the reason: those to keep, and those in use."""
    leaving = {item["metadata"]["uid"] for item in gone}
    found = {}
    for cache in gone:
        if cache["kind"] != _CACHE:
            continue
        namespace = cache["metadata"]["namespace"]
        key = ObjectKey(CLAIM, namespace, NIMCacheApp(cache).spec.claim.name)
        answers: Json = {str(key): client.get(api_path(*key))}
        for kind in USERS:
            stay = [
                item for item in lists.of(kind, namespace) if item["metadata"]["uid"] not in leaving
            ]
            answers[ReadObjects(kind, namespace).key] = stay
        if answers[str(key)]:
            read = ReadClaimUsers(namespace, key.name)
            answers[read.key] = answer_of(read, Reader(client))
        if why := why_kept(NIMCacheApp(cache, Observed(answers))):
            found[key] = why
    return found


def _judge_claim(client: Client, found: Inventory, child: Json) -> None:
    """Find what becomes of the data of a claim, which has some once it has a volume.

    A volume that is retained is lost for the user as well: it is bound to no other claim.
    """
    key = identity(child)
    spec = (client.get(api_path(*key)) or {}).get("spec") or {}
    volume = str(spec.get("volumeName") or "")
    if not volume:
        return
    requests = (spec.get("resources") or {}).get("requests") or {}
    size = printable(str(requests.get("storage") or ""), _MAX_SIZE)
    is_kept = _find_policy(client, volume) == _RETAIN
    fate = f"whose data only PersistentVolume {volume} keeps" if is_kept else "and its data"
    found.lost[key] = f"{name_of(key)}{f' ({size})' if size else ''}, {fate}"


def _find_policy(client: Client, volume: str) -> str:
    """The reclaim policy of a volume; empty if it is unknown."""
    try:
        live = client.get(collection_path("v1", "persistentvolumes", None, volume))
    except ApiError:
        return ""
    return str(((live or {}).get("spec") or {}).get("persistentVolumeReclaimPolicy") or "")


def _find_users(lists: _Lists, resource: Json, gone: t.Sequence[Json]) -> list[str]:
    """The resources that stay and use a NIMCache."""
    if resource["kind"] != _CACHE:
        return []
    key, leaving = identity(resource), {item["metadata"]["uid"] for item in gone}
    return [
        f"{name_of(identity(item))} uses {name_of(key)}, and does not start without it"
        for kind in reversed(USERS)
        for item in lists.of(kind, key.namespace)
        if named_cache(item) == key.name and item["metadata"]["uid"] not in leaving
    ]


def _find_maker(resource: Json, gone: t.Sequence[Json]) -> list[str]:
    """The NIMPipeline that stays and creates the resource again."""
    owner, leaving = controller_of(resource) or {}, {item["metadata"]["uid"] for item in gone}
    if owner.get("kind") != _PIPELINE or owner["uid"] in leaving:
        return []
    maker = reference_of({"kind": _PIPELINE, "metadata": owner})
    return [f"{maker} creates {name_of(identity(resource))} again: remove its entry there"]
