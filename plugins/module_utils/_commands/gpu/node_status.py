# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Status of the GPU stack on each node: state, awaited events, and the logs to read.

If several pods are not ready, only root causes are reported: pods that do not wait for another one.
"""

from __future__ import annotations

import typing as t
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime

from ..._base.printable import name_some, printable
from ..._base.types import Json
from ..._engine.conditions import find_condition
from ..._gpu.cluster import POLICIES
from ..._gpu.components import COMPONENTS, DRIVER, MIG_MANAGER, TOOLKIT, VALIDATOR, Component
from ..._gpu.diagnosis import Diagnosis, diagnose
from ..._gpu.log_causes import explain_log
from ..._gpu.node_problems import (
    MAX_NODES,
    NodeProblem,
    problem_of_taints,
    problems_of_labels,
    problems_of_validation,
    selected_nodes,
)
from ..._gpu.nodes import DEPLOY, GPU_PRESENT, MISSING_SINCE, has_device
from ..._gpu.upgrade import labels, states
from ..._gpu.upgrade.services import node_of
from ..._gpu.upgrade.snapshot import Node, parse_seconds
from ..._gpu.upgrade.step import NodeStep, Step

READY, WAITING, FAILED, UPGRADING, OFF = "Ready", "Waiting", "Failed", "Upgrading", "Off"
_RANK = (FAILED, WAITING, UPGRADING, OFF, READY)
_MAX_TEXT = 600
_NFD = "feature.node.kubernetes.io/"
_OPERANDS = f"{DEPLOY}operands"
_NO_LABEL = "the label {}, which the operator does not set on it"
_OTHER_RUNTIME = (
    "the toolkit is deployed for another container runtime than that of the node: install it on the"
    " node yourself, and set the label to false"
)

_Found = tuple[Diagnosis, str, str]
"""(diagnosis, namespace, pod)"""


@dataclass(frozen=True)
class Log:
    """The container log that shows a cause."""

    namespace: str
    pod: str
    container: str
    is_previous: bool = False

    def __str__(self) -> str:
        tail = " --previous" if self.is_previous else ""
        return f"kubectl -n {self.namespace} logs {self.pod} -c {self.container}{tail}"


@dataclass(frozen=True)
class Trouble:
    """A component that is not ready; ``blocks``: the components that wait for it."""

    component: str
    pod: str
    waits: str
    since: str = ""
    log: Log | None = None
    advice: str = ""
    blocks: tuple[str, ...] = ()
    is_fault: bool = False

    def to_dict(self) -> Json:
        """Return plain data for JSON; ``log``: the command that shows the log."""
        found = asdict(self)
        return {**found, "blocks": list(self.blocks), "log": str(self.log) if self.log else ""}


@dataclass
class NodeStatus:
    """Status of a node; ``upgrade``: its state in a driver upgrade."""

    node: str
    state: str
    upgrade: str = ""
    troubles: list[Trouble] = field(default_factory=list)

    def to_dict(self) -> Json:
        """Return plain data for JSON."""
        troubles = [item.to_dict() for item in self.troubles]
        return {
            "node": self.node,
            "state": self.state,
            "upgrade": self.upgrade,
            "troubles": troubles,
        }


@dataclass(frozen=True)
class StackView:
    """Input of the status: nodes and pods in outline, DaemonSets, warnings by pod UID."""

    nodes: t.Sequence[Json]
    pods: t.Sequence[Json]
    daemon_sets: t.Sequence[Json]
    warnings: t.Mapping[str, t.Sequence[str]] = field(default_factory=dict)
    step: Step = field(default_factory=lambda: Step(()))


def status_of_nodes(view: StackView) -> list[NodeStatus]:
    """Return the status of nodes with GPUs, problems first."""
    waits = {item.node.name: item for item in view.step.nodes}
    deployed = {
        component.name
        for component in COMPONENTS
        if any(component.owns(_labels(item)) for item in view.daemon_sets)
    }
    found = []
    for live in view.nodes:
        if _has_gpus(live):
            status = _status_of(Node(live), view, deployed)
            step = waits.get(status.node)
            if step and {step.node.state, step.state} & {states.REQUIRED, *states.RUNNING}:
                status.upgrade = step.node.state
                _add_upgrade(status, step.node, _wait_of(step, view.step), step.is_stuck)
            found.append(status)
    return sorted(found, key=lambda item: (_RANK.index(item.state), item.node))


def logs_to_read(nodes: t.Iterable[NodeStatus], limit: int) -> list[Log]:
    """Return the logs to read for the first few troubles without advice, one per component."""
    seen: dict[tuple[str, str], Log] = {}
    for node in nodes:
        for item in node.troubles:
            if item.log and not item.advice:
                seen.setdefault((node.node, item.component), item.log)
    return list(seen.values())[:limit]


def with_logs(nodes: t.Iterable[NodeStatus], logs: t.Mapping[Log, str]) -> list[NodeStatus]:
    """Add advice from these logs."""
    return [
        NodeStatus(
            item.node,
            item.state,
            item.upgrade,
            [_advised(trouble, logs) for trouble in item.troubles],
        )
        for item in nodes
    ]


def find_stack_problems(policies: t.Sequence[Json], nodes: t.Sequence[Json]) -> list[str]:
    """Return cluster-wide problems: no policy, no NFD labels, or errors in a policy's status."""
    if not policies:
        return [f"there is no {POLICIES.kind}: nothing is deployed"]
    found = []
    if not any(label.startswith(_NFD) for live in nodes for label in _labels(live)):
        found.append("no node has labels of Node Feature Discovery: install it, or check its pods")
    elif not any(_has_gpus(live) for live in nodes):
        found.append("Node Feature Discovery found no node with a GPU")
    for policy in policies:
        status = policy.get("status") or {}
        name = f"{POLICIES.kind} {policy['metadata']['name']}"
        if not status.get("state"):
            found.append(f"{name} has no status: check that the operator runs, and its log")
        error = find_condition(status.get("conditions"), "Error") or {}
        if status.get("state") == "ignored":
            found.append(f"{name} is ignored: another {POLICIES.kind} is active")
        elif error.get("status") == "True":
            message = " ".join(str(error.get("message") or "").split())
            found.append(f"{name}: {_short(message)}")
    return found


