# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Collects support data from a cluster, within a time and a size limit.

Objects come before logs, because they are small and the most useful. Read errors are recorded and
do not stop the rest. For Secrets, only metadata is read, and only their existence is recorded.
Everything else is redacted before it is added to the archive.
"""

from __future__ import annotations

import time
import typing as t
from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial

from ..._base.errors import ApiError, NimError
from ..._base.types import Json
from ..._cluster.client import Client
from ..._engine.api_resources import KINDS, SERVED_GROUPS, collection_path
from ..._engine.served_kinds import SERVED
from ..._http.transport import within
from ..plan.diff import to_yaml
from .archive import Archive
from .redact import Redactor
from .related_objects import list_references, list_related_objects
from .support_views import (
    CUT,
    Container,
    event_concerns,
    join_log,
    list_containers,
    show_definition,
    show_event,
    show_node,
    sort_events,
)

Notify = t.Callable[[str], None]

_HEAD_BYTES, _END_BYTES, _END_LINES = 1 << 20, 4 << 20, (5000, 500, 50)
"""Limits for a container's log: its beginning, and as many of the last lines as fit."""

_PAGE = "500"
_CALL_SECONDS = 60.0
_SERVED_VERSIONS = {row[0] for row in SERVED.values()}
_EXTRA_KINDS = {
    "ControllerRevision": ("apps/v1", "controllerrevisions"),
    "EndpointSlice": ("discovery.k8s.io/v1", "endpointslices"),
    "ReplicaSet": ("apps/v1", "replicasets"),
    "StatefulSet": ("apps/v1", "statefulsets"),
}
"""Kinds of objects that other controllers create from our children."""

_SERVERLESS = ("serving.knative.dev/v1", ("configurations", "revisions", "services"))
_HANDLED_SEPARATELY = {"Event", "Node", "Secret"}
_BUILT_IN = {
    *("v1", "apps/v1", "autoscaling/v2", "batch/v1", "discovery.k8s.io/v1", "networking.k8s.io/v1"),
    *("rbac.authorization.k8s.io/v1", "resource.k8s.io/v1"),
}
"""API versions of kinds without a CustomResourceDefinition."""

_OPERATOR_LABEL = ("control-plane", "controller-manager")
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@dataclass(frozen=True)
class Order:
    """The request: what to gather within ``seconds``.

    ``resource``: one custom resource, such as NIMService/llm; if empty, everything in
    ``namespace``, or in the cluster if that is empty as well.
    """

    resource: str = ""
    namespace: str = ""
    operator_namespace: str = "nimops-system"
    seconds: float = 300


@dataclass(frozen=True)
class ServedResource:
    """A kind that the API server serves."""

    version: str
    plural: str
    kind: str
    names: frozenset[str] = frozenset()
    is_namespaced: bool = True

    @property
    def folder(self) -> str:
        """The folder in the archive: the resource's name in kubectl."""
        group = self.version.partition("/")[0] if "/" in self.version else ""
        return f"{self.plural}.{group}" if group else self.plural


class _TimeIsUpError(Exception):
    """The time limit was reached; the rest is omitted."""


@dataclass
class _Findings:
    """Results of earlier steps, for later ones."""

    server: str = ""
    served: list[ServedResource] = field(default_factory=list)
    resources: list[Json] = field(default_factory=list)
    secrets: dict[tuple[str, str], set[str]] = field(default_factory=lambda: defaultdict(set))
    containers: list[tuple[str, Container]] = field(default_factory=list)


def gather(client: Client, order: Order, archive: Archive, notify: Notify) -> str:
    """Fill the archive, except its index; returns the version of the API server.

    ApiError if it does not answer, or does not allow reading any custom resource; NimError if the
    requested one does not exist.
    """
    return _Gathering(client, order, archive, notify).run()


