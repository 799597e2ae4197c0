# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Explains why DaemonSets are not ready: their progress, and problems of their pods and nodes."""

from __future__ import annotations

import typing as t

from .._base.types import Manifest
from .._builders.pod_problems import describe_refusal, violates_pod_security
from .._engine.conditions import RECONCILING, find_condition
from .._engine.desired import Event
from .._engine.reads import Read, ReadRedacted, ReadRefusals, ReadUnready
from .._engine.status_builder import StatusBuilder
from .app import StackApp
from .components import VALIDATOR, Component, component_of
from .diagnosis import diagnose, explain_pod
from .node_problems import (
    MAX_NODES,
    NodeProblem,
    problem_of_kubelet,
    problem_of_taints,
    problems_of_labels,
    problems_of_validation,
    selected_nodes,
    write_problems,
)
from .nodes import GPU_PRESENT, Nodes
from .pods import APP
from .readiness import describe_progress, is_ready, lacks_nodes, lacks_pods
from .upgrade.labels import VALIDATOR_PODS

_MAX_REASONS = 3
_PRIORITY_QUOTA = "insufficient quota to match these scopes"
"""Some clusters admit pods of a system PriorityClass only in namespaces with a quota for it."""
_FIELDS = {
    "ClusterPolicy": ("spec.psa.enabled", "spec.daemonsets.priorityClassName"),
    "NVIDIADriver": ("spec.psa.enabled of the ClusterPolicy", "spec.priorityClassName"),
}
"""Fields that set the namespace's Pod Security labels, and the PriorityClass of the pods."""
_NODES = ReadRedacted("Node", selector=f"{GPU_PRESENT}=true")


def unready_pods(app: StackApp, name: str) -> ReadUnready:
    """The read of the pods of a DaemonSet that are not ready."""
    return ReadUnready(app.namespace, f"{APP}={name}")


def problem_reads(
    app: StackApp, daemon_sets: t.Iterable[Manifest], deployed: t.Collection[str], nodes: Nodes
) -> list[Read]:
    """Return the reads that explain why DaemonSets are not ready; none if all are.

    ``nodes``: with the labels that they have before this pass. ``deployed``: as in
    `problems_of_labels`.
    """
    found: dict[str, Read] = {}
    for live in daemon_sets:
        reads: list[Read] = []
        if not is_ready(live):
            reads = [unready_pods(app, str(live["metadata"]["name"]))]
            if lacks_pods(live):
                reads.append(_refusals(app, live))
            if component_of(live).name == VALIDATOR:
                reads += [_validators_on(app, node) for node in _suspects(nodes, deployed)]
        elif _lacks_nodes(live, nodes):
            reads = [_NODES]
        found |= {read.key: read for read in reads}
    return list(found.values())


def explain(app: StackApp, live: Manifest) -> str:
    """Describe the progress of a DaemonSet and its problems, each once; empty if it is ready."""
    if is_ready(live):
        lacks = _lacks_nodes(live, app.nodes)
        return f"DaemonSet {live['metadata']['name']}: {lacks}" if lacks else ""
    name = str(live["metadata"]["name"])
    reasons: dict[str, str] = {}
    for pod in app.observed.get(unready_pods(app, name).key) or []:
        if why := explain_pod(component_of(live), pod):
            reasons.setdefault(why, f"Pod {pod['metadata']['name']}{_place(pod)}{why}")
    if lacks_pods(live) and (why := str(app.observed.get(_refusals(app, live).key) or "")):
        reasons[why] = describe_refusal(why) + _remedy(app, why)
    summary = f"DaemonSet {name}: {describe_progress(live)}"
    return "; ".join([summary, *list(reasons.values())[:_MAX_REASONS]])


def node_problems(
    app: StackApp, daemon_sets: t.Iterable[Manifest], deployed: t.Collection[str]
) -> list[NodeProblem]:
    """Why components do not run on nodes; ``deployed``: as in `problems_of_labels`."""
    nodes = app.nodes.with_gpu
    found = [item for node in nodes for item in problems_of_labels(node, deployed)]
    for live in daemon_sets:
        if is_ready(live):
            found += _untolerated(app, live)
            continue
        found += [item for node in nodes if (item := problem_of_kubelet(node))]
        if component_of(live).name == VALIDATOR:
            found += _unvalidated(app, deployed)
    return found


def report_problems(
    builder: StatusBuilder, problems: t.Sequence[NodeProblem], reason: str
) -> list[str]:
    """Write the problems for a condition; an event reports each that is new in it."""
    before = (find_condition(builder.conditions, RECONCILING) or {}).get("message") or ""
    found = write_problems(problems)
    new = [text for text in found[:MAX_NODES] if text not in before]
    builder.events += [Event("Warning", reason, text) for text in new]
    return found


def _refusals(app: StackApp, live: Manifest) -> ReadRefusals:
    return ReadRefusals("DaemonSet", app.namespace, str(live["metadata"]["name"]))


def _remedy(app: StackApp, message: str) -> str:
    """Advice by which the API server admits the pods; empty if there is none."""
    labels_field, priority_field = _FIELDS[app.kind]
    if violates_pod_security(message):
        return f" (set {labels_field}, or relax the Pod Security labels of the namespace)"
    if _PRIORITY_QUOTA in message:
        return (
            " (create a ResourceQuota for this PriorityClass in the namespace, or set another"
            f" in {priority_field})"
        )
    return " (ask for a larger quota)" if "exceeded quota" in message else ""


def _lacks_nodes(live: Manifest, nodes: Nodes) -> str:
    found = nodes.with_gpu
    wanted = int((live.get("status") or {}).get("desiredNumberScheduled") or 0)
    return lacks_nodes(live, len(selected_nodes(live, found))) if wanted < len(found) else ""


def _untolerated(app: StackApp, live: Manifest) -> list[NodeProblem]:
    if not _lacks_nodes(live, app.nodes):
        return []
    known = {str(node["metadata"]["name"]): node for node in app.observed.get(_NODES.key) or []}
    selected = selected_nodes(live, app.nodes.with_gpu)
    whole = [known.get(str(node["metadata"]["name"]), node) for node in selected]
    return [item for node in whole if (item := problem_of_taints(node, live))]


def _suspects(nodes: Nodes, deployed: t.Collection[str]) -> list[Manifest]:
    """A few nodes whose labels keep off a component that their validation waits for."""
    found = [node for node in nodes.with_gpu if problems_of_validation(node, deployed)]
    return found[:MAX_NODES]


def _validators_on(app: StackApp, node: Manifest) -> ReadRedacted:
    field = f"spec.nodeName={node['metadata']['name']}"
    return ReadRedacted("Pod", app.namespace, VALIDATOR_PODS, field)


def _unvalidated(app: StackApp, deployed: t.Collection[str]) -> list[NodeProblem]:
    found = []
    for node in _suspects(app.nodes, deployed):
        needs = ""
        for pod in app.observed.get(_validators_on(app, node).key) or []:
            seen = diagnose(Component(VALIDATOR, ""), pod)
            if seen is None or (seen.is_fault and not seen.needs):
                break
            needs = seen.needs
        else:
            found += problems_of_validation(node, deployed, needs)
    return found


def _place(pod: t.Mapping[str, t.Any]) -> str:
    node = (pod.get("spec") or {}).get("nodeName")
    return f" on node {node}" if node else ""
