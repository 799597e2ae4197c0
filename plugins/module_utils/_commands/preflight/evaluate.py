# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Evaluates all checks; pure: facts → checks."""

from __future__ import annotations

import re
import typing as t
from dataclasses import replace

from ..._engine.api_resources import ObjectKey as Key
from ..text import name_of
from . import apis, exposure, namespace_limits, pod_security, references, scheduling, storage
from .check import LEVELS, Check, Reporter
from .facts import RESOURCES, ClusterFacts, Denied, Needs, key_to, resource_of
from .pod_resources import with_defaults
from .workloads import PodGroup, Rendered, pod_groups

_ABSENT = re.compile("does not exist|not found")
_EFFECTS = {
    "API": "whether APIs are served is not checked",
    "Deployment": "whether an operator runs is not checked",
    "DeviceClass": "devices are not checked",
    "DeviceTaintRule": "taints of devices by DeviceTaintRules are not checked",
    "IngressClass": "the IngressClass is not checked",
    "LimitRange": "LimitRanges are not checked",
    "Node": "neither nodes nor free GPUs are checked",
    "PersistentVolume": "existing volumes are not checked",
    "Pod": "what already runs counts as nothing",
    "ResourceClaim": "all devices count as free",
    "ResourceQuota": "quotas are not checked",
    "ResourceSlice": "devices are not checked",
    "StorageClass": "the StorageClass is not checked",
}

_TAINTS = "DeviceTaintRule"
_DEVICES = frozenset((kind, "") for kind in ("DeviceClass", "ResourceClaim", "ResourceSlice"))


def needs_of(rendered: Rendered, facts: ClusterFacts) -> Needs:
    """The reads for the checks; repeated until nothing new is needed."""
    groups = pod_groups(rendered.planned)
    namespaces = apis.namespaces_of(rendered)
    objects = {key_to("Namespace", "", name) for name in namespaces}
    lists = {(kind, name) for name in namespaces for kind in ("ResourceQuota", "LimitRange")}
    versions = {version for version, _kind in apis.versions_of(rendered)}
    found = Needs(frozenset(objects), frozenset(lists), frozenset(versions))
    found = found.joined(apis.operator_needs(rendered)).joined(_object_needs(rendered, facts))
    for group in groups:
        found = found.joined(_pod_needs(group, rendered, facts))
    if scheduling.lacks_room(_running(rendered, facts), rendered, facts):
        found = found.joined(Needs(lists=_DEVICES))
    return found.joined(_taint_needs(facts)) if found.lists >= _DEVICES else found


def _taint_needs(facts: ClusterFacts) -> Needs:
    """DeviceTaintRules, which Kubernetes has since 1.37."""
    version = RESOURCES[_TAINTS].version
    is_served = _TAINTS in (facts.versions.get(version) or ())
    lists = {(_TAINTS, "")} if is_served else set()
    return Needs(lists=frozenset(lists), versions=frozenset({version}))


def _object_needs(rendered: Rendered, facts: ClusterFacts) -> Needs:
    objects: set[Key] = set()
    lists: set[tuple[str, str]] = set()
    for key, resource in rendered.resources.items():
        named = references.named_secrets(resource.get("spec"))
        objects |= {key_to(item.kind, key.namespace, item.name) for item in named}
    for item in rendered.planned:
        kind = item.key.kind
        if kind == "Ingress":
            lists.add(("IngressClass", ""))
            tls = references.tls_secrets(item.manifest)
            objects |= {key_to(it.kind, item.key.namespace, it.name) for it in tls}
        elif kind == storage.CLAIM:
            lists |= {("StorageClass", ""), ("PersistentVolume", "")}
        elif kind in exposure.ROUTES:
            objects |= _gateway_needs(item.manifest, facts)
    return Needs(frozenset(objects), frozenset(lists))


def _gateway_needs(route: dict[str, t.Any], facts: ClusterFacts) -> set[Key]:
    found = set()
    for reference in exposure.gateways_of(route):
        key = key_to("Gateway", reference["namespace"], str(reference.get("name") or ""))
        found.add(key)
        if gateway := facts.find(*key):
            found.add(key_to("GatewayClass", "", exposure.class_of(gateway)))
    return found


def _pod_needs(group: PodGroup, rendered: Rendered, facts: ClusterFacts) -> Needs:
    namespace, spec = group.namespace, group.spec
    objects = {key_to(item.kind, namespace, item.name) for item in references.references_of(spec)}
    secrets = references.pull_secrets_of(group, rendered, facts)
    objects |= {key_to(references.SECRET, namespace, name) for name in secrets}
    objects.add(key_to("ServiceAccount", namespace, references.account_of(spec)))
    for kind, field in references.CLASSES.items():
        if name := spec.get(field):
            objects.add(key_to(kind, "", name))
    for name in storage.claims_of(spec):
        key = key_to(storage.CLAIM, namespace, name)
        objects.add(key)
        if volume := storage.volume_of(facts.find(*key) or {}):
            objects.add(key_to("PersistentVolume", "", volume))
    lists = {("Node", ""), ("Pod", "")}
    if named := scheduling.claims_named(spec):
        objects |= {key_to(kind, namespace, name) for kind, name in named}
        lists |= _DEVICES
    made = {item.key for item in rendered.planned if item.key.kind not in (storage.CLAIM,)}
    return Needs(frozenset(objects - made), frozenset(lists))


