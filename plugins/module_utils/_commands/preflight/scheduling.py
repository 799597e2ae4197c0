# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Whether the pods of all resources find nodes at once, given what already runs."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..._base.types import Json
from ..._engine.api_resources import ObjectKey as Key
from .check import ERROR, Reporter
from .devices import Claim, Devices, devices_of, used_by
from .facts import ClusterFacts
from .placement import Capacity, PodToPlace, Reason, selects_node, summarize
from .pod_resources import show, total
from .storage import volume_affinities
from .workloads import PodGroup, Rendered

CLAIM, TEMPLATE = "ResourceClaim", "ResourceClaimTemplate"
_DEFAULT_SCHEDULER = "default-scheduler"
_MAX_PODS = 500
"""Maximum number of placed pods per group; more are not computed."""

_REMEDIES = {
    "selector": "label a node, or change nodeSelector or affinity in the spec:"
    " kubectl get nodes --show-labels",
    "taint": "add a toleration to spec.tolerations, or remove the taint",
    "amount": "free capacity, add a node, or lower resources or replicas in the spec",
    "devices": "free devices, or change spec.draResources: kubectl get resourceslices",
    "pods": "change the affinity to pods in the spec",
}
_ORDER = ("amount", "devices", "pods", "taint", "selector")
"""The reason closest to success first: it names what to change on nodes that suit otherwise."""


@dataclass(frozen=True)
class Batch:
    """A group of pods, and one of its pods to place."""

    group: PodGroup
    pod: PodToPlace
    count: int


def check_nodes(
    groups: t.Sequence[PodGroup], rendered: Rendered, facts: ClusterFacts
) -> list[Reporter]:
    """Place the pods of all groups on the nodes; those of Jobs apart, because they end."""
    if not facts.lists_known("Node"):
        return []
    reporters = []
    for runs_to_completion in (True, False):
        some = [
            group
            for group in groups
            if group.runs_to_completion is runs_to_completion and not group.per_node
        ]
        batches = [_batch_of(group, rendered, facts) for group in some if group.new]
        reporters += _check_batches(batches, groups, facts)
        reporters += [_report_running(group) for group in some if not group.new]
    return reporters


def _report_running(group: PodGroup) -> Reporter:
    reporter = Reporter(group.parent, "nodes")
    if group.count:
        reporter.ok(f"the pods of {_name(group)} are scheduled already")
    return reporter


def _check_batches(
    batches: list[Batch], groups: t.Sequence[PodGroup], facts: ClusterFacts
) -> list[Reporter]:
    """Each batch is placed twice: as the scheduler might, and as tightly as possible."""
    released = {_identity(pod) for group in groups for pod in group.released}
    pods = [pod for pod in facts.items("Pod") if _identity(pod) not in released]
    devices = _devices(facts, released)
    capacity = Capacity.of(facts.items("Node"), pods, devices)
    by_size = sorted(batches, key=_size, reverse=True)
    tight, spread = capacity.copy(), capacity.copy()
    packed = {id(batch): _place(tight, batch, is_tight=True) for batch in by_size}
    placed = {id(batch): _place(spread, batch, is_tight=False) for batch in batches}
    fits_packed = all(packed[id(batch)] >= batch.count for batch in batches)
    reporters = []
    for batch in batches:
        reporter = Reporter(batch.group.parent, "nodes")
        if placed[id(batch)] >= batch.count:
            _report_placed(reporter, batch, capacity)
        elif fits_packed:
            reporter.fail(
                f"the pods of {_name(batch.group)} fit only if those of all resources are packed,"
                " but the scheduler spreads them",
                "apply the resource with the most GPUs per pod first, and the others when its pods"
                " run, or free capacity",
            )
        else:
            _report_failure(reporter, batch, placed[id(batch)], spread, pods, facts)
        reporters.append(reporter)
        reporters.append(_report_unknown(batch, devices))
    return reporters


def _place(capacity: Capacity, batch: Batch, *, is_tight: bool) -> int:
    """Place the pods of a batch; returns how many found a node."""
    for placed in range(min(batch.count, _MAX_PODS)):
        if not capacity.place(batch.pod, is_tight=is_tight):
            return placed
    return batch.count


