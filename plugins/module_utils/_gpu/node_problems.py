# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Why components do not run on a node although it has GPUs: its labels, taints and kubelet.

The status of the resources, their events and the command gpu_status use the same explanations.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from .._base.types import Fields, Manifest
from .._engine.metadata import controller_of
from .components import (
    COMPONENTS,
    DRIVER,
    MIG_MANAGER,
    PLUGIN,
    TOOLKIT,
    VALIDATOR,
    component_of,
)
from .nodes import DEPLOY, MIG_CONFIG, MIG_STATE, labels_of
from .upgrade import states
from .upgrade.snapshot import Node

MAX_NODES, _MAX_TAINTS = 3, 3
"""The number of nodes that a message names."""

_PAUSED, _FOR_DRIVER, _FOR_MIG = "paused", "driver-upgrade", "mig-change"
_MIG_FAILED, _MIG_RUNNING = "failed", ("pending", "rebooting")
_BOUND = ("NoSchedule", "NoExecute")
_OWN_TAINTS = {
    *((f"node.kubernetes.io/{name}", "NoExecute") for name in ("not-ready", "unreachable")),
    *((f"node.kubernetes.io/{name}-pressure", "NoSchedule") for name in ("disk", "memory", "pid")),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
}
"""Taints that all pods of DaemonSets tolerate."""
_DEFAULT_TOLERATION = {"key": "nvidia.com/gpu", "operator": "Exists"}

_OFF = {
    DRIVER: ("a loaded driver", "install a driver on the node, or set the label to true"),
    TOOLKIT: (
        "the container toolkit",
        "configure the container runtime on the node, or set the label to true",
    ),
    PLUGIN: (
        "the node to offer GPUs",
        "set the label to true; if no node needs the plugin, set devicePlugin.enabled: false",
    ),
}
"""Things that the validation of a node waits for without a component, and how to provide them."""


@dataclass(frozen=True)
class NodeProblem:
    """Why components do not run on a node.

    ``waits``: the awaited event, formatted to follow "waits for". ``advice``: how to fix it.
    ``component``: the cause, or the first affected component; ``blocks``: the other ones.
    """

    node: str
    component: str
    waits: str
    advice: str
    blocks: tuple[str, ...] = ()
    is_fault: bool = False

    @property
    def components(self) -> tuple[str, ...]:
        """The components that do not run."""
        return (self.component, *self.blocks)

    def __str__(self) -> str:
        return f"node {self.node} waits for {self.waits}: {self.advice}"


def problems_of_labels(live: Manifest, deployed: t.Collection[str]) -> list[NodeProblem]:
    """Problems that a node's labels show: a MIG layout that is not applied, paused components.

    ``deployed``: the names of the components that should run on nodes.
    """
    node = Node(live)
    paused = _paused(node, deployed)
    mig = _mig_problem(node, paused, deployed)
    if mig:
        paused = {value: names for value, names in paused.items() if _FOR_MIG not in value}
    found = [mig] if mig else []
    for value, names in paused.items():
        waits = f"{_write_labels(names)}, which {'is' if len(names) == 1 else 'are'} {value},"
        advice = f"if this lasts, {_cause_of_pause(value)}set {_them(names)} to true"
        first, *others = names
        found.append(
            NodeProblem(node.name, first, f"{waits} to be true again", advice, tuple(others))
        )
    return found


def selected_nodes(daemon_set: Manifest, nodes: t.Iterable[Manifest]) -> list[Manifest]:
    """The nodes that a DaemonSet selects by labels; none if an affinity selects as well."""
    pod = ((daemon_set.get("spec") or {}).get("template") or {}).get("spec") or {}
    component = component_of(daemon_set)
    selector = pod.get("nodeSelector") or ({component.deploy: "true"} if component.name else {})
    if not selector or "nodeAffinity" in (pod.get("affinity") or {}):
        return []
    return [node for node in nodes if selector.items() <= labels_of(node).items()]


def problem_of_taints(live: Manifest, daemon_set: Manifest) -> NodeProblem | None:
    """Why a node gets no pod of a DaemonSet: its taints, or it is not ready; None if unknown."""
    node, component = Node(live), component_of(daemon_set).name
    if not node.is_ready:
        return problem_of_kubelet(live, component)
    pod = ((daemon_set.get("spec") or {}).get("template") or {}).get("spec")
    tolerations = pod.get("tolerations") if pod is not None else [_DEFAULT_TOLERATION]
    taints = _untolerated(live, tolerations or [])[:_MAX_TAINTS]
    if not taints:
        return None
    owner = controller_of(daemon_set) or {}
    field = "daemonsets.tolerations"
    if owner.get("kind") == "NVIDIADriver":
        field = f"spec.tolerations of NVIDIADriver {owner.get('name')}"
    waits = f"a pod, which does not tolerate the taint {', '.join(taints)} of the node"
    advice = f"remove the taint, tolerate it in {field}, or set the label {DEPLOY}operands=false"
    return NodeProblem(node.name, component, waits, advice)


