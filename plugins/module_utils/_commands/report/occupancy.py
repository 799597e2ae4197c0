# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The GPUs of each node, and their users: those of the device plugin, and those of DRA drivers."""

from __future__ import annotations

import typing as t
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from ..._base.types import Json
from ..._builders.pod import has_ended
from ..._engine.conditions import find_condition
from ..._gpu.upgrade.services import Services, node_of
from ..gpu.node_status import NodeStatus
from ..preflight.devices import Device, devices_of, results_of
from ..preflight.pod_resources import amounts_of, total
from .model import NodeUse, Pool, Trouble, Use

_GPUS = ("nvidia.com/gpu", "nvidia.com/mig-", "nvidia.com/pgpu", "nvidia.com/vgpu")
_PRODUCT = "nvidia.com/gpu.product"
_PLUGIN, _DRA = "device plugin", "DRA"
_ELSEWHERE = "other namespaces"
_DRIVER = "gpu.nvidia.com"

Uses = dict[str, Counter[str]]
"""The number of devices by user, by the name of the resource or the pool."""
DeviceKey = tuple[str, str, str]


@dataclass(frozen=True)
class GpuView:
    """The cluster: nodes and pods in outline, ResourceSlices and ResourceClaims.

    ``statuses``: of the GPU stack. ``namespace``: if given, pods of others are not named.
    """

    nodes: t.Sequence[Json]
    pods: t.Sequence[Json]
    slices: t.Sequence[Json] = ()
    claims: t.Sequence[Json] = ()
    workloads: t.Sequence[Json] = ()
    statuses: t.Sequence[NodeStatus] = ()
    namespace: str = ""


@dataclass
class _Usage:
    """Uses by node, and the users of DRA devices."""

    plugin: dict[str, Uses] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(Counter))
    )
    devices: dict[DeviceKey, str] = field(default_factory=dict)


def find_occupancy(view: GpuView) -> list[NodeUse]:
    """The nodes with GPUs: those with problems first, then by name."""
    usage = _find_usage(view)
    statuses = {item.node: item for item in view.statuses}
    by_node = defaultdict(list)
    for device in devices_of(view.slices):
        if device.key[0] == _DRIVER and device.location.get("nodeName"):
            by_node[device.location["nodeName"]].append(device)
    found = []
    for node in view.nodes:
        name = node["metadata"]["name"]
        pools = [*_plugin_pools(node, usage.plugin[name]), *_device_pools(by_node[name], usage)]
        if pools or name in statuses:
            found.append(_node_use(node, pools, statuses.get(name)))
    return sorted(found, key=lambda item: (not (item.troubles or item.remarks), item.name))


def _node_use(node: Json, pools: t.Sequence[Pool], status: NodeStatus | None) -> NodeUse:
    labels = node["metadata"].get("labels") or {}
    troubles = [
        Trouble(item.component, item.waits, item.advice, str(item.log) if item.log else "")
        for item in (status.troubles if status else ())
    ]
    return NodeUse(
        node["metadata"]["name"],
        str(labels.get(_PRODUCT) or ""),
        status.state if status else "",
        tuple(pools),
        tuple(troubles),
        tuple(_remarks_of(node)),
    )


def _remarks_of(node: Json) -> t.Iterator[str]:
    ready = find_condition((node.get("status") or {}).get("conditions"), "Ready") or {}
    if ready and ready.get("status") != "True":
        yield "the node is not ready"
    if (node.get("spec") or {}).get("unschedulable"):
        yield "no new pods: the node is cordoned"


def _find_usage(view: GpuView) -> _Usage:
    usage = _Usage()
    services = Services(view.pods, view.workloads)
    users: dict[tuple[str, str], str] = {}
    for pod in view.pods:
        if has_ended(pod):
            continue
        namespace, name = pod["metadata"].get("namespace", ""), pod["metadata"]["name"]
        service = services.of(pod)
        user = str(service) if service else str(f"Pod {namespace}/{name}")
        if view.namespace and namespace != view.namespace:
            user = _ELSEWHERE
        users[namespace, name] = user
        if node := node_of(pod):
            for resource, amount in total(pod.get("spec") or {}).items():
                if resource.startswith(_GPUS) and amount > 0:
                    usage.plugin[node][resource][user] += int(amount)
    for claim in view.claims:
        user = _claim_user(claim, users, view.namespace)
        for item in results_of(claim):
            if not item.get("adminAccess"):
                key = (str(item.get("driver")), str(item.get("pool")), str(item.get("device")))
                usage.devices[key] = user
    return usage


def _claim_user(claim: Json, users: t.Mapping[tuple[str, str], str], namespace: str) -> str:
    """The pod that a claim is reserved for, otherwise the claim."""
    own, name = claim["metadata"].get("namespace", ""), claim["metadata"]["name"]
    for item in (claim.get("status") or {}).get("reservedFor") or []:
        if user := users.get((own, str(item.get("name")))):
            return user
    return _ELSEWHERE if namespace and own != namespace else f"ResourceClaim {own}/{name}"


def _plugin_pools(node: Json, uses: Uses) -> t.Iterator[Pool]:
    status = node.get("status") or {}
    allocatable = amounts_of(status.get("allocatable"))
    capacity = amounts_of(status.get("capacity")) or allocatable
    for name in sorted({*capacity, *allocatable}):
        count = int(max(capacity.get(name, 0), allocatable.get(name, 0)))
        if name.startswith(_GPUS) and count:  # without any, DRA devices may offer the resource
            unhealthy = count - int(allocatable.get(name, 0))
            yield Pool(name, _PLUGIN, count, unhealthy, _to_uses(uses.get(name)))


def _device_pools(devices: t.Sequence[Device], usage: _Usage) -> t.Iterator[Pool]:
    """The devices of a node by type.

    Partitions that are not in use share their GPUs with others, so they are not counted.
    """
    groups: dict[tuple[str, str], list[Device]] = defaultdict(list)
    for device in devices:
        if not device.is_partitioned or device.key in usage.devices or _type_of(device) == "gpu":
            groups[_type_of(device), _describe(device)].append(device)
    for (kind, details), found in sorted(groups.items()):
        users = Counter(usage.devices[item.key] for item in found if item.key in usage.devices)
        unhealthy = sum(
            item.key not in usage.devices and _is_tainted(item.fields) for item in found
        )
        yield Pool(f"{_DRIVER} {kind}", _DRA, len(found), unhealthy, _to_uses(users), details)


def _type_of(device: Device) -> str:
    return _attribute(device, "type") or "device"


def _describe(device: Device) -> str:
    return " ".join(
        filter(None, (_attribute(device, "productName"), _attribute(device, "profile")))
    )


def _attribute(device: Device, name: str) -> str:
    attributes = device.fields.get("attributes") or {}
    found = attributes.get(name) or attributes.get(f"{_DRIVER}/{name}") or {}
    return str(found.get("string") or "")


def _is_tainted(fields: Json) -> bool:
    return any(
        taint.get("effect") in ("NoSchedule", "NoExecute") for taint in fields.get("taints") or []
    )


def _to_uses(users: Counter[str] | None) -> tuple[Use, ...]:
    return tuple(Use(user, count) for user, count in sorted((users or {}).items()))
