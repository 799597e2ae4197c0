# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Reads the cluster for preflight; writes nothing, except as a dry run."""

from __future__ import annotations

import base64
import binascii
import json
import typing as t

from ..._base.errors import ApiError, NimError
from ..._base.types import Json
from ..._cluster.client import Client
from ..._cluster.reader import Reader
from ..._engine.adjust import Adjust
from ..._engine.api_resources import ObjectKey as Key
from ..._engine.api_resources import collection_path, identity
from ..._engine.label_selector import parse_selector
from ..._engine.reads import Read, ReadObject
from ..._engine.redacted_pods import redact
from ..._engine.served_kinds import SERVED
from ..._http.image_registry import NATIVE, host_of
from ..loader import stored
from ..plan.diff import find_changes, publish
from ..plan.preview import remember, submit_dry_run
from ..render.simulation import simulate
from .apis import DEPLOYMENT, OPERATORS
from .evaluate import needs_of
from .facts import API, RESOURCES, ClusterFacts, Denied, List, Needs, path_to
from .workloads import Planned, Rendered

_PAGE = "500"
_MAX_ROUNDS = 6
_NODES = ("Node", "")
_SECRETS = ("Secret", "ConfigMap")
_POD_FIELDS = ("nodeName", "overhead", "priority", "affinity", "resources")
_CONTAINER_FIELDS = ("name", "resources", "restartPolicy")


class _QuickReader(Reader):
    """A reader that asks neither model servers nor registries, and lists the nodes once."""

    def __init__(self, client: Client, facts: ClusterFacts) -> None:
        super().__init__(client)
        self._facts = facts

    def _nodes(self) -> list[Json]:
        lists = self._facts.lists
        if _NODES not in lists:
            lists[_NODES] = _list(self.client, _NODES)
        return lists[_NODES] or []

    def list_nodes(self) -> list[Json]:
        """The nodes of the facts."""
        return [{"metadata": item["metadata"]} for item in self._nodes()]

    def list_objects(
        self, kind: str, namespace: str = "", *, selector: str = "", field: str = "", limit: int = 0
    ) -> list[Json] | None:
        """Like the base class, but nodes are those of the facts."""
        if kind != "Node":
            return super().list_objects(
                kind, namespace, selector=selector, field=field, limit=limit
            )
        chosen = parse_selector(selector, "selector")
        return [it for it in self._nodes() if chosen.selects(it["metadata"].get("labels"))]

    def fetch(self, _url: str, _namespace: str, _service: str) -> Json:
        """No answer."""
        return {"status": 0, "body": "", "error": "not asked"}

    def find_protocol(self, _image: str, _namespace: str, _secrets: t.Iterable[str]) -> str:
        """An assumption that gives the Job of a NIMCache at once, without a probe pod before it."""
        return NATIVE


def read_rendered(
    client: Client, resources: t.Iterable[Json], facts: ClusterFacts, adjust: Adjust | None = None
) -> Rendered:
    """Render the resources in the live cluster; what may not be read counts as missing."""
    found: dict[Key, Json] = {}
    refused: dict[Key, str] = {}
    for resource in resources:
        key = identity(resource)
        found[key], message = _submit(client, resource)
        if message:
            refused[key] = message
    absent: set[Key] = set()
    ask = remember(_tolerant(_QuickReader(client, facts), facts, absent))
    accepted = [item for key, item in found.items() if key not in refused]
    simulated = simulate(accepted, ask, adjust)
    absent -= found.keys() | simulated.wanted.keys()
    restarts = {it.key for it in find_changes(simulated, {}, ask) if it.restarts}
    planned = [
        Planned(
            wanted.parent, publish(wanted.child.manifest), ask(ReadObject(*key)), key in restarts
        )
        for key, wanted in simulated.wanted.items()
    ]
    return Rendered(found, planned, refused, simulated.problems, simulated.notes, absent)


def _submit(client: Client, resource: Json) -> tuple[Json, str]:
    """The resource as stored, and why the API server refuses it."""
    try:
        return submit_dry_run(client, resource), ""
    except NimError as error:
        text = str(error)
        is_unknown = "does not know the kind" in text  # the check of the API reports it
        return stored(resource), "" if is_unknown else text
    except ApiError as error:
        if error.status != 403:
            raise
        return stored(resource), ""


def _tolerant(reader: Reader, facts: ClusterFacts, absent: set[Key]) -> t.Callable[[Read], t.Any]:
    """Answers of the cluster; what may not be read is noted, and counts as missing."""

    def ask(read: Read) -> t.Any:
        target = read.target
        try:
            found = read.answer(reader)
        except ApiError as error:
            if error.status != 403:
                raise
            _note_denied(facts, read)
            return [] if read.listed else None
        if target and target.kind in SERVED and isinstance(read, ReadObject) and found is None:
            absent.add(target)
        return found

    return ask


