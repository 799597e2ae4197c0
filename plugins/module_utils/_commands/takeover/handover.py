# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Hands a cluster over from the reference operator to ours, and back."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field, replace
from functools import cached_property

from ..._base.errors import ApiError, NimError
from ..._base.types import Json
from ..._builders.nim_metadata import LAST_APPLIED_ANNOTATION
from ..._cluster.client import Client
from ..._engine.adjust import Adjust
from ..._engine.api_resources import GROUP, KINDS, api_path, collection_path, identity
from ..._engine.api_resources import ObjectKey as Key
from ..._engine.competing_operator import CONTESTED
from ..._engine.conditions import drop_condition
from ..._engine.served_kinds import SERVED
from ..install.definitions import has_our_status
from ..operators import OperatorPods, read_installations, wait_available
from ..plan.diff import TEMPLATES
from ..plan.preview import Preview, list_children, list_resources, preview
from ..release.release import find_held, release
from ..text import name_of, write_plan
from ..waiting import poll, wait_while
from .backup import CRD, WEBHOOKS, Backup, restorable
from .installations import (
    FORMER_REPLICAS,
    LEASE,
    Installation,
    find_installations,
    find_webhooks,
    only,
)
from .rollback_obstacles import CACHE, Obstacles, find_obstacles
from .rollback_obstacles import KINDS as CRASHING_KINDS
from .snapshot import (
    POD,
    Comparison,
    Snapshot,
    compare,
    count_restarts,
    not_ready,
    take_snapshot,
)

MANAGER = "nimops.nim.takeover"
"""Our field manager for operators and definitions."""

_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/"
_PLURALS = {kind: f"{kind.lower()}s" for kind in WEBHOOKS}
_LEASES = "coordination.k8s.io/v1"
_PAUSES = (1.0,)
_QUIET, _LONG_QUIET = 10, 30
"""Required number of consecutive polls without a change."""
_SELECT = ", or select a namespace with operator_namespace"
_NAMESPACE = "Namespace"
_MEASURED = "HorizontalPodAutoscaler"
"""A kind whose status follows measurements, so it changes all the time."""
_ORDER = ("ServiceAccount", "ConfigMap", "Secret", "Role", "ClusterRole", "RoleBinding")
"""Kinds to apply first after the CRDs, in this order."""


@dataclass(frozen=True)
class Order:
    """The user's request.

    ``manifests``: those of our operator, required unless it is installed. ``namespace``: selects
    among several operators; empty for any. ``seconds``: the limit of each wait.
    """

    manifests: list[Json] = field(default_factory=list)
    namespace: str = ""
    seconds: float = 300


@dataclass(frozen=True)
class Situation:
    """The operators of the cluster, with custom resources, webhooks and definitions."""

    reference: Installation | None
    ours: Installation | None
    resources: list[Json]
    webhooks: list[Json]
    definitions: list[Json]
    unserved: dict[str, int]

    @property
    def is_taken_over(self) -> bool:
        """Whether our operator runs, and no part of the reference is active."""
        is_stopped = self.reference is None or not self.reference.replicas
        is_left = self.webhooks or self.foreign_definitions
        return is_stopped and not is_left and bool(self.ours and self.ours.replicas)

    @property
    def foreign_definitions(self) -> dict[str, str]:
        """The reference operator's CRDs of kinds that we serve: name → kind."""
        return {
            item["metadata"]["name"]: item["spec"]["names"]["kind"]
            for item in self.definitions
            if item["spec"]["names"]["kind"] in SERVED and not has_our_status(item)
        }

    @property
    def is_reconciling(self) -> bool:
        """Whether our operator is already active, according to the Lease."""
        return bool(self.ours and self.ours.replicas and self.ours.is_leader)