def _status_of(node: Node, view: StackView, deployed: t.Collection[str]) -> NodeStatus:
    if node.label(_OPERANDS) == "false":
        return NodeStatus(node.name, OFF)
    if node.label(GPU_PRESENT) != "true":
        waits = f"its label {GPU_PRESENT}, which the operator sets: check the operator's log"
        return NodeStatus(node.name, WAITING, troubles=[Trouble("labels", "", waits)])
    troubles = _roots(_diagnose_node(node, view, deployed), deployed)
    if not deployed:
        waits = "the DaemonSets of the GPU stack, none of which exists"
        troubles.append(Trouble("stack", "", waits))
    if node.annotation(MISSING_SINCE):
        waits = "its GPU label of Node Feature Discovery, which is gone: check the pods of NFD"
        troubles.append(Trouble("labels", "", waits))
    state = READY
    if troubles:
        state = FAILED if any(item.is_fault for item in troubles) else WAITING
    if not node.is_ready:
        waits = "its kubelet, which does not report: the node is NotReady"
        troubles.insert(0, Trouble("node", "", waits, is_fault=True))
        state = FAILED
    return NodeStatus(node.name, state, troubles=troubles)


def _diagnose_node(node: Node, view: StackView, deployed: t.Collection[str]) -> dict[str, _Found]:
    """The causes why components are not ready, as pods, labels and taints show them."""
    pods = [pod for pod in view.pods if node_of(pod) == node.name]
    found: dict[str, _Found] = {}
    for component in COMPONENTS:
        is_expected = component.name == TOOLKIT or node.label(component.deploy)
        if component.name in deployed and is_expected:
            own = [pod for pod in pods if component.owns(_labels(pod))]
            if seen := _diagnose(component, node, own, view):
                found[component.name] = seen
    for problem in problems_of_labels(node.live, deployed):
        found.setdefault(problem.component, (_diagnosis_of(problem), "", ""))
        for name in problem.blocks:
            waits = Diagnosis(problem.waits, needs=problem.component)
            found.setdefault(name, (waits, "", ""))
    if seen := found.get(VALIDATOR):
        found[VALIDATOR] = (_explain_validation(node, deployed, seen[0]), *seen[1:])
    return found