def problem_of_kubelet(live: Manifest, component: str = "node") -> NodeProblem | None:
    """The problem of a node whose kubelet does not report; None if it does."""
    node = Node(live)
    if node.is_ready:
        return None
    waits = "its kubelet, which does not report: the node is NotReady"
    return NodeProblem(node.name, component, waits, "check the node", is_fault=True)


def problems_of_validation(
    live: Manifest, deployed: t.Collection[str], needs: str = ""
) -> list[NodeProblem]:
    """Components that the validation of a node waits for, and that its labels keep off the node.

    ``needs``: the component that the validation waits for; empty if that is unknown.
    """
    node = Node(live)
    if node.label(f"{DEPLOY}{VALIDATOR}") != "true":
        return []
    found = []
    for name, (what, advice) in _OFF.items():
        label = f"{DEPLOY}{name}"
        if name in deployed and needs in ("", name) and node.label(label) == "false":
            waits = f"{what}, but its label {label} is false"
            found.append(NodeProblem(node.name, VALIDATOR, waits, advice))
    return found


def write_problems(problems: t.Iterable[NodeProblem]) -> list[str]:
    """Write the problems of a few nodes, faults first."""
    found = list(dict.fromkeys(str(item) for item in _by_severity(problems)))
    more = len(found) - MAX_NODES
    rest = [f"{more} more problem{'s' if more > 1 else ''} of nodes"] if more > 0 else []
    return [*found[:MAX_NODES], *rest]


def _by_severity(problems: t.Iterable[NodeProblem]) -> list[NodeProblem]:
    return sorted(problems, key=lambda item: (not item.is_fault, item.node))


def _paused(node: Node, deployed: t.Collection[str]) -> dict[str, list[str]]:
    """The paused components by the value of their labels.

    During a driver upgrade of the operator, the state of the upgrade explains the pause.
    """
    is_upgrading = node.state in states.RUNNING and node.state != states.FAILED
    found: dict[str, list[str]] = {}
    for component in COMPONENTS:
        value = node.label(component.deploy)
        if component.name not in deployed or _PAUSED not in value:
            continue
        if not (is_upgrading and _FOR_DRIVER in value):
            found.setdefault(value, []).append(component.name)
    return found


def _mig_problem(
    node: Node, paused: t.Mapping[str, list[str]], deployed: t.Collection[str]
) -> NodeProblem | None:
    state, config = node.label(MIG_STATE), node.label(MIG_CONFIG)
    is_off = MIG_MANAGER not in deployed or node.label(f"{DEPLOY}{MIG_MANAGER}") == "false"
    names = [name for value, found in paused.items() if _FOR_MIG in value for name in found]
    is_held = bool(names and config and not state)
    if is_off or not (is_held or state in (_MIG_FAILED, *_MIG_RUNNING)):
        return None
    layout = f"{MIG_CONFIG}={config}" if config else MIG_CONFIG
    shown = f"its label {MIG_STATE} is {state or 'not set'}"
    if names:
        are = "is" if len(names) == 1 else "are"
        shown += f", and {_write_labels(names)} {are} paused"
    if state == _MIG_FAILED:
        waits = f"a MIG layout that can be applied, because {layout} was not: {shown}"
        advice = f"remove the pods with GPUs from the node, and change {MIG_CONFIG}"
    else:
        waits = f"the MIG manager to apply {layout}: {shown}"
        advice = f"if this lasts, read the log of nvidia-mig-manager, and change {MIG_CONFIG}"
    if names:
        advice += f", or set {_them(names)} to true"
    is_fault = state == _MIG_FAILED
    return NodeProblem(node.name, MIG_MANAGER, waits, advice, tuple(names), is_fault)


def _write_labels(names: t.Sequence[str]) -> str:
    noun = "the label" if len(names) == 1 else "the labels"
    return f"{noun} {', '.join(f'{DEPLOY}{name}' for name in names)}"


def _them(names: t.Sequence[str]) -> str:
    return "it" if len(names) == 1 else "them"


def _cause_of_pause(value: str) -> str:
    for mark, reader in ((_FOR_MIG, "nvidia-mig-manager"), (_FOR_DRIVER, "k8s-driver-manager")):
        if mark in value:
            return f"read the log of {reader}, and "
    return ""


def _untolerated(node: Manifest, tolerations: t.Iterable[Fields]) -> list[str]:
    """The taints of a node that keep off pods of a DaemonSet with these tolerations."""
    given = list(tolerations)
    return [
        _write_taint(taint)
        for taint in (node.get("spec") or {}).get("taints") or []
        if taint.get("effect") in _BOUND
        and (taint.get("key"), taint.get("effect")) not in _OWN_TAINTS
        and not any(_tolerates(item, taint) for item in given)
    ]


def _tolerates(toleration: Fields, taint: Fields) -> bool:
    effect, key = toleration.get("effect"), toleration.get("key")
    if (effect and effect != taint.get("effect")) or (key and key != taint.get("key")):
        return False
    if toleration.get("operator") == "Exists":
        return True
    return bool(key) and (toleration.get("value") or "") == (taint.get("value") or "")


def _write_taint(taint: Fields) -> str:
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint.get('key')}{value}:{taint.get('effect')}"
