# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Collects what support needs of a cluster, within a time and a size.

Objects come before logs: they are small and say most. Whatever cannot be read is noted, and the
rest goes on. Secrets are asked for their metadata only; of that, nothing but their being there is
kept. All else is redacted before it is put into the archive.
"""

from __future__ import annotations

import time
import typing as t
from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial

from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._common.resources import (
    API_VERSION,
    GROUP,
    KINDS,
    collection_path,
)
from ansible_collections.nimops.nim.plugins.module_utils._k8s.client import ApiError, Client
from ansible_collections.nimops.nim.plugins.module_utils._k8s.transport import within
from ansible_collections.nimops.nim.plugins.module_utils._verbs.archive import Archive
from ansible_collections.nimops.nim.plugins.module_utils._verbs.changes import to_yaml
from ansible_collections.nimops.nim.plugins.module_utils._verbs.evidence import (
    Container,
    is_about,
    join_log,
    list_containers,
    show_definition,
    show_event,
    show_node,
    sort_events,
)
from ansible_collections.nimops.nim.plugins.module_utils._verbs.kinship import (
    list_belongings,
    list_references,
)
from ansible_collections.nimops.nim.plugins.module_utils._verbs.redact import (
    redact_object,
    redact_text,
)

Json = dict[str, t.Any]
Say = t.Callable[[str], None]

_HEAD_BYTES, _END_BYTES, _END_LINES = 1 << 20, 4 << 20, (5000, 500, 50)
"""Of a container's log: its beginning, and if that is not all, as many of its last lines as fit."""

_PAGE = "500"
_CALL_SECONDS = 60.0
_FURTHER = {
    "ControllerRevision": ("apps/v1", "controllerrevisions"),
    "DaemonSet": ("apps/v1", "daemonsets"),
    "EndpointSlice": ("discovery.k8s.io/v1", "endpointslices"),
    "ReplicaSet": ("apps/v1", "replicasets"),
    "StatefulSet": ("apps/v1", "statefulsets"),
}
"""What other controllers make of our children."""

_SERVERLESS = ("serving.knative.dev/v1", ("configurations", "revisions", "services"))
_APART = {"Event", "Node", "Secret"}
_BUILT_IN = {
    *("v1", "apps/v1", "autoscaling/v2", "batch/v1", "discovery.k8s.io/v1", "networking.k8s.io/v1"),
    *("rbac.authorization.k8s.io/v1", "resource.k8s.io/v1"),
}
"""What is served without a custom resource definition."""

_OPERATOR_LABEL = ("control-plane", "controller-manager")
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@dataclass(frozen=True)
class Order:
    """What to gather, in how many ``seconds``.

    ``resource``: one custom resource, such as NIMService/llm. Without it, all of a namespace; of
    the cluster, if that is empty, too.
    """

    resource: str = ""
    namespace: str = ""
    operator_namespace: str = "nimops-system"
    seconds: float = 300


@dataclass(frozen=True)
class Sort:
    """A kind of objects that the API server serves."""

    version: str
    plural: str
    kind: str
    names: frozenset[str] = frozenset()

    @property
    def folder(self) -> str:
        """What kubectl calls it."""
        group = self.version.partition("/")[0] if "/" in self.version else ""
        return f"{self.plural}.{group}" if group else self.plural


class _TimeIsUpError(Exception):
    """The rest has to be left out."""


@dataclass
class _Findings:
    """What was found so far, for the steps that come after."""

    server: str = ""
    sorts: list[Sort] = field(default_factory=list)
    resources: list[Json] = field(default_factory=list)
    secrets: dict[tuple[str, str], set[str]] = field(default_factory=lambda: defaultdict(set))
    containers: list[tuple[str, Container]] = field(default_factory=list)


def gather(client: Client, order: Order, archive: Archive, say: Say) -> str:
    """Fill the archive, but for its index; the version of the API server.

    Raises ApiError if it does not answer, or may not show any custom resource, NimError if the one
    that is asked for does not exist.
    """
    return _Gathering(client, order, archive, say).run()


