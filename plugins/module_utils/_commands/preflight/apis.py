# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The APIs that resources need, and the operator that serves them."""

from __future__ import annotations

from ..._base.types import Json
from ..._engine.api_resources import GROUP, SERVED_GROUPS
from ..._engine.api_resources import ObjectKey as Key
from ..takeover.installations import Installation, find_installations
from .check import Reporter
from .facts import ClusterFacts, Needs
from .workloads import Rendered

DEPLOYMENT = "Deployment"
OPERATORS = "app.kubernetes.io/name in (nimops,k8s-nim-operator)"
"""Selects the Deployments of operators."""

_REMEDIES = {
    "gateway.networking.k8s.io": "install the Gateway API and a controller, or remove router",
    "inference.networking.k8s.io": "install the API of inference pools, or remove eppConfig",
    "leaderworkerset.x-k8s.io": "install LeaderWorkerSet, or remove spec.multiNode",
    "monitoring.coreos.com": "install the Prometheus Operator, or set metrics.enabled to false",
    "resource.k8s.io": "use Kubernetes 1.34 or later, or remove spec.draResources",
    "resource.nvidia.com": "install NVIDIA's DRA driver, or remove the compute domain",
    "serving.kserve.io": "install KServe, or set inferencePlatform to standalone",
}
_OUR_REMEDY = "install the CRDs: kubectl nim install, or ansible-playbook nimops.nim.install"


def versions_of(rendered: Rendered) -> dict[tuple[str, str], Key]:
    """API version and kind of each object, with the first resource that needs it."""
    found: dict[tuple[str, str], Key] = {}
    for key, resource in rendered.resources.items():
        found.setdefault((resource["apiVersion"], resource["kind"]), key)
    for item in rendered.planned:
        found.setdefault((item.manifest["apiVersion"], item.key.kind), item.parent)
    return found


def check_apis(rendered: Rendered, facts: ClusterFacts) -> list[Reporter]:
    """Check that the API server serves the kinds in these versions."""
    reporters = []
    for (version, kind), parent in versions_of(rendered).items():
        if version not in facts.versions:
            continue
        group = version.rpartition("/")[0]
        reporter = Reporter(parent, "api")
        kinds = facts.versions[version]
        if kinds is not None and kind in kinds:
            if group in _REMEDIES or group in SERVED_GROUPS:
                reporter.ok(f"{kind} ({version}) is served")
        else:
            versions = [item for item in facts.served.get(group, ()) if item != version]
            others = f"; of this API it has {', '.join(versions)}" if versions else ""
            remedy = _OUR_REMEDY if group in SERVED_GROUPS else _REMEDIES.get(group, "")
            reporter.fail(
                f"the API server does not serve {kind} ({version}){others}",
                remedy or "install the API, or turn the feature off in the spec",
            )
        reporters.append(reporter)
    return reporters


def operator_needs(rendered: Rendered) -> Needs:
    """The Deployments of operators, if resources of the NIM and NeMo kinds are given."""
    is_served = any(item["apiVersion"].startswith(GROUP) for item in rendered.resources.values())
    return Needs(lists=frozenset({(DEPLOYMENT, "")})) if is_served else Needs()


def check_operator(rendered: Rendered, facts: ClusterFacts) -> list[Reporter]:
    """Check whether an operator serves the namespaces of the resources."""
    if (DEPLOYMENT, "") not in facts.lists:
        return []
    found = find_installations(facts.items(DEPLOYMENT), [])
    namespaces = sorted(
        {
            key.namespace
            for key, item in rendered.resources.items()
            if item["apiVersion"].startswith(GROUP)
        }
    )
    reporters = []
    for namespace in namespaces:
        reporter = Reporter(f"Namespace {namespace}", "operator")
        serving = [item for item in found if _serves(item, namespace)]
        if serving:
            reporter.ok(f"served by {serving[0].describe()}")
        else:
            reporter.warn(
                f"no operator serves namespace {namespace}",
                "install one: kubectl nim install --image …, or ansible-playbook nimops.nim.install"
                " -e operator=true -e image=…; without one, kubectl nim apply creates the objects",
            )
        reporters.append(reporter)
    return reporters


def _serves(item: Installation, namespace: str) -> bool:
    return item.replicas > 0 and (not item.is_ours or item.serves({namespace}))


def check_namespaces(rendered: Rendered, facts: ClusterFacts) -> list[Reporter]:
    """Check that the namespaces exist, and stay."""
    reporters = []
    for name in sorted(namespaces_of(rendered)):
        reporter = Reporter(f"Namespace {name}", "namespace")
        found: Json | None = facts.find("Namespace", "", name)
        if facts.is_missing("Namespace", "", name):
            reporter.fail(f"namespace {name} does not exist", f"kubectl create namespace {name}")
        elif found and found["metadata"].get("deletionTimestamp"):
            reporter.fail(
                f"namespace {name} is being deleted", "wait until it is gone, or use another"
            )
        elif found:
            reporter.ok(f"namespace {name} exists")
        reporters.append(reporter)
    return reporters


def namespaces_of(rendered: Rendered) -> set[str]:
    """The namespaces of the resources and their objects."""
    found = {key.namespace for key in rendered.resources}
    return (found | {item.key.namespace for item in rendered.planned}) - {""}
