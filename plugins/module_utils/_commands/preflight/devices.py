# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Devices of DRA drivers: which are free, and which suit a claim."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ..._base.types import Fields, Json
from .device_selectors import MissingError, UnsupportedError, evaluate

_ALL = "All"


class OnNode(t.Protocol):
    """The parts of a node that devices depend on."""

    name: str
    labels: t.Mapping[str, str]


@dataclass(frozen=True)
class Device:
    """A device of a ResourceSlice. ``key``: driver, pool and name."""

    key: tuple[str, str, str]
    fields: Json
    location: Json

    @property
    def is_partitioned(self) -> bool:
        """Whether it shares counters with other devices, which are not computed here."""
        return bool(self.fields.get("consumesCounters"))


@dataclass(frozen=True)
class Claim:
    """A claim of a pod: ``spec`` of a ResourceClaim.

    ``shared``: the name of an existing claim, which is allocated once. ``is_allocated``: it has its
    devices.
    """

    spec: Json
    shared: str = ""
    is_allocated: bool = False
    node_selector: Json | None = None


@dataclass
class Devices:
    """The devices of the cluster. ``unknown``: expressions that could not be evaluated."""

    devices: list[Device] = field(default_factory=list)
    classes: dict[str, Json] = field(default_factory=dict)
    selects: t.Callable[[Fields, str, t.Mapping[str, str]], bool] = lambda *_: True
    used: set[tuple[str, str, str]] = field(default_factory=set)
    allocated: dict[str, str] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)

    def copy(self) -> Devices:
        """An independent copy; the unknown expressions are collected in one set."""
        return Devices(
            self.devices,
            self.classes,
            self.selects,
            set(self.used),
            dict(self.allocated),
            self.unknown,
        )

    def claim_for(self, resource: str, count: int) -> Claim | None:
        """The claim that the scheduler makes for an extended resource that a class offers.

        Of several classes, it prefers the newest. Kubernetes has this since 1.36.
        """
        offering = [
            (str(item["metadata"].get("creationTimestamp") or ""), name)
            for name, item in sorted(self.classes.items())
            if (item.get("spec") or {}).get("extendedResourceName") == resource
        ]
        if not offering:
            return None
        _created, name = max(offering, key=lambda it: it[0])
        request = {"exactly": {"deviceClassName": name, "count": count}}
        return Claim({"devices": {"requests": [request]}})

    def why_not(self, node: OnNode, claims: t.Iterable[Claim]) -> str:
        """Why the claims cannot be allocated on a node; empty if they can."""
        taken = set(self.used)
        for claim in claims:
            if claim.is_allocated:
                where = claim.node_selector
                if where and not self.selects(where, node.name, node.labels):
                    return "away from the devices of a claim"
                continue
            if claim.shared in self.allocated:
                if self.allocated[claim.shared] != node.name:
                    return "away from the devices of a claim"
                continue
            text = self._take(node, claim, taken)
            if text:
                return text
        return ""

    def allocate(self, node: OnNode, claims: t.Iterable[Claim]) -> None:
        """Use devices of a node for claims that `why_not` accepted."""
        for claim in claims:
            if claim.is_allocated or claim.shared in self.allocated:
                continue
            self._take(node, claim, self.used)
            if claim.shared:
                self.allocated[claim.shared] = node.name

    def _take(self, node: OnNode, claim: Claim, taken: set[tuple[str, str, str]]) -> str:
        """Add the devices of a claim to ``taken``; returns why that is not possible.

        The request that fewest devices suit goes first, so that no other one takes them.
        """
        requests = (claim.spec.get("devices") or {}).get("requests") or []
        if len(requests) > 1:
            requests = sorted(requests, key=lambda request: self._count_suited(node, request))
        for request in requests:
            texts = []
            for choice in _choices(request):
                text = self._take_request(node, choice, taken)
                if not text:
                    break
                texts.append(text)
            else:
                return texts[0]
        return ""

    def _count_suited(self, node: OnNode, request: Json) -> int:
        try:
            return sum(self._suits(item, _choices(request)[0]) for item in self._on(node))
        except MissingError:
            return 0

    def _take_request(self, node: OnNode, request: Json, taken: set[tuple[str, str, str]]) -> str:
        name = request.get("deviceClassName") or ""
        is_admin, is_all = bool(request.get("adminAccess")), request.get("allocationMode") == _ALL
        count, suited = int(request.get("count") or 1), 0
        free: list[tuple[str, str, str]] = []
        for device in self._on(node):
            is_free = is_admin or device.key not in taken
            try:
                suits = self._suits(device, request)
            except MissingError:
                if is_free and (is_all or len(free) < count):
                    return f"with a device without an attribute that a selector for {name} needs"
                continue
            suited += suits
            free += [device.key] if suits and is_free else []
        if not suited:
            return f"without a suitable device of class {name}"
        if len(free) < (suited if is_all else count):
            return f"with {len(free)} of {suited} suitable devices of class {name} free"
        if not is_admin:
            taken.update(free if is_all else free[:count])
        return ""

    def _on(self, node: OnNode) -> t.Iterator[Device]:
        for device in self.devices:
            where = device.location
            if where.get("nodeName"):
                if where["nodeName"] == node.name:
                    yield device
            elif where.get("allNodes") or (
                where.get("nodeSelector")
                and self.selects(where["nodeSelector"], node.name, node.labels)
            ):
                yield device

    def _suits(self, device: Device, request: Json) -> bool:
        of_class = (self.classes.get(request.get("deviceClassName") or "") or {}).get("spec") or {}
        selectors = [*(of_class.get("selectors") or []), *(request.get("selectors") or [])]
        if not all(self._holds(device, item) for item in selectors):
            return False
        tolerations = request.get("tolerations") or []
        return all(
            any(tolerates(item, taint) for item in tolerations)
            for taint in device.fields.get("taints") or []
            if taint.get("effect") in ("NoSchedule", "NoExecute")
        )

    def _holds(self, device: Device, selector: Fields) -> bool:
        expression = str((selector.get("cel") or {}).get("expression") or "")
        try:
            return evaluate(expression, device.key[0], device.fields)
        except UnsupportedError:
            self.unknown.add(expression)
            return True


