# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Places pods on nodes with the filters of the scheduler of Kubernetes."""

from __future__ import annotations

import typing as t
from collections import Counter
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property

from ..._base.types import Fields, Json
from ..._builders.pod import has_ended
from ..._engine.label_selector import selector_of
from .devices import Claim, Devices, tolerates
from .pod_resources import ZERO, Amounts, add, amounts_of, show, total

_UNSCHEDULABLE = {
    "key": "node.kubernetes.io/unschedulable",
    "effect": "NoSchedule",
}
_NAME_FIELD = "metadata.name"


@dataclass(frozen=True)
class Reason:
    """Why a node does not take a pod. ``kind``: selector, taint, amount, devices or pods."""

    kind: str
    text: str


@dataclass(frozen=True)
class PodToPlace:
    """A pod without a node.

    ``volumes``: node affinities of its volumes. ``group``: equal pods have the same.
    """

    group: str
    namespace: str
    labels: t.Mapping[str, str]
    spec: Json
    claims: tuple[Claim, ...] = ()
    volumes: tuple[Json, ...] = ()
    priority: int = 0

    @cached_property
    def requests(self) -> Amounts:
        """The requests, and a place among the pods of a node."""
        return {**total(self.spec), "pods": Decimal(1)}


@dataclass
class Node:
    """A node with the pods on it."""

    name: str
    labels: t.Mapping[str, str]
    taints: list[Json]
    allocatable: Amounts
    used: Amounts = field(default_factory=dict)
    pods: list[Json] = field(default_factory=list)
    """Metadata and spec of each pod."""
    groups: Counter[str] = field(default_factory=Counter)
    """The number of placed pods by group."""

    def free(self, resource: str) -> Decimal:
        """The amount that no pod has requested."""
        return self.allocatable.get(resource, ZERO) - self.used.get(resource, ZERO)

    def take(self, pod: PodToPlace) -> None:
        """Put a pod on the node."""
        self.used = add(self.used, pod.requests)
        self.groups[pod.group] += 1
        metadata = {"namespace": pod.namespace, "labels": pod.labels}
        self.pods.append({"metadata": metadata, "spec": pod.spec})

    def copy(self) -> Node:
        """An independent copy."""
        return replace(self, used=dict(self.used), pods=[*self.pods], groups=Counter(self.groups))

    def is_near(self, other: Node, topology: str) -> bool:
        """Whether both are in one domain of a topology."""
        value = self.labels.get(topology)
        return self is other or (value is not None and other.labels.get(topology) == value)


