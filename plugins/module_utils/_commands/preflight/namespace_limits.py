# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Namespace limits: ResourceQuotas and LimitRanges."""

from __future__ import annotations

import typing as t
from decimal import Decimal

from ..._base.types import Fields, Json
from ..._engine.api_resources import ObjectKey as Key
from .check import Reporter
from .facts import RESOURCES, ClusterFacts
from .pod_resources import (
    ZERO,
    Amounts,
    add,
    amounts_of,
    containers_of,
    show,
    total,
    with_defaults,
)
from .workloads import Planned, PodGroup, Rendered

_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_MUST_SPECIFY = ("cpu", "memory")
_CLAIM = "PersistentVolumeClaim"
_ASK = "ask an administrator for a larger ResourceQuota, or lower resources or replicas"


def container_defaults(ranges: t.Iterable[Json]) -> dict[str, Json]:
    """The default requests and limits of containers."""
    found: dict[str, Json] = {"requests": {}, "limits": {}}
    for item in _limits(ranges, "Container"):
        limits = item.get("default") or {}
        found["limits"] |= limits
        found["requests"] |= {**limits, **(item.get("defaultRequest") or {})}
    return found


def check_limit_ranges(
    groups: t.Iterable[PodGroup], rendered: Rendered, facts: ClusterFacts
) -> list[Reporter]:
    """Compare containers, pods and claims with the LimitRanges of their namespaces."""
    reporters = []
    for group in groups:
        ranges = facts.items("LimitRange", group.namespace)
        reporter = Reporter(group.parent, "limits")
        for container in containers_of(group.spec):
            where = f"container {container.get('name')}"
            for limit in _limits(ranges, "Container"):
                _compare(reporter, where, container.get("resources") or {}, limit)
        whole = {kind: total(group.spec, kind) for kind in ("requests", "limits")}
        for limit in _limits(ranges, "Pod"):
            _compare(
                reporter, f"the pod of {group.workload.kind} {group.workload.name}", whole, limit
            )
        if ranges and not reporter.found:
            reporter.ok(f"the LimitRange of namespace {group.namespace} allows its pods")
        reporters.append(reporter)
    for item in new_objects(rendered, _CLAIM):
        reporter = Reporter(item.parent, "limits")
        requests = ((item.manifest.get("spec") or {}).get("resources") or {}).get("requests")
        for limit in _limits(facts.items("LimitRange", item.key.namespace), _CLAIM):
            name = f"the claim {item.key.name}"
            _compare(reporter, name, {"requests": requests or {}}, limit)
        reporters.append(reporter)
    return reporters


def _limits(ranges: t.Iterable[Json], kind: str) -> list[Json]:
    return [
        limit
        for item in ranges
        for limit in (item.get("spec") or {}).get("limits") or []
        if limit.get("type") == kind
    ]


def _compare(reporter: Reporter, where: str, given: Fields, limit: Json) -> None:
    requests, limits = (_decimals(given.get(kind)) for kind in ("requests", "limits"))
    requests = {**limits, **requests}
    remedy = "change resources in the spec, or ask an administrator to change the LimitRange"
    for name, most in amounts_of(limit.get("max")).items():
        found = [value for value in (requests.get(name), limits.get(name)) if value is not None]
        if found and max(found) > most:
            text = f"{where}: {name} {show(max(found))} is more than {show(most)}"
            reporter.fail(f"{text}, the maximum of a LimitRange", remedy)
        elif name not in limits and limit.get("type") != _CLAIM:
            reporter.fail(f"{where}: has no {name} limit, which a LimitRange requires", remedy)
    for name, least in amounts_of(limit.get("min")).items():
        if name not in requests:
            reporter.fail(f"{where}: has no {name} request, which a LimitRange requires", remedy)
        elif requests[name] < least:
            text = f"{where}: {name} {show(requests[name])} is less than {show(least)}"
            reporter.fail(f"{text}, the minimum of a LimitRange", remedy)
    for name, ratio in amounts_of(limit.get("maxLimitRequestRatio")).items():
        request = requests.get(name, ZERO)
        if name not in limits or not request or limits[name] / request > ratio:
            text = f"{where}: the limit of {name} is more than {show(ratio)} times its request"
            reporter.fail(f"{text}, the maximum of a LimitRange", remedy)


def _decimals(given: Fields | None) -> Amounts:
    values = given or {}
    if all(isinstance(value, Decimal) for value in values.values()):
        return dict(values)
    return amounts_of(values)


def check_quotas(
    groups: t.Sequence[PodGroup], rendered: Rendered, facts: ClusterFacts
) -> list[Reporter]:
    """Compare what the resources add to each namespace with its ResourceQuotas."""
    reporters = []
    namespaces = sorted({item.key.namespace for item in rendered.planned} - {""})
    for namespace in namespaces:
        inside = [group for group in groups if group.namespace == namespace]
        for quota in facts.items("ResourceQuota", namespace):
            reporter = Reporter(f"Namespace {namespace}", "quota")
            _check_quota(reporter, quota, inside, rendered, namespace)
            reporters.append(reporter)
    return reporters