def evaluate(rendered: Rendered, facts: ClusterFacts) -> list[Check]:
    """All checks, in the order of the resources, errors of each first."""
    running = _running(rendered, facts)
    reporters = [
        *_check_rendering(rendered),
        *apis.check_namespaces(rendered, facts),
        *apis.check_apis(rendered, facts),
        *apis.check_operator(rendered, facts),
        *references.check_absent(rendered),
        *references.check_references(running, rendered, facts),
        *references.check_images(running, rendered, facts),
        *references.check_accounts(running, rendered, facts),
        *references.check_classes(running, facts),
        *storage.check_claims(running, rendered, facts),
        *namespace_limits.check_limit_ranges(running, rendered, facts),
        *namespace_limits.check_quotas(running, rendered, facts),
        *pod_security.check_pod_security(running, facts),
        *exposure.check_exposure(rendered, facts),
        *scheduling.check_device_claims(running, rendered, facts),
        *scheduling.check_nodes(running, rendered, facts),
        *_check_permissions(facts),
    ]
    found = list(dict.fromkeys(check for reporter in reporters for check in reporter.found))
    places = {name: number for number, name in enumerate(_order(rendered, found))}
    return sorted(found, key=lambda it: (places[it.resource], -LEVELS.index(it.level)))


def _running(rendered: Rendered, facts: ClusterFacts) -> list[PodGroup]:
    groups = pod_groups(rendered.planned, facts.items("Pod"))
    return [_admitted(group, facts) for group in groups if group.count]


def _order(rendered: Rendered, found: list[Check]) -> list[str]:
    """The given resources first, then others by appearance."""
    return list(
        dict.fromkeys([*map(name_of, rendered.resources), *(check.resource for check in found)])
    )


def _admitted(group: PodGroup, facts: ClusterFacts) -> PodGroup:
    """The group as admission changes its pods: LimitRanges, and the overhead of a RuntimeClass."""
    defaults = namespace_limits.container_defaults(facts.items("LimitRange", group.namespace))
    spec = with_defaults(group.spec, defaults)
    runtime = facts.find("RuntimeClass", "", spec.get("runtimeClassName") or "") or {}
    if overhead := (runtime.get("overhead") or {}).get("podFixed"):
        spec = {**spec, "overhead": overhead}
    scheduling_rules = runtime.get("scheduling") or {}
    selector = {**(spec.get("nodeSelector") or {}), **(scheduling_rules.get("nodeSelector") or {})}
    tolerations = [*(spec.get("tolerations") or []), *(scheduling_rules.get("tolerations") or [])]
    return replace(group, spec={**spec, "nodeSelector": selector, "tolerations": tolerations})


def _check_rendering(rendered: Rendered) -> list[Reporter]:
    """Repeat the reports of the API server and of the simulated reconcile."""
    reporters = []
    for key in {**rendered.resources, **rendered.problems, **rendered.notes}:
        reporter = Reporter(key, "resource")
        if key in rendered.refused:
            reporter.fail(f"the API server refuses it: {rendered.refused[key]}", "correct the spec")
        for text in rendered.problems.get(key, []):
            reporter.fail(text, "correct the spec, or what the message names")
        for text in rendered.notes.get(key, []):
            _report_note(reporter, text, rendered)
        if not reporter.found:
            reporter.ok("its spec is valid")
        reporters.append(reporter)
    return reporters


def _report_note(reporter: Reporter, text: str, rendered: Rendered) -> None:
    """A resource that waits for a missing object does not run; other waits may end."""
    if text.startswith("assumed ") or any(key.name in text for key in rendered.absent):
        return
    report = reporter.fail if _ABSENT.search(text) else reporter.warn
    report(f"it will wait: {text}", "provide what the message names")


def _check_permissions(facts: ClusterFacts) -> list[Reporter]:
    return [_report_denied(item) for item in sorted(facts.denied)]


def _report_denied(item: Denied) -> Reporter:
    """A read that is not permitted is a warning, which names the right."""
    where = f"namespace {item.namespace}" if item.namespace else "the cluster"
    reporter = Reporter(
        f"Namespace {item.namespace}" if item.namespace else "Cluster", "permission"
    )
    effect = _EFFECTS.get(item.kind, f"{item.kind}s are not checked")
    reporter.warn(
        f"you may not {item.verb} {resource_of(item.kind)} in {where}: {effect}",
        f"ask for the verb {item.verb} on {resource_of(item.kind)}",
    )
    return reporter