def _diagnose(
    component: Component, node: Node, pods: t.Sequence[Json], view: StackView
) -> _Found | None:
    """The diagnosis of a component on a node; None if it is ready or off."""
    for pod in pods:
        uid = str(pod["metadata"].get("uid") or "")
        if found := diagnose(component, pod, view.warnings.get(uid) or ()):
            return found, pod["metadata"].get("namespace", ""), pod["metadata"]["name"]
    wanted = node.label(component.deploy)
    if not pods and not wanted:
        return Diagnosis(_NO_LABEL.format(component.deploy), advice=_OTHER_RUNTIME), "", ""
    if pods or wanted != "true":
        return None
    for daemon_set in view.daemon_sets:
        is_wanted = component.owns(_labels(daemon_set)) and selected_nodes(daemon_set, [node.live])
        if is_wanted and (problem := problem_of_taints(node.live, daemon_set)):
            return _diagnosis_of(problem), "", ""
    waits = "a pod: its DaemonSet has none here, or it is not scheduled; check the node's taints"
    return Diagnosis(waits), "", ""


def _diagnosis_of(problem: NodeProblem) -> Diagnosis:
    needs = DRIVER if problem.component == MIG_MANAGER and not problem.is_fault else ""
    return Diagnosis(problem.waits, needs=needs, is_fault=problem.is_fault, advice=problem.advice)


def _explain_validation(node: Node, deployed: t.Collection[str], seen: Diagnosis) -> Diagnosis:
    """Name the node label that keeps off a component that the validation waits for."""
    if seen.is_fault and not seen.needs:
        return seen
    for problem in problems_of_validation(node.live, deployed, seen.needs):
        return replace(seen, waits=problem.waits, advice=problem.advice)
    return seen


def _roots(found: t.Mapping[str, _Found], deployed: t.Collection[str]) -> list[Trouble]:
    """The troubles that no other trouble causes."""
    parents = {name: _parent(name, item[0], found) for name, item in found.items()}
    roots = [name for name, parent in parents.items() if not parent] or list(found)
    troubles = []
    for name in roots:
        item, namespace, pod = found[name]
        blocks = tuple(other for other in parents if _leads_to(parents, other, name))
        log = Log(namespace, pod, item.container, item.has_ended) if item.container else None
        advice = item.advice
        if item.needs == DRIVER and DRIVER not in deployed and not advice:
            advice = "no driver is deployed (driver.enabled: false): install one on the node"
        troubles.append(
            Trouble(
                name,
                f"{namespace}/{pod}" if pod else "",
                _short(item.waits),
                item.since,
                log,
                advice,
                blocks,
                item.is_fault,
            )
        )
    return troubles


def _parent(name: str, item: Diagnosis, found: t.Container[str]) -> str:
    """The unready component that a component waits for or fails without; empty if none.

    Pods that need the toolkit wait for a file of the validator.
    """
    if not item.needs:
        return ""
    needs = [item.needs]
    if item.needs == TOOLKIT and name != VALIDATOR:
        needs.append(VALIDATOR)
    return next((need for need in needs if need in found and need != name), "")


def _leads_to(parents: t.Mapping[str, str], name: str, root: str) -> bool:
    seen: set[str] = set()
    while (name := parents.get(name, "")) and name not in seen:
        if name == root:
            return True
        seen.add(name)
    return False


def _wait_of(step: NodeStep, whole: Step) -> str:
    """The cause why the upgrade of a node waits; if it is pending, with the nodes in progress."""
    waits = step.waits or f"{step.state} to start"
    if step.state != states.REQUIRED or step.is_held:
        return waits
    names = [item.node.name for item in whole.nodes if item.state in states.RUNNING]
    return f"{waits} ({name_some(names, MAX_NODES)})" if names else waits


def _add_upgrade(status: NodeStatus, node: Node, waits: str, is_stuck: bool) -> None:
    seconds, _word = node.since
    seconds = seconds or parse_seconds(node.annotation(labels.VALIDATION_SINCE))
    since = datetime.fromtimestamp(seconds, UTC).isoformat() if seconds else ""
    trouble = Trouble("driver upgrade", "", _short(waits), since, is_fault=is_stuck)
    status.troubles.insert(0, trouble)
    if is_stuck:
        status.state = FAILED
    elif status.state in (READY, WAITING):
        status.state = UPGRADING


def _advised(trouble: Trouble, logs: t.Mapping[Log, str]) -> Trouble:
    text = logs.get(trouble.log, "") if trouble.log else ""
    return replace(trouble, advice=trouble.advice or explain_log(text))


def _has_gpus(live: Json) -> bool:
    return _labels(live).get(GPU_PRESENT) == "true" or has_device(live)


def _labels(item: Json) -> dict[str, str]:
    return item["metadata"].get("labels") or {}


def _short(text: str) -> str:
    return printable(text, _MAX_TEXT)