class Takeover:
    """One takeover, or one return. ``notify`` reports progress."""

    def __init__(self, client: Client, order: Order, notify: t.Callable[[str], None]) -> None:
        self._client = client
        self._order = order
        self._notify = notify

    # Observation

    def inspect(self) -> Situation:
        """Find the operators and the custom resources. NimError if there are several operators."""
        namespace = self._order.namespace
        found = read_installations(self._client, namespace)
        reference = only(found, is_ours=False, advice=_SELECT)
        configurations = [
            {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, **item}
            for kind in WEBHOOKS
            for item in self._client.list_objects(_WEBHOOKS + _PLURALS[kind]) or []
        ]
        definitions = [
            {"apiVersion": "apiextensions.k8s.io/v1", "kind": CRD, **item}
            for item in self._client.list_objects(_CRDS) or []
            if item["spec"]["group"] == GROUP
        ]
        return Situation(
            reference=reference,
            ours=only(found, is_ours=True, advice=_SELECT),
            resources=list_resources(self._client, ""),
            webhooks=find_webhooks(configurations, reference) if reference else [],
            definitions=definitions,
            unserved=self._count_unserved(definitions),
        )

    def preview(self, now: Situation, adjust: Adjust | None = None) -> Preview:
        """The changes that our operator would make; ``adjust``: see `_engine/adjust.py`."""
        return preview(self._client, now.resources, adjust, is_given=False)

    def obstacles(self) -> Obstacles:
        """The objects that the reference operator cannot take over."""
        kinds = [kind for kind in CRASHING_KINDS if self._is_served(kind)]
        caches = self._client.list_objects(api_path(CACHE)) or []
        children = list_children(self._client, kinds, "")
        pods = self._client.list_objects(api_path(POD)) or []
        return find_obstacles([*children, *caches], pods)

    def foreign_finalizers(self) -> list[Json]:
        """The custom resources with finalizers of ours that NVIDIA's operators do not know."""
        held = find_held(list_resources(self._client, ""))
        return [item for item in held if KINDS[item["kind"]].group != GROUP]

    def backup(self, now: Situation) -> Backup:
        """The custom resources, and objects that a takeover changes or removes."""
        return Backup(now.definitions, now.webhooks, now.resources)

    # Takeover

    def check(self, now: Situation) -> None:
        """NimError if a takeover would fail or do harm."""
        if now.unserved:
            found = ", ".join(f"{count} {kind}" for kind, count in sorted(now.unserved.items()))
            raise NimError(
                f"the cluster has {found}, which nimops.nim does not serve yet: no operator"
                " would reconcile them. Delete them, or wait for a release that serves them"
            )
        if now.reference is None:
            raise NimError(
                "there is no other operator to take over from: to install nimops.nim, see"
                " docs/operate/install.md"
            )
        if now.reference.olm_owner:
            raise NimError(
                f"Deployment {now.reference.namespace}/{now.reference.name} belongs to OLM's"
                f" ClusterServiceVersion {now.reference.olm_owner}, which would start it again:"
                " delete its Subscription and the ClusterServiceVersion (CRDs and custom resources"
                " stay), and install nimops.nim in its namespace"
            )
        self._our_namespace(now)
        deployment = self._our_deployment() or t.cast(Installation, now.ours).deployment
        ours = Installation(deployment, is_ours=True)
        namespaces = {item["metadata"].get("namespace") or "" for item in now.resources}
        if ours.watched_namespaces and (left := sorted(namespaces - ours.watched_namespaces)):
            raise NimError(
                f"our operator's WATCH_NAMESPACE leaves out {', '.join(left)}: no operator"
                " would reconcile the custom resources there"
            )
        if not ours.release_version:
            raise NimError(
                "our Deployment does not set OPERATOR_VERSION, which shows here what has been"
                " reconciled: set it as in config/manager/manager.yaml"
            )
        self._check_definitions(now)

    def _check_definitions(self, now: Situation) -> None:
        """NimError unless the CRDs are ours, or are part of the manifests."""
        given = {item["metadata"]["name"] for item in self._order.manifests if item["kind"] == CRD}
        found = now.foreign_definitions
        if missing := sorted(kind for name, kind in found.items() if name not in given):
            raise NimError(
                f"the cluster has the reference operator's CRDs of {', '.join(missing)}, which drop"
                " fields of our status: name the file with the manifests of our operator, and its"
                " CRDs, in manifests"
            )

    def take_over(self, now: Situation, announced: t.Container[Key] = frozenset()) -> Comparison:
        """Start our operator, stop the reference, wait, and compare. NimError on failure.

        ``announced``: the workloads whose pods are replaced according to the preview.
        """
        reference = t.cast(Installation, now.reference)
        before = self._snapshot()
        if now.is_reconciling and now.foreign_definitions:
            # These CRDs dropped status fields of our operator, which would not write them again.
            active = t.cast(Installation, now.ours)
            self._stop(active)
            self._release_lease(active)
        ours = self._start_ours(now)
        for webhook in now.webhooks:
            self._delete_webhook(webhook)
        self._stop(reference)
        self._release_lease(reference)
        self._notify(f"waiting for {len(now.resources)} custom resources to be reconciled")
        name = f"{ours.namespace}/{ours.name}"
        wait_while(self._unreconciled, f"{name} has not reconciled", self._order.seconds)
        found = self._settle(before, announced)
        self._end_contests()
        return found

    def _our_namespace(self, now: Situation) -> str:
        """The namespace of our operator; NimError unless it is the reference's namespace."""
        reference = t.cast(Installation, now.reference)
        ours = now.ours.deployment if now.ours else self._our_deployment()
        if ours is None:
            raise NimError(
                "manifests: missing; name the file with the manifests of our operator, for example"
                " the output of: kubectl kustomize config/default"
            )
        namespace = str(ours["metadata"].get("namespace") or "")
        if namespace != reference.namespace:
            raise NimError(
                f"our operator's namespace is {namespace or 'not set'}, the reference operator's"
                f" {reference.namespace}: they must be the same, as they share the Lease {LEASE}"
                f" there. Set `namespace: {reference.namespace}` in kustomization.yaml"
            )
        return namespace

    def _our_deployment(self) -> Json | None:
        deployments = [item for item in self._order.manifests if item["kind"] == "Deployment"]
        if not deployments:
            return None
        found = only(find_installations(deployments, []), is_ours=True)
        if found is None:
            raise NimError("manifests: have no Deployment of nimops.nim")
        return found.deployment

    def _start_ours(self, now: Situation) -> Installation:
        """Apply the manifests, or scale up the Deployment, and wait for the pods.

        Between the CRDs and the rest, the versions in statuses are cleared. The pods wait for the
        Lease until the reference is stopped, so a missing image does no harm.
        """
        namespace = self._our_namespace(now)
        if self._order.manifests:
            self._notify(f"installing our operator: {len(self._order.manifests)} objects")
            deployment = t.cast(Json, self._our_deployment())
        else:
            deployment = t.cast(Installation, now.ours).deployment
        manifests = self._order.manifests
        for item in [item for item in manifests if item["kind"] == CRD]:
            self._apply(item)
        if not now.is_reconciling or now.foreign_definitions:
            self._forget_version(now)
        for item in sorted([item for item in manifests if item["kind"] != CRD], key=_rank):
            self._apply(item)
        name = deployment["metadata"]["name"]
        live = self._client.get(api_path("Deployment", namespace, name))
        if live is None:
            raise NimError(f"Deployment {namespace}/{name} does not exist: name its manifests")
        ours = Installation(live, is_ours=True)
        if not ours.replicas:
            self._scale(ours, ours.former_replicas)
        self._notify(f"waiting for the pods of {namespace}/{name}")
        wait_available(self._client, namespace, name, self._order.seconds)
        return ours

    # Return

    def check_return(self, now: Situation) -> None:
        """NimError if one of the two operators is not installed."""
        if now.reference is None:
            raise NimError(
                "the reference operator is not installed: install it with its chart, with"
                " replicas 0 so that it does not start yet"
            )
        if now.ours is None:
            raise NimError("our operator is not installed: there is nothing to return from")

    def give_back(self, now: Situation, saved: Backup) -> Comparison:
        """Stop our operator, remove obstacles, start the reference, wait, and compare."""
        reference, ours = t.cast(Installation, now.reference), t.cast(Installation, now.ours)
        before = self._snapshot()
        self._stop(ours)
        self._release_lease(ours)
        for item in self.foreign_finalizers():
            self._notify(f"removing the finalizer of {name_of(identity(item))}")
            release(self._client, item)
        found = self.obstacles()
        for item in found.removable:
            kind, metadata = item["kind"], item["metadata"]
            self._notify(f"deleting {kind} {metadata['namespace']}/{metadata['name']}")
            self._delete(api_path(kind, metadata["namespace"], metadata["name"]), metadata["uid"])
            before = {key: seen for key, seen in before.items() if seen.uid != metadata["uid"]}
        for item in saved.definitions:
            self._restore_definition(item)
        self._scale(reference, reference.former_replicas)
        self._notify(f"waiting for the pods of {reference.namespace}/{reference.name}")
        wait_available(self._client, reference.namespace, reference.name, self._order.seconds)
        for item in saved.webhooks:
            self._apply(restorable(item))
        self._wait_quiet(reference)
        compared = self._settle(before)
        return replace(compared, lost=[*compared.lost, *self._restarts(reference)])

    # Steps

    def _stop(self, installation: Installation) -> None:
        """Scale to 0, remember the replicas, and wait until the pods are gone."""
        if installation.replicas:
            self._scale(installation, 0)
        name = f"{installation.namespace}/{installation.name}"
        self._notify(f"waiting for the pods of {name} to end")
        pods = OperatorPods(self._client, installation.deployment)
        wait_while(pods.read_names, f"{name} still has pods", self._order.seconds)

    def _scale(self, installation: Installation, replicas: int) -> None:
        name = f"{installation.namespace}/{installation.name}"
        self._notify(f"scaling Deployment {name} from {installation.replicas} to {replicas}")
        former = str(installation.replicas) if not replicas else None
        body = {
            "metadata": {"annotations": {FORMER_REPLICAS: former}},
            "spec": {"replicas": replicas},
        }
        path = api_path("Deployment", installation.namespace, installation.name)
        self._client.patch(path, body, MANAGER)

    def _release_lease(self, installation: Installation) -> None:
        """Delete the Lease that a stopped operator still holds, instead of waiting 15 seconds."""
        path = collection_path(_LEASES, "leases", installation.namespace, LEASE)
        lease = self._client.get(path)
        if lease and find_installations([installation.deployment], [lease])[0].is_leader:
            self._delete(path, lease["metadata"]["uid"])

    def _forget_version(self, now: Situation) -> None:
        """Clear `status.operatorVersion`, which each resource gets again when it is reconciled.

        The reference's CRDs hide a stored version, which ours show again: so our CRDs are applied
        first, and every status is written, even if it shows no version.
        """
        for resource in now.resources:
            if resource.get("status"):
                metadata = resource["metadata"]
                path = api_path(resource["kind"], metadata.get("namespace"), metadata["name"])
                body = {"status": {"operatorVersion": None}}
                self._client.patch(f"{path}/status", body, MANAGER)

    def _unreconciled(self) -> list[str]:
        """The custom resources that our operator has not yet reconciled."""
        return [
            f"{item['kind']} {item['metadata'].get('namespace')}/{item['metadata']['name']}"
            for item in list_resources(self._client, "")
            if not (item.get("status") or {}).get("operatorVersion")
            and not item["metadata"].get("deletionTimestamp")
        ]

    def _end_contests(self) -> None:
        """Remove the condition about the stopped operator, which would otherwise stay for minutes.

        Its last writes are newer than those of our operator from an earlier takeover.
        """
        for resource in list_resources(self._client, ""):
            conditions = (resource.get("status") or {}).get("conditions") or []
            left = drop_condition(conditions, CONTESTED)
            if left == conditions:
                continue
            metadata = resource["metadata"]
            path = api_path(resource["kind"], metadata.get("namespace"), metadata["name"])
            body = {
                "metadata": {"resourceVersion": metadata["resourceVersion"]},
                "status": {"conditions": left},
            }
            try:
                self._client.patch(f"{path}/status", body, MANAGER)
            except ApiError as error:
                if error.status not in (404, 409):  # reconciled meanwhile: the condition expires
                    raise

    def _wait_quiet(self, reference: Installation) -> None:
        """Wait until the reference has reconciled everything, and no object changes any more.

        Without its hashes, it writes each workload once, unless the resource is waiting: while a
        workload is unwritten, the required time without a change is longer.
        """
        self._notify(
            f"waiting until {reference.namespace}/{reference.name} has reconciled everything"
        )
        quiet, last = 0, None
        for _turn in poll(self._order.seconds, _PAUSES):
            objects = self._objects()
            versions = {
                identity(item): item["metadata"].get("resourceVersion")
                for item in objects
                if item["kind"] != _MEASURED
            }
            quiet, last = (quiet + 1 if versions == last else 0), versions
            if quiet >= (_LONG_QUIET if any(map(_is_unwritten, objects)) else _QUIET):
                return
        self._notify(f"objects still change after {self._order.seconds:g} s")

    def _restarts(self, reference: Installation) -> list[str]:
        """Pods of the reference whose containers were restarted, for example after a panic."""
        return [
            f"Pod {reference.namespace}/{pod['metadata']['name']}: the reference operator has"
            f" restarted {count} times; see kubectl logs --previous"
            for pod in OperatorPods(self._client, reference.deployment).read()
            if (count := count_restarts(pod))
        ]

    def _settle(self, before: Snapshot, announced: t.Container[Key] = frozenset()) -> Comparison:
        """Wait, within the limit, until formerly Ready resources are Ready, and compare."""
        self._notify("waiting until all formerly Ready resources are Ready again")
        after = before
        for _turn in poll(self._order.seconds, _PAUSES):
            after = self._snapshot()
            if not not_ready(before, after):
                break
        return compare(before, after, announced)

    def _snapshot(self) -> Snapshot:
        return take_snapshot([*self._objects(), *list_children(self._client, [POD], "")])

    def _objects(self) -> list[Json]:
        """The custom resources and their objects, without pods."""
        children = list_children(self._client, self._served_children, "")
        return [*list_resources(self._client, ""), *children]

    @cached_property
    def _served_children(self) -> list[str]:
        return [kind for kind in _children_kinds() if self._is_served(kind)]

    # Objects of any kind

    def _apply(self, item: Json) -> None:
        """Apply an object (server-side); an existing namespace is not changed, as it is Helm's."""
        version, kind, metadata = item["apiVersion"], item["kind"], item["metadata"]
        found = self._served_as(version, kind)
        namespace = metadata.get("namespace") if found["namespaced"] else None
        path = collection_path(version, found["name"], namespace, metadata["name"])
        if kind != _NAMESPACE or self._client.get(path) is None:
            self._client.apply(path, item, MANAGER)

    def _served_as(self, version: str, kind: str) -> Json:
        """The discovery entry of a kind."""
        for item in (self._client.get(collection_path(version)) or {}).get("resources") or []:
            if item["kind"] == kind and "/" not in item["name"]:
                return t.cast(Json, item)
        raise NimError(f"manifests: the cluster does not serve {kind} of {version}")

    def _delete_webhook(self, item: Json) -> None:
        kind, name = item["kind"], item["metadata"]["name"]
        self._notify(f"deleting {kind} {name}, because its operator is being stopped")
        self._delete(f"{_WEBHOOKS}{_PLURALS[kind]}/{name}", item["metadata"]["uid"])

    def _restore_definition(self, item: Json) -> None:
        name = item["metadata"]["name"]
        self._notify(f"restoring CustomResourceDefinition {name}")
        self._client.patch(f"{_CRDS}/{name}", {"spec": item["spec"]}, MANAGER)

    def _delete(self, path: str, uid: str) -> None:
        try:
            self._client.delete(path, uid)
        except ApiError as error:
            if error.status != 404:
                raise

    def _is_served(self, kind: str) -> bool:
        return self._client.get(collection_path(KINDS[kind].version)) is not None

    def _count_unserved(self, definitions: list[Json]) -> dict[str, int]:
        """The number of custom resources in our group that we do not serve, by kind."""
        counts = {}
        for definition in definitions:
            names = definition["spec"]["names"]
            if names["kind"] in SERVED:
                continue
            version = f"{GROUP}/{definition['spec']['versions'][0]['name']}"
            if found := self._client.list_objects(collection_path(version, names["plural"])):
                counts[names["kind"]] = len(found)
        return counts


def describe(now: Situation, found: Preview) -> str:
    """A readable description of the situation and the plan."""
    operators = [item.describe() for item in (now.reference, now.ours) if item]
    webhooks = [f"{item['kind']} {item['metadata']['name']}" for item in now.webhooks]
    lines = [*(f"# {text}" for text in operators), *(f"# {text}" for text in webhooks)]
    return "\n".join([*lines, write_plan(found.changes, found.simulated)])


def _is_unwritten(item: Json) -> bool:
    """Whether the reference has not written a workload since its hash was removed."""
    annotations = item["metadata"].get("annotations") or {}
    return item["kind"] in TEMPLATES and LAST_APPLIED_ANNOTATION not in annotations


def _children_kinds() -> list[str]:
    return [kind for kind in KINDS if kind not in SERVED and kind not in ("Event", "Node", POD)]


def _rank(item: Json) -> int:
    kind = item["kind"]
    if kind == _NAMESPACE:
        return -1
    return _ORDER.index(kind) if kind in _ORDER else len(_ORDER)