def _note_denied(facts: ClusterFacts, read: Read) -> None:
    if target := read.target:
        if target.kind in RESOURCES:
            facts.denied.add(Denied("get", target.kind, target.namespace))
    elif read.listed in RESOURCES:
        namespace = str(getattr(read, "namespace", "") or "")
        facts.denied.add(Denied("list", read.listed, namespace))


def read_facts(client: Client, rendered: Rendered, facts: ClusterFacts) -> None:
    """Read what the checks need, each object and list once."""
    for _round in range(_MAX_ROUNDS):
        needs = facts.missing(needs_of(rendered, facts))
        if not any(needs):
            return
        _read(client, needs, facts)


def _read(client: Client, needs: Needs, facts: ClusterFacts) -> None:
    for version in sorted(needs.versions):
        try:
            _read_version(client, version, facts)
        except ApiError as error:
            _deny(facts, error, Denied("get", API))
    for wanted in sorted(needs.lists):
        try:
            facts.lists[wanted] = _list(client, wanted)
        except ApiError as error:
            _deny(facts, error, Denied("list", *wanted))
    for key in sorted(needs.objects):
        try:
            found = client.get(path_to(*key))
        except ApiError as error:
            _deny(facts, error, Denied("get", key.kind, key.namespace))
            facts.refused.add(key)
        else:
            facts.objects[key] = _outline(key.kind, found) if found else None


def _deny(facts: ClusterFacts, error: ApiError, item: Denied) -> None:
    if error.status != 403:
        raise error
    facts.denied.add(item)


def _read_version(client: Client, version: str, facts: ClusterFacts) -> None:
    """The kinds of an API version; otherwise the versions that its group has."""
    found = client.get(collection_path(version))
    if found is not None:
        facts.versions[version] = frozenset(it["kind"] for it in found.get("resources") or [])
        return
    facts.versions[version] = None
    group = version.rpartition("/")[0]
    others = client.get(collection_path(group)) if "." in group else None
    versions = (others or {}).get("versions") or []
    facts.served[group] = tuple(it["groupVersion"] for it in versions)


def _list(client: Client, wanted: List) -> list[Json] | None:
    """The outlines of all objects of a list, page by page: pods can take a hundred megabytes."""
    kind, namespace = wanted
    query = {"limit": _PAGE} | ({"labelSelector": OPERATORS} if kind == DEPLOYMENT else {})
    items: list[Json] = []
    while True:
        page = client.get(path_to(kind, namespace), **query)
        if page is None:
            return None
        items += [_outline(kind, item) for item in page.get("items") or []]
        if not (token := (page.get("metadata") or {}).get("continue")):
            return items
        query["continue"] = token


def _outline(kind: str, found: Json) -> Json:
    """The parts of an object that checks need; of a Secret its keys and registries, no values."""
    if kind in _SECRETS:
        keys = sorted({*(found.get("data") or {}), *(found.get("binaryData") or {})})
        metadata = {name: found["metadata"].get(name) for name in ("name", "namespace")}
        outline: Json = {"metadata": metadata, "keys": keys}
        return outline | ({"registries": _registries(found)} if kind == "Secret" else {})
    if kind == "Node":
        return redact(kind, found)
    if kind == "Pod":
        return _outline_pod(found)
    return found


def _outline_pod(pod: Json) -> Json:
    spec, metadata = pod.get("spec") or {}, pod["metadata"]
    kept = {name: spec[name] for name in _POD_FIELDS if name in spec}
    for field in ("initContainers", "containers"):
        kept[field] = [
            {name: item[name] for name in _CONTAINER_FIELDS if name in item}
            for item in spec.get(field) or []
        ]
    names = ("name", "namespace", "labels", "uid")
    return {
        "metadata": {name: metadata[name] for name in names if name in metadata},
        "spec": kept,
        "status": {"phase": (pod.get("status") or {}).get("phase")},
    }


def _registries(secret: Json) -> list[str]:
    """The host names for which a pull Secret has credentials."""
    data = secret.get("data") or {}
    servers: list[str] = []
    for key in (".dockerconfigjson", ".dockercfg"):
        try:
            found = json.loads(base64.b64decode(data.get(key) or "e30="))
            servers += (found.get("auths") or {}) if key == ".dockerconfigjson" else found
        except (ValueError, AttributeError, TypeError, binascii.Error, RecursionError):
            continue
    return sorted({host_of(str(server)) for server in servers})