def _check_quota(
    reporter: Reporter,
    quota: Json,
    groups: t.Sequence[PodGroup],
    rendered: Rendered,
    namespace: str,
) -> None:
    spec, status = quota.get("spec") or {}, quota.get("status") or {}
    hard = amounts_of(status.get("hard") or spec.get("hard"))
    used = amounts_of(status.get("used"))
    scoped = [group for group in groups if _is_in_scope(group, spec)]
    name = quota["metadata"]["name"]
    for group in scoped if set(hard) & _PODS_KEYS else ():
        _require_compute(reporter, group, hard, name)
    has_scope = bool(spec.get("scopes") or spec.get("scopeSelector"))
    added = {} if has_scope else _objects_added(rendered, namespace)
    for runs_to_completion in (True, False):
        some = [group for group in scoped if group.runs_to_completion is runs_to_completion]
        wanted = add(dict(added), pods_added(some))
        for resource, most in hard.items():
            want, have = wanted.get(resource, ZERO), used.get(resource, ZERO)
            if want > 0 and have + want > most:
                reporter.fail(
                    f"ResourceQuota {name}: {resource} is {show(most)}; {show(have)} in use,"
                    f" {show(want)} more needed",
                    _ASK,
                )
    if not reporter.found:
        reporter.ok(f"ResourceQuota {name} has room")


def _require_compute(reporter: Reporter, group: PodGroup, hard: Amounts, name: str) -> None:
    """A quota of CPU or memory refuses containers that do not name an amount."""
    if not group.new:
        return
    for container in containers_of(with_defaults(group.spec, {})):
        resources = container["resources"]
        for resource in _MUST_SPECIFY:
            needs = [("limits", f"limits.{resource}")]
            needs.append(("requests", f"requests.{resource}"))
            needs.append(("requests", resource))
            for kind, key in needs:
                if key in hard and resource not in resources[kind]:
                    reporter.fail(
                        f"ResourceQuota {name}: container {container.get('name')} of"
                        f" {group.workload.kind} {group.workload.name} must specify {key}",
                        f"set resources.{kind}.{resource} in the spec, or create a LimitRange"
                        " with defaults",
                    )


_PODS_KEYS = {
    f"{prefix}{resource}" for prefix in ("", "requests.", "limits.") for resource in _MUST_SPECIFY
}


def pods_added(groups: t.Iterable[PodGroup]) -> Amounts:
    """The amounts that pods add to the usage of a quota, less the live pods that they replace."""
    found: Amounts = {}
    for group in groups:
        count = 0 if group.per_node else max(group.count - len(group.existing), 0)
        if group.is_replaced:
            count = group.new
            for pod in group.released:
                found = add(found, _usage(pod.get("spec") or {}), -1)
        found = add(found, _usage(group.spec), count)
    return found


def _usage(spec: Fields) -> Amounts:
    requests, limits = total(spec), total(spec, "limits")
    found: Amounts = {"pods": Decimal(1), "count/pods": Decimal(1)}
    for name, value in requests.items():
        found[f"requests.{name}"] = value
        if name in _COMPUTE:
            found[name] = value
    for name, value in limits.items():
        if name in _COMPUTE:
            found[f"limits.{name}"] = value
    return found


def new_objects(rendered: Rendered, kind: str = "") -> list[Planned]:
    """The rendered objects that do not exist yet."""
    return [
        item
        for item in rendered.planned
        if item.live is None and (not kind or item.key.kind == kind)
    ]


def _objects_added(rendered: Rendered, namespace: str) -> Amounts:
    found: Amounts = {}
    created = {item.key: item.manifest for item in new_objects(rendered)}
    created |= {
        key: item for key, item in rendered.resources.items() if "uid" not in item["metadata"]
    }
    for key, manifest in created.items():
        if key.namespace == namespace and key.kind != "Pod":
            found = add(found, _object_usage(key, manifest))
    return found


def _object_usage(key: Key, manifest: Json) -> Amounts:
    one, known = Decimal(1), RESOURCES.get(key.kind)
    if known is None:
        return {}
    found = {f"count/{known.plural}" + (f".{known.group}" if known.group else ""): one}
    if not known.group:
        found[known.plural] = one
    spec = manifest.get("spec") or {}
    if key.kind == "Service":
        found |= _service_usage(spec)
    elif key.kind == _CLAIM:
        size = amounts_of((spec.get("resources") or {}).get("requests")).get("storage", ZERO)
        found["requests.storage"] = size
        if name := spec.get("storageClassName"):
            prefix = f"{name}.storageclass.storage.k8s.io/"
            found |= {f"{prefix}requests.storage": size, f"{prefix}persistentvolumeclaims": one}
    return found


def _service_usage(spec: Json) -> Amounts:
    ports = Decimal(len(spec.get("ports") or []))
    if spec.get("type") == "LoadBalancer":
        has_ports = spec.get("allocateLoadBalancerNodePorts", True)
        return {"services.loadbalancers": Decimal(1)} | (
            {"services.nodeports": ports} if has_ports else {}
        )
    return {"services.nodeports": ports} if spec.get("type") == "NodePort" else {}


def _is_in_scope(group: PodGroup, spec: Fields) -> bool:
    given = [{"scopeName": name, "operator": "Exists"} for name in spec.get("scopes") or []]
    given += (spec.get("scopeSelector") or {}).get("matchExpressions") or []
    return all(_matches(group, item) for item in given)


def _matches(group: PodGroup, item: Fields) -> bool:
    name = item.get("scopeName")
    if name in ("Terminating", "NotTerminating"):
        is_limited = group.spec.get("activeDeadlineSeconds") is not None
        return bool(is_limited == (name == "Terminating"))
    if name in ("BestEffort", "NotBestEffort"):
        compute = {**total(group.spec), **total(group.spec, "limits")}
        is_best_effort = not any(compute.get(resource) for resource in _MUST_SPECIFY)
        return bool(is_best_effort == (name == "BestEffort"))
    if name == "PriorityClass":
        given, values = group.spec.get("priorityClassName"), item.get("values") or []
        operator = item.get("operator")
        return {
            "In": given in values,
            "NotIn": given not in values,
            "Exists": bool(given),
            "DoesNotExist": not given,
        }.get(str(operator), False)
    return False