def _choices(request: Json) -> list[Json]:
    return t.cast("list[Json]", request.get("firstAvailable") or [request.get("exactly") or {}])


def devices_of(slices: t.Iterable[Json], rules: t.Sequence[Json] = ()) -> list[Device]:
    """The devices of the newest generation of each pool, with the taints of DeviceTaintRules."""
    specs = [item.get("spec") or {} for item in slices]
    newest: dict[tuple[str, str], int] = {}
    for spec in specs:
        pool = spec.get("pool") or {}
        key = (str(spec.get("driver")), str(pool.get("name")))
        newest[key] = max(newest.get(key, 0), int(pool.get("generation") or 0))
    found = []
    for spec in specs:
        pool = spec.get("pool") or {}
        key = (str(spec.get("driver")), str(pool.get("name")))
        if int(pool.get("generation") or 0) < newest[key]:
            continue
        for device in spec.get("devices") or []:
            location = device if spec.get("perDeviceNodeSelection") else spec
            kept = {name: location.get(name) for name in ("nodeName", "allNodes", "nodeSelector")}
            name = (*key, str(device.get("name")))
            taints = [*(device.get("taints") or []), *_taints_of(name, rules)]
            found.append(Device(name, {**device, "taints": taints}, kept))
    return found


def _taints_of(device: tuple[str, str, str], rules: t.Iterable[Json]) -> t.Iterator[Json]:
    """The taints of the rules that select a device by its driver, pool and name."""
    for rule in rules:
        spec = rule.get("spec") or {}
        selector = spec.get("deviceSelector")
        if selector is None:
            continue
        wanted = (selector.get(name) for name in ("driver", "pool", "device"))
        if all(want in (None, have) for want, have in zip(wanted, device, strict=True)):
            yield spec.get("taint") or {}


def used_by(claims: t.Iterable[Json]) -> set[tuple[str, str, str]]:
    """The devices that are allocated to claims."""
    return {
        (str(item.get("driver")), str(item.get("pool")), str(item.get("device")))
        for claim in claims
        for item in results_of(claim)
        if not item.get("adminAccess")
    }


def results_of(claim: Json) -> list[Json]:
    """The allocated devices of a claim."""
    allocation = (claim.get("status") or {}).get("allocation") or {}
    return t.cast("list[Json]", (allocation.get("devices") or {}).get("results") or [])


def tolerates(toleration: Fields, taint: Fields) -> bool:
    """Whether a toleration of a pod, or of a claim, tolerates a taint of a node or a device."""
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    key, is_exists = toleration.get("key") or "", toleration.get("operator") == "Exists"
    if not key:
        return is_exists
    is_equal = str(toleration.get("value") or "") == str(taint.get("value") or "")
    return bool(key == taint.get("key") and (is_exists or is_equal))