def _report_placed(reporter: Reporter, batch: Batch, capacity: Capacity) -> None:
    reasons = len(capacity.reasons(batch.pod))
    fitting = len(capacity.nodes) - reasons
    need = _describe(batch)
    reporter.ok(
        f"{need}: {fitting} of {len(capacity.nodes)} nodes"
        f" {'have' if fitting != 1 else 'has'} room for one"
    )


def _describe(batch: Batch) -> str:
    """How many pods, and what each requests."""
    amounts = [
        f"{show(value)} {name}" for name, value in sorted(total(batch.group.spec).items()) if value
    ]
    devices = sum(_device_count(claim) for claim in batch.pod.claims)
    if devices:
        amounts.append(f"{devices} devices" if devices > 1 else "1 device")
    each = f" with {', '.join(amounts)}" if amounts else ""
    pods = f"{batch.count} pods" if batch.count > 1 else "1 pod"
    of = "" if batch.group.workload.kind == "Pod" else f"{pods} of "
    return f"{of}{_name(batch.group)}{each}"


def _device_count(claim: Claim) -> int:
    requests = (claim.spec.get("devices") or {}).get("requests") or []
    return sum(int((item.get("exactly") or {}).get("count") or 1) for item in requests)


def _report_failure(
    reporter: Reporter,
    batch: Batch,
    placed: int,
    capacity: Capacity,
    pods: list[Json],
    facts: ClusterFacts,
) -> None:
    reasons = capacity.reasons(batch.pod)
    others = f"{placed} of {batch.count} fit; for the rest, " if placed else ""
    message = f"{_describe(batch)}: {others}{summarize(reasons, len(capacity.nodes))}"
    if _fits_by_preemption(batch, pods, facts):
        reporter.warn(
            f"{message}; the scheduler will evict pods of a lower priority",
            "free capacity, or use a priorityClassName that does not preempt",
        )
    elif _name_scheduler(batch) != _DEFAULT_SCHEDULER:
        reporter.warn(
            f"{message}, by the rules of {_DEFAULT_SCHEDULER}",
            f"the scheduler {_name_scheduler(batch)} may have others: see its documentation",
        )
    else:
        reporter.fail(message, _remedy(reasons))


def _name_scheduler(batch: Batch) -> str:
    return str(batch.pod.spec.get("schedulerName") or _DEFAULT_SCHEDULER)


def _remedy(reasons: t.Iterable[Reason]) -> str:
    kinds = {reason.kind for reason in reasons}
    return next((_REMEDIES[kind] for kind in _ORDER if kind in kinds), "add a node")


def _fits_by_preemption(batch: Batch, pods: list[Json], facts: ClusterFacts) -> bool:
    """Whether the batch fits if all pods of a lower priority are evicted."""
    given = facts.find("PriorityClass", "", batch.group.spec.get("priorityClassName") or "") or {}
    if batch.pod.priority <= 0 or given.get("preemptionPolicy") == "Never":
        return False
    nodes, least = facts.items("Node"), batch.pod.priority
    capacity = Capacity.of(nodes, pods, _devices(facts, set()), least=least)
    return _place(capacity, batch, is_tight=True) >= batch.count


def _report_unknown(batch: Batch, devices: Devices) -> Reporter:
    """Report what the placement ignored."""
    reporter = Reporter(batch.group.parent, "devices")
    if not batch.pod.claims:
        return reporter
    for expression in sorted(devices.unknown):
        reporter.warn(
            f"the selector {expression} of devices was not evaluated, and assumed to hold",
            "compare it with kubectl get resourceslices -o yaml",
        )
    specs = [claim.spec.get("devices") or {} for claim in batch.pod.claims]
    if any(item.get("constraints") for item in specs):
        reporter.warn(
            "constraints between devices were not evaluated", "see the scheduler's events"
        )
    if any(device.is_partitioned for device in devices.devices):
        reporter.warn(
            "some devices are partitions that share counters, which were not computed",
            "see the scheduler's events",
        )
    return reporter


def _size(batch: Batch) -> tuple[t.Any, ...]:
    requests = total(batch.pod.spec)
    extended = sum(value for name, value in requests.items() if "/" in name)
    devices = sum(_device_count(claim) for claim in batch.pod.claims)
    return extended + devices, requests.get("memory", 0), requests.get("cpu", 0)