class Capacity:
    """The nodes, and the devices of DRA drivers, with what is in use."""

    def __init__(self, nodes: dict[str, Node], devices: Devices) -> None:
        self.nodes = nodes
        self.devices = devices
        self._guards = [
            (node, pod) for node in nodes.values() for pod in node.pods if _anti_affinity(pod)
        ]
        """The pods that keep others away, which are few."""

    @classmethod
    def of(
        cls,
        nodes: t.Iterable[Json],
        pods: t.Iterable[Json],
        devices: Devices,
        least: int | None = None,
    ) -> Capacity:
        """The capacity beside the live pods, or beside those with at least this priority."""
        found = {item["metadata"]["name"]: _node_of(item) for item in nodes}
        for pod in pods:
            spec = pod.get("spec") or {}
            node = found.get(spec.get("nodeName") or "")
            is_light = least is not None and int(spec.get("priority") or 0) < least
            if node is None or has_ended(pod) or is_light:
                continue
            node.used = add(node.used, {**total(spec), "pods": Decimal(1)})
            node.pods.append(pod)
        return cls(found, devices)

    def copy(self) -> Capacity:
        """An independent copy."""
        nodes = {name: node.copy() for name, node in self.nodes.items()}
        return Capacity(nodes, self.devices.copy())

    def reasons(self, pod: PodToPlace) -> list[Reason]:
        """Why no node takes the pod: the first reason of each node."""
        found = (self._reason(node, pod) for node in self.nodes.values())
        return [reason for reason in found if reason]

    def place(self, pod: PodToPlace, *, is_tight: bool) -> bool:
        """Put the pod on a node; returns whether one takes it.

        ``is_tight``: on the fullest one, so that large pods find room. Otherwise like the scheduler
        by default: where the fewest equal pods are, and then the most CPU and memory is free.
        """
        fits = [node for node in self.nodes.values() if self._reason(node, pod) is None]
        if not fits:
            return False
        order = (lambda node: _fullness(node, pod)) if is_tight else _spread_order(pod)
        node = min(fits, key=order)
        node.take(pod)
        if _anti_affinity(node.pods[-1]):
            self._guards.append((node, node.pods[-1]))
        self.devices.allocate(node, self._claims(node, pod))
        return True

    def _reason(self, node: Node, pod: PodToPlace) -> Reason | None:
        return (
            _label_reason(node, pod)
            or _taint_reason(node, pod.spec)
            or self._amount_reason(node, pod)
            or self._affinity_reason(node, pod)
            or self._device_reason(node, pod)
        )

    def _device_reason(self, node: Node, pod: PodToPlace) -> Reason | None:
        text = self.devices.why_not(node, self._claims(node, pod))
        return Reason("devices", text) if text else None

    def _claims(self, node: Node, pod: PodToPlace) -> list[Claim]:
        """The claims of the pod, and those for resources that the node only has as devices."""
        made = (self._claim_for(node, name, want) for name, want in pod.requests.items())
        return [*pod.claims, *(claim for claim in made if claim)]

    def _claim_for(self, node: Node, resource: str, want: Decimal) -> Claim | None:
        if want <= 0 or node.allocatable.get(resource, ZERO):
            return None
        return self.devices.claim_for(resource, int(want))

    def _amount_reason(self, node: Node, pod: PodToPlace) -> Reason | None:
        short = [
            name
            for name, want in pod.requests.items()
            if want > 0 and want > node.free(name) and not self._claim_for(node, name, want)
        ]
        if not short:
            return None
        name = min(short, key=lambda item: ("/" not in item, item))
        have = node.allocatable.get(name, ZERO)
        if not have:
            return Reason("amount", f"without {name}")
        free = max(node.free(name), ZERO)
        return Reason("amount", f"with {show(free)} of {show(have)} {name} free")

    def _affinity_reason(self, node: Node, pod: PodToPlace) -> Reason | None:
        """Required affinity to pods, and anti-affinity in both directions."""
        affinity = pod.spec.get("affinity") or {}
        own = {"namespace": pod.namespace, "labels": pod.labels}
        for term in _required(affinity.get("podAntiAffinity")):
            if self._has_match(node, term, pod.namespace):
                return Reason("pods", "with a pod to which it has an anti-affinity")
        for place, other in self._guards:
            where = other["metadata"].get("namespace", "")
            if any(
                place.is_near(node, term.get("topologyKey") or "") and _is_meant(term, own, where)
                for term in _anti_affinity(other)
            ):
                return Reason("pods", "with a pod that has an anti-affinity to it")
        for term in _required(affinity.get("podAffinity")):
            is_first = _is_meant(term, own, pod.namespace) and not self._exists(term, pod.namespace)
            if not is_first and not self._has_match(node, term, pod.namespace):
                return Reason("pods", "without a pod to which it has an affinity")
        return None

    def _has_match(self, node: Node, term: Fields, namespace: str) -> bool:
        topology = term.get("topologyKey") or ""
        near = (other for other in self.nodes.values() if node.is_near(other, topology))
        return any(_is_meant(term, pod["metadata"], namespace) for it in near for pod in it.pods)

    def _exists(self, term: Fields, namespace: str) -> bool:
        return any(
            _is_meant(term, pod["metadata"], namespace)
            for node in self.nodes.values()
            for pod in node.pods
        )


def _anti_affinity(pod: Fields) -> list[Json]:
    affinity = (pod.get("spec") or {}).get("affinity") or {}
    return _required(affinity.get("podAntiAffinity"))