class _Gathering:
    def __init__(self, client: Client, order: Order, archive: Archive, say: Say) -> None:
        self._client = client
        self._order = order
        self._archive = archive
        self._say = say
        self._deadline = time.monotonic() + order.seconds
        self._found = _Findings()

    def run(self) -> str:
        try:
            self._find_server()
            self._find_sorts()
            self._find_resources()
        except _TimeIsUpError as error:
            raise NimError(
                f"the API server did not tell within {self._order.seconds:g} s what there is"
            ) from error
        steps: list[tuple[str, t.Callable[[], None]]] = [
            ("custom resources and what belongs to them", self._take_namespaces),
            ("the operator", self._take_operator),
            ("nodes", self._take_nodes),
            ("definitions of custom resources", self._take_definitions),
            ("which secrets exist", self._take_secrets),
            ("logs", self._take_logs),
        ]
        for what, take in steps:
            try:
                take()
            except _TimeIsUpError:
                why = f"time was up after {self._order.seconds:g} s"
                self._archive.note_cut(what, why)
                self._say(f"{what}: {why}")
        return self._found.server

    # what there is

    def _find_server(self) -> None:
        version = self._call(lambda: self._client.get("/version")) or {}
        self._found.server = str(version.get("gitVersion") or "")
        self._put("versions/server.yaml", version)

    def _find_sorts(self) -> None:
        """The kinds that are served, of those that may belong to custom resources."""
        wanted = defaultdict(set)
        for kind, (version, plural) in [*KINDS.items(), *_FURTHER.items()]:
            if kind not in _APART:
                wanted[version].add(plural)
        wanted[_SERVERLESS[0]].update(_SERVERLESS[1])
        served = {}
        for version in sorted(wanted):
            found = self._read(collection_path(version), version)
            listed = (found or {}).get("resources") or []
            listed.sort(key=lambda item: item["name"])
            served[version] = [item["name"] for item in listed if "/" not in item["name"]]
            self._found.sorts += [
                _sort_of(version, item)
                for item in listed
                if version == API_VERSION or item["name"] in wanted[version]
                if "/" not in item["name"] and item.get("namespaced")
            ]
        self._put("versions/apis.yaml", served)

    def _find_resources(self) -> None:
        own = [sort for sort in self._found.sorts if sort.version == API_VERSION]
        if self._order.resource:
            self._found.resources = [self._get_resource(own)]
            return
        errors = []
        for sort in own:
            try:
                self._found.resources += self._fetch(sort, self._order.namespace)
            except ApiError as error:
                errors.append(error)
                self._note(f"{sort.folder} in {self._order.namespace or 'the cluster'}", error)
        if own and len(errors) == len(own):
            raise errors[0]
        count = len(self._found.resources)
        self._say(f"{count} custom resources in {self._order.namespace or 'the cluster'}")

    def _get_resource(self, own: list[Sort]) -> Json:
        """The one that is asked for; nothing is gathered without it."""
        wanted, _slash, name = self._order.resource.partition("/")
        sort = next((sort for sort in own if wanted.lower() in sort.names), None)
        if sort is None or not name:
            known = ", ".join(sort.kind for sort in own) or f"none, as {GROUP} is not served"
            raise NimError(
                f"resource: {self._order.resource!r} is no kind and name such as NIMService/llm;"
                f" the kinds here are {known}"
            )
        namespace = self._order.namespace
        path = collection_path(sort.version, sort.plural, namespace, name)
        found = self._call(lambda: self._client.get(path))
        if found is None:
            raise NimError(f"{sort.kind} {namespace}/{name} does not exist")
        return {"apiVersion": sort.version, "kind": sort.kind, **found}

    # what is taken

    def _take_namespaces(self) -> None:
        roots = defaultdict(list)
        for item in self._found.resources:
            roots[item["metadata"]["namespace"]].append(item)
        for namespace in sorted(roots):
            pool = [item for sort in self._found.sorts for item in self._list(sort, namespace)]
            belongings = list_belongings(roots[namespace], pool)
            folder = f"namespaces/{namespace}"
            self._take_objects(folder, belongings)
            self._take_events(folder, namespace, belongings if self._order.resource else None)
            self._say(f"{namespace}: {len(belongings)} objects")

    def _take_objects(self, folder: str, items: list[Json]) -> None:
        folders = {(sort.version, sort.kind): sort.folder for sort in self._found.sorts}
        for item in items:
            name, namespace = item["metadata"]["name"], item["metadata"]["namespace"]
            place = f"{folder}/{folders[item['apiVersion'], item['kind']]}/{_safe(name)}"
            self._put(f"{place}.yaml", item)
            for kind, secret in list_references(item):
                if kind == "Secret":
                    self._found.secrets[namespace, secret].add(f"{item['kind']}/{name}")
            if item["kind"] == "Pod":
                self._found.containers += [(place, one) for one in list_containers(item)]

    def _take_events(self, folder: str, namespace: str, about: list[Json] | None) -> None:
        """Those of a namespace, or ``about`` these objects."""
        sort = Sort("v1", "events", "Event")
        found = self._list(sort, namespace)
        kept = found if about is None else [item for item in found if is_about(item, about)]
        if kept:
            self._put(f"{folder}/events.yaml", [show_event(item) for item in sort_events(kept)])

    def _take_operator(self) -> None:
        """Its Deployment and pods, and the leases that say who works."""
        namespace = self._order.operator_namespace
        sorts = {sort.kind: sort for sort in self._found.sorts if sort.version in _BUILT_IN}
        pool = {
            kind: self._list(sorts[kind], namespace)
            for kind in ("Deployment", "ReplicaSet", "Pod")
            if kind in sorts
        }
        roots = [item for item in pool.get("Deployment", []) if _is_operator(item)]
        if not roots:
            why = "no Deployment with the label {}: {} was found".format(*_OPERATOR_LABEL)
            self._archive.note_unread(f"the operator in {namespace}", why)
        items = list_belongings(roots, [item for found in pool.values() for item in found])
        before, self._found.containers = self._found.containers, []
        self._take_objects("operator", items)
        self._found.containers += before  # of all logs, the operator's come first
        leases = self._list(Sort("coordination.k8s.io/v1", "leases", "Lease"), namespace)
        if leases:
            self._put("operator/leases.yaml", leases)
        if roots:
            self._take_events("operator", namespace, items)
        self._say(f"operator: {len(items)} objects in {namespace}")

    def _take_nodes(self) -> None:
        nodes = self._list(Sort("v1", "nodes", "Node"), "")
        if nodes:
            self._put("nodes.yaml", [show_node(item) for item in nodes])
        self._say(f"{len(nodes)} nodes")

    def _take_definitions(self) -> None:
        """The custom resource definitions behind what is served."""
        shown = []
        for sort in self._found.sorts:
            if sort.version in _BUILT_IN:
                continue
            path = f"{_DEFINITIONS}/{sort.folder}"
            if found := self._read(path, f"the definition of {sort.folder}"):
                shown.append(show_definition(found))
        if shown:
            self._put("versions/definitions.yaml", shown)

    def _take_secrets(self) -> None:
        """Whether those exist that are named somewhere."""
        shown = []
        for (namespace, name), users in sorted(self._found.secrets.items()):
            what = f"Secret {namespace}/{name}"
            path = collection_path("v1", "secrets", namespace, name)
            try:
                exists: bool | None = (
                    self._call(partial(self._client.get_presence, path)) is not None
                )
            except ApiError as error:
                self._note(what, error)
                exists = None
            shown.append(
                {"namespace": namespace, "name": name, "exists": exists, "used_by": sorted(users)}
            )
        if shown:
            self._put("secrets.yaml", shown)

    def _take_logs(self) -> None:
        count = len(self._found.containers)
        for number, (place, container) in enumerate(self._found.containers, 1):
            if self._archive.is_full:
                what = f"the logs of {count - number + 1} containers"
                self._archive.note_cut(what, "there was no room left")
                self._say(f"{what}: there was no room left")
                return
            for is_previous in (False, True) if container.has_previous else (False,):
                self._take_log(place, container, is_previous)
            if number % 10 == 0 or number == count:
                self._say(f"logs: {number} of {count} containers")

    def _take_log(self, place: str, container: Container, is_previous: bool) -> None:
        path = f"{place}/{container.name}{'.previous' if is_previous else ''}.log"
        if container.waits_for and not is_previous:
            self._archive.note_unread(path, f"it has not started: {container.waits_for}")
            return
        try:
            text = self._read_log(container, is_previous, path)
        except ApiError as error:
            self._note(path, error)
            return
        self._archive.add_end(path, redact_text(text).encode(errors="replace"))

    def _read_log(self, container: Container, is_previous: bool, path: str) -> str:
        query = {"container": container.name, "timestamps": "true"}
        if is_previous:
            query["previous"] = "true"
        url = f"{collection_path('v1', 'pods', container.namespace, container.pod)}/log"
        head: str = self._call(lambda: self._client.get_text(url, _HEAD_BYTES, **query))
        if len(head.encode()) < _HEAD_BYTES:
            return head
        for lines in _END_LINES:
            query["tailLines"] = str(lines)
            end: str = self._call(lambda: self._client.get_text(url, _END_BYTES, **query))
            if len(end.encode()) < _END_BYTES:
                break
        else:
            end = end.rpartition("\n")[0]
        text, is_whole = join_log(head, end)
        if not is_whole:
            self._archive.note_cut(path, "of a long log, here are the beginning and the last lines")
        return text

    # how it is read and put

    def _list(self, sort: Sort, namespace: str) -> list[Json]:
        """The objects of a collection; none if they cannot be read, which is noted."""
        try:
            return self._fetch(sort, namespace)
        except ApiError as error:
            self._note(f"{sort.folder} in {namespace or 'the cluster'}", error)
            return []

    def _fetch(self, sort: Sort, namespace: str) -> list[Json]:
        """The objects of a collection, by namespace and name."""
        items: list[Json] = []
        path = collection_path(sort.version, sort.plural, namespace)
        query = {"limit": _PAGE}
        while True:
            page = self._call(lambda: self._client.get(path, **query)) or {}
            items += page.get("items") or []
            if not (token := (page.get("metadata") or {}).get("continue")):
                break
            query["continue"] = token
        shown = [{"apiVersion": sort.version, "kind": sort.kind, **item} for item in items]
        return sorted(shown, key=lambda item: (_namespace(item), item["metadata"]["name"]))

    def _read(self, path: str, what: str) -> Json | None:
        """What is at a path; None if there is nothing, or if it cannot be read, which is noted."""
        try:
            found: Json | None = self._call(lambda: self._client.get(path))
        except ApiError as error:
            self._note(what, error)
            return None
        return found

    def _call(self, work: t.Callable[[], t.Any]) -> t.Any:
        """Do it in the time that is left, or in what a single call may take."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise _TimeIsUpError
        try:
            return within(min(left, _CALL_SECONDS), work)
        except TimeoutError as error:
            if left <= _CALL_SECONDS:
                raise _TimeIsUpError from error
            raise ApiError(0, f"no complete answer within {_CALL_SECONDS:g} s") from error

    def _note(self, what: str, error: ApiError) -> None:
        self._archive.note_unread(what, redact_text(str(error)))

    def _put(self, path: str, content: t.Any) -> None:
        self._archive.add(path, to_yaml(redact_object(content)).encode(errors="replace"))


def _sort_of(version: str, item: Json) -> Sort:
    names = {
        item["kind"],
        item["name"],
        item.get("singularName") or "",
        *item.get("shortNames", []),
    }
    lowered = frozenset(name.lower() for name in names if name)
    return Sort(version, item["name"], item["kind"], lowered)


def _is_operator(deployment: Json) -> bool:
    label, value = _OPERATOR_LABEL
    return (deployment["metadata"].get("labels") or {}).get(label) == value


def _namespace(item: Json) -> str:
    return item["metadata"].get("namespace") or ""


def _safe(name: str) -> str:
    """A name as that of a file: some kinds may have colons in theirs."""
    return "".join(char if char.isalnum() or char in "-_." else "_" for char in name)