def _batch_of(group: PodGroup, rendered: Rendered, facts: ClusterFacts) -> Batch:
    name = group.spec.get("priorityClassName") or ""
    priority = int((facts.find("PriorityClass", "", name) or {}).get("value") or 0)
    pod = PodToPlace(
        group=_name(group),
        namespace=group.namespace,
        labels=group.labels,
        spec=group.spec,
        claims=tuple(_claims(group, rendered, facts)),
        volumes=volume_affinities(group, facts),
        priority=priority,
    )
    return Batch(group, pod, group.new)


def _claims(group: PodGroup, rendered: Rendered, facts: ClusterFacts) -> t.Iterator[Claim]:
    for item in group.spec.get("resourceClaims") or []:
        if name := item.get("resourceClaimTemplateName"):
            found = rendered.find(TEMPLATE, group.namespace, name)
            found = found or facts.find(TEMPLATE, group.namespace, name) or {}
            yield Claim((found.get("spec") or {}).get("spec") or {})
        elif name := item.get("resourceClaimName"):
            live = facts.find(CLAIM, group.namespace, name) or {}
            allocation = (live.get("status") or {}).get("allocation")
            yield Claim(
                live.get("spec") or {},
                shared=f"{group.namespace}/{name}",
                is_allocated=bool(allocation),
                node_selector=(allocation or {}).get("nodeSelector"),
            )


def check_device_claims(
    groups: t.Iterable[PodGroup], rendered: Rendered, facts: ClusterFacts
) -> list[Reporter]:
    """Check that the claims, templates and device classes that pods name exist."""
    reporters = []
    for group in groups:
        reporter = Reporter(group.parent, "devices")
        for kind, name in claims_named(group.spec):
            is_made = rendered.find(kind, group.namespace, name)
            if not is_made and facts.is_missing(kind, group.namespace, name):
                reporter.fail(
                    f"{kind} {name} does not exist in namespace {group.namespace}",
                    "create it, or change spec.draResources",
                )
        known = {item["metadata"]["name"] for item in facts.items("DeviceClass")}
        for name in sorted(_classes_named(_claims(group, rendered, facts))):
            if facts.lists_known("DeviceClass") and name not in known:
                reporter.fail(
                    f"the DeviceClass {name} does not exist",
                    "install the DRA driver that provides it, or change deviceClassName in"
                    f" spec.draResources to one of: {', '.join(sorted(known)) or 'none'}",
                )
        reporters.append(reporter)
    return reporters


def lacks_room(groups: t.Sequence[PodGroup], rendered: Rendered, facts: ClusterFacts) -> bool:
    """Whether pods find no node, as far as is known: DRA devices may offer what nodes lack."""
    reporters = check_nodes(groups, rendered, facts)
    return any(check.level == ERROR for reporter in reporters for check in reporter.found)


def claims_named(spec: Json) -> list[tuple[str, str]]:
    """Kind and name of the claims and templates of a pod."""
    found = []
    for item in spec.get("resourceClaims") or []:
        if name := item.get("resourceClaimTemplateName"):
            found.append((TEMPLATE, str(name)))
        elif name := item.get("resourceClaimName"):
            found.append((CLAIM, str(name)))
    return found


def _classes_named(claims: t.Iterable[Claim]) -> set[str]:
    return {
        str(choice["deviceClassName"])
        for claim in claims
        for request in (claim.spec.get("devices") or {}).get("requests") or []
        for choice in request.get("firstAvailable") or [request.get("exactly") or {}]
        if choice.get("deviceClassName")
    }


def _devices(facts: ClusterFacts, released: set[Key]) -> Devices:
    """The devices; those of claims that only released pods use are free."""
    claims = [
        claim for claim in facts.items(CLAIM) if not (_users(claim) and _users(claim) <= released)
    ]
    return Devices(
        devices=devices_of(facts.items("ResourceSlice"), facts.items("DeviceTaintRule")),
        classes={item["metadata"]["name"]: item for item in facts.items("DeviceClass")},
        selects=selects_node,
        used=used_by(claims),
    )


def _users(claim: Json) -> set[Key]:
    namespace = claim["metadata"].get("namespace") or ""
    reserved = (claim.get("status") or {}).get("reservedFor") or []
    return {Key("Pod", namespace, str(item.get("name"))) for item in reserved}


def _identity(pod: Json) -> Key:
    return Key("Pod", pod["metadata"].get("namespace") or "", pod["metadata"]["name"])


def _name(group: PodGroup) -> str:
    return f"{group.workload.kind} {group.workload.name}{group.part}"