def _node_of(item: Json) -> Node:
    spec, metadata = item.get("spec") or {}, item["metadata"]
    taints = [
        taint for taint in spec.get("taints") or [] if taint.get("effect") != "PreferNoSchedule"
    ]
    if spec.get("unschedulable") and _UNSCHEDULABLE["key"] not in [it.get("key") for it in taints]:
        taints.append(_UNSCHEDULABLE)
    allocatable = amounts_of((item.get("status") or {}).get("allocatable"))
    return Node(metadata["name"], metadata.get("labels") or {}, taints, allocatable)


def _fullness(node: Node, pod: PodToPlace) -> tuple[Decimal, ...]:
    """The free amounts of what the pod requests, of extended resources first."""
    names = sorted(pod.requests, key=lambda name: ("/" not in name, name))
    return tuple(node.free(name) for name in names)


def _spread_order(pod: PodToPlace) -> t.Callable[[Node], tuple[t.Any, ...]]:
    def order(node: Node) -> tuple[t.Any, ...]:
        shares = [
            node.used.get(name, ZERO) / most
            for name in ("cpu", "memory")
            if (most := node.allocatable.get(name, ZERO)) > 0
        ]
        return node.groups[pod.group], sum(shares, ZERO)

    return order


def _label_reason(node: Node, pod: PodToPlace) -> Reason | None:
    for key, value in (pod.spec.get("nodeSelector") or {}).items():
        if node.labels.get(key) != str(value):
            return Reason("selector", f"without the label {key}={value}")
    affinity = (pod.spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required and not selects_node(required, node.name, node.labels):
        return Reason("selector", "not matching nodeAffinity")
    if any(not selects_node(item, node.name, node.labels) for item in pod.volumes):
        return Reason("selector", "without access to a volume of the pod")
    return None


def selects_node(selector: Fields, name: str, labels: t.Mapping[str, str]) -> bool:
    """Whether a NodeSelector selects a node: one of its terms must match."""
    return any(_is_term(term, name, labels) for term in selector.get("nodeSelectorTerms") or [])


def _is_term(term: Fields, name: str, labels: t.Mapping[str, str]) -> bool:
    expressions, fields = term.get("matchExpressions") or [], term.get("matchFields") or []
    if not expressions and not fields:
        return False
    return all(_holds(item, labels) for item in expressions) and all(
        _holds(item, {_NAME_FIELD: name}) for item in fields
    )


def _holds(item: Fields, labels: t.Mapping[str, str]) -> bool:
    value, values = labels.get(item.get("key") or ""), item.get("values") or []
    operator = item.get("operator")
    if operator in ("Gt", "Lt"):
        try:
            have, want = int(str(value)), int(values[0])
        except (ValueError, IndexError):
            return False
        return have > want if operator == "Gt" else have < want
    return {
        "In": value is not None and value in values,
        "NotIn": value not in values,
        "Exists": value is not None,
        "DoesNotExist": value is None,
    }.get(str(operator), False)


def _taint_reason(node: Node, spec: Fields) -> Reason | None:
    tolerations = spec.get("tolerations") or []
    for taint in node.taints:
        if not any(tolerates(item, taint) for item in tolerations):
            value = f"={taint['value']}" if taint.get("value") else ""
            shown = f"{taint.get('key')}{value}:{taint.get('effect')}"
            return Reason("taint", f"with the taint {shown}, which is not tolerated")
    return None


def _required(affinity: Fields | None) -> list[Json]:
    found = (affinity or {}).get("requiredDuringSchedulingIgnoredDuringExecution") or []
    return t.cast("list[Json]", found)


def _is_meant(term: Fields, metadata: Fields, namespace: str) -> bool:
    """Whether a term is about a pod; ``namespace``: of the pod that has the term."""
    where = term.get("namespaces") or [namespace]
    if term.get("namespaceSelector") is None and metadata.get("namespace") not in where:
        return False
    selector = selector_of(term.get("labelSelector"))
    return bool(selector and selector.selects(metadata.get("labels")))


def summarize(reasons: t.Iterable[Reason], total_nodes: int) -> str:
    """The reasons of all nodes, the most frequent first."""
    counts = Counter(reason.text for reason in reasons)
    parts = [
        f"{count} {text}" if count > 1 else f"1 {text}" for text, count in counts.most_common(6)
    ]
    return f"0 of {total_nodes} nodes fit: {', '.join(parts)}" if parts else "there are no nodes"