class _Gathering:
    def __init__(self, client: Client, order: Order, archive: Archive, notify: Notify) -> None:
        self._client = client
        self._order = order
        self._archive = archive
        self._notify = notify
        self._deadline = time.monotonic() + order.seconds
        self._found = _Findings()
        self._redactor = Redactor()

    def run(self) -> str:
        try:
            self._find_server()
            self._find_served()
            self._find_resources()
        except _TimeIsUpError as error:
            raise NimError(
                f"the API server did not list its resources within {self._order.seconds:g} s"
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
                why = f"timed out after {self._order.seconds:g} s"
                self._archive.note_cut(what, why)
                self._notify(f"{what}: {why}")
        return self._found.server

    # Discovery

    def _find_server(self) -> None:
        version = self._call(lambda: self._client.get("/version")) or {}
        self._found.server = str(version.get("gitVersion") or "")
        self._put("versions/server.yaml", version)

    def _find_served(self) -> None:
        """Find the served kinds that may belong to custom resources."""
        wanted = defaultdict(set)
        known = {kind: (item.version, item.plural) for kind, item in KINDS.items()}
        for kind, (version, plural) in (known | _EXTRA_KINDS).items():
            if kind not in _HANDLED_SEPARATELY:
                wanted[version].add(plural)
        wanted[_SERVERLESS[0]].update(_SERVERLESS[1])
        served = {}
        for version in sorted(wanted):
            found = self._read(collection_path(version), version)
            listed = (found or {}).get("resources") or []
            listed.sort(key=lambda item: item["name"])
            served[version] = [item["name"] for item in listed if "/" not in item["name"]]
            self._found.served += [
                _served_resource(version, item)
                for item in listed
                if version in _SERVED_VERSIONS or item["name"] in wanted[version]
                if "/" not in item["name"]
                if item.get("namespaced") or version in _SERVED_VERSIONS
            ]
        self._put("versions/apis.yaml", served)

    def _find_resources(self) -> None:
        own = [resource for resource in self._found.served if resource.version in _SERVED_VERSIONS]
        if self._order.resource:
            self._found.resources = [self._get_resource(own)]
            return
        errors = []
        asked = [item for item in own if item.is_namespaced or not self._order.namespace]
        for resource in asked:
            try:
                self._found.resources += self._fetch(resource, self._order.namespace)
            except ApiError as error:
                errors.append(error)
                self._note(f"{resource.folder} in {self._order.namespace or 'the cluster'}", error)
        if asked and len(errors) == len(asked):
            raise errors[0]
        count = len(self._found.resources)
        self._notify(f"{count} custom resources in {self._order.namespace or 'the cluster'}")

    def _get_resource(self, own: list[ServedResource]) -> Json:
        """The requested custom resource, without which nothing is gathered."""
        wanted, _slash, name = self._order.resource.partition("/")
        resource = next((resource for resource in own if wanted.lower() in resource.names), None)
        if resource is None or not name:
            known = (
                ", ".join(resource.kind for resource in own)
                or f"none, as nothing of {' or '.join(sorted(SERVED_GROUPS))} is served"
            )
            raise NimError(
                f"resource: {self._order.resource!r} is not a kind and name such as NIMService/llm;"
                f" the kinds are {known}"
            )
        namespace = self._order.namespace if resource.is_namespaced else ""
        path = collection_path(resource.version, resource.plural, namespace, name)
        found = self._call(lambda: self._client.get(path))
        if found is None:
            shown = f"{namespace}/{name}" if namespace else name
            raise NimError(f"{resource.kind} {shown} does not exist")
        self._redactor.learn(found)
        return {"apiVersion": resource.version, "kind": resource.kind, **found}

    # Collection

    def _take_namespaces(self) -> None:
        roots = defaultdict(list)
        for item in self._found.resources:
            roots[_namespace(item)].append(item)
        for namespace in sorted(roots):
            home = namespace or self._order.operator_namespace
            pool = [
                item
                for resource in self._found.served
                if resource.is_namespaced or not namespace
                for item in self._list(resource, home if resource.is_namespaced else "")
            ]
            belongings = list_related_objects(roots[namespace], pool)
            folder = f"namespaces/{namespace}" if namespace else "cluster"
            self._take_objects(folder, belongings)
            is_part = bool(self._order.resource) or not namespace
            self._take_events(folder, home, belongings if is_part else None)
            self._notify(f"{namespace or 'cluster-scoped'}: {len(belongings)} objects")

    def _take_objects(self, folder: str, items: list[Json]) -> None:
        folders = {
            (resource.version, resource.kind): resource.folder for resource in self._found.served
        }
        for item in items:
            name, namespace = item["metadata"]["name"], _namespace(item)
            base = f"{folder}/{folders[item['apiVersion'], item['kind']]}/{_safe(name)}"
            self._put(f"{base}.yaml", item)
            for kind, secret in list_references(item):
                if kind == "Secret":
                    self._found.secrets[namespace, secret].add(f"{item['kind']}/{name}")
            if item["kind"] == "Pod":
                self._found.containers += [(base, one) for one in list_containers(item)]

    def _take_events(self, folder: str, namespace: str, about: list[Json] | None) -> None:
        """Take the events of a namespace, or only those ``about`` these objects."""
        resource = ServedResource("v1", "events", "Event")
        found = self._list(resource, namespace)
        kept = found if about is None else [item for item in found if event_concerns(item, about)]
        if kept:
            self._put(f"{folder}/events.yaml", [show_event(item) for item in sort_events(kept)])

    def _take_operator(self) -> None:
        """Take the operator's Deployment, pods and leader election Leases."""
        namespace = self._order.operator_namespace
        served = {
            resource.kind: resource
            for resource in self._found.served
            if resource.version in _BUILT_IN
        }
        pool = {
            kind: self._list(served[kind], namespace)
            for kind in ("Deployment", "ReplicaSet", "Pod")
            if kind in served
        }
        roots = [item for item in pool.get("Deployment", []) if _is_operator(item)]
        if not roots:
            why = "no Deployment with the label {}: {} was found".format(*_OPERATOR_LABEL)
            self._archive.note_unread(f"the operator in {namespace}", why)
        items = list_related_objects(roots, [item for found in pool.values() for item in found])
        before, self._found.containers = self._found.containers, []
        self._take_objects("operator", items)
        self._found.containers += before  # the operator's logs come before all other logs
        leases = self._list(ServedResource("coordination.k8s.io/v1", "leases", "Lease"), namespace)
        if leases:
            self._put("operator/leases.yaml", leases)
        if roots:
            self._take_events("operator", namespace, items)
        self._notify(f"operator: {len(items)} objects in {namespace}")

    def _take_nodes(self) -> None:
        nodes = self._list(ServedResource("v1", "nodes", "Node"), "")
        if nodes:
            self._put("nodes.yaml", [show_node(item) for item in nodes])
        self._notify(f"{len(nodes)} nodes")

    def _take_definitions(self) -> None:
        """Take the definitions of the served custom resources."""
        shown = []
        for resource in self._found.served:
            if resource.version in _BUILT_IN:
                continue
            path = f"{_DEFINITIONS}/{resource.folder}"
            if found := self._read(path, f"the definition of {resource.folder}"):
                shown.append(show_definition(found))
        if shown:
            self._put("versions/definitions.yaml", shown)

    def _take_secrets(self) -> None:
        """Record which of the referenced Secrets exist."""
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
        for number, (base, container) in enumerate(self._found.containers, 1):
            if self._archive.is_full:
                what = f"the logs of {count - number + 1} containers"
                self._archive.note_cut(what, "the size limit was reached")
                self._notify(f"{what}: the size limit was reached")
                return
            for is_previous in (False, True) if container.has_previous else (False,):
                self._take_log(base, container, is_previous)
            if number % 10 == 0 or number == count:
                self._notify(f"logs: {number} of {count} containers")

    def _take_log(self, base: str, container: Container, is_previous: bool) -> None:
        path = f"{base}/{container.name}{'.previous' if is_previous else ''}.log"
        if container.waits_for and not is_previous:
            self._archive.note_unread(path, f"it has not started: {container.waits_for}")
            return
        try:
            text = self._read_log(container, is_previous, path)
        except ApiError as error:
            self._note(path, error)
            return
        self._archive.add_end(path, self._redact_log(text).encode(errors="replace"))

    def _redact_log(self, text: str) -> str:
        """A redacted log, whose middle lines may be missing."""
        head, cut, end = text.partition(CUT)
        rest = self._redactor.redact_rest(end) if cut else ""
        return self._redactor.redact_text(head) + cut + rest

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
            self._archive.note_cut(path, "of a long log, only the beginning and the last lines")
        return text

    # Reading and writing

    def _list(self, resource: ServedResource, namespace: str) -> list[Json]:
        """The objects of a collection; an empty list, with a note, if they cannot be read."""
        try:
            return self._fetch(resource, namespace)
        except ApiError as error:
            self._note(f"{resource.folder} in {namespace or 'the cluster'}", error)
            return []

    def _fetch(self, resource: ServedResource, namespace: str) -> list[Json]:
        """The objects of a collection, by namespace and name."""
        items: list[Json] = []
        path = collection_path(resource.version, resource.plural, namespace)
        query = {"limit": _PAGE}
        while True:
            page = self._call(lambda: self._client.get(path, **query)) or {}
            items += page.get("items") or []
            self._redactor.learn(page.get("items"))
            if not (token := (page.get("metadata") or {}).get("continue")):
                break
            query["continue"] = token
        shown = [{"apiVersion": resource.version, "kind": resource.kind, **item} for item in items]
        return sorted(shown, key=lambda item: (_namespace(item), item["metadata"]["name"]))

    def _read(self, path: str, what: str) -> Json | None:
        """The object at a path; None if it does not exist or, with a note, cannot be read."""
        try:
            found: Json | None = self._call(lambda: self._client.get(path))
        except ApiError as error:
            self._note(what, error)
            return None
        return found

    def _call(self, work: t.Callable[[], t.Any]) -> t.Any:
        """Call within the remaining time, and within the limit of a single call."""
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
        self._archive.note_unread(what, self._redactor.redact_text(str(error)))

    def _put(self, path: str, content: t.Any) -> None:
        shown = self._redactor.redact_object(content)
        self._archive.add(path, to_yaml(shown).encode(errors="replace"))


def _served_resource(version: str, item: Json) -> ServedResource:
    names = {
        item["kind"],
        item["name"],
        item.get("singularName") or "",
        *item.get("shortNames", []),
    }
    lowered = frozenset(name.lower() for name in names if name)
    return ServedResource(
        version, item["name"], item["kind"], lowered, bool(item.get("namespaced"))
    )


def _is_operator(deployment: Json) -> bool:
    label, value = _OPERATOR_LABEL
    return (deployment["metadata"].get("labels") or {}).get(label) == value


def _namespace(item: Json) -> str:
    return item["metadata"].get("namespace") or ""


def _safe(name: str) -> str:
    """A name as a file name: names of some kinds may contain colons."""
    return "".join(char if char.isalnum() or char in "-_." else "_" for char in name)
