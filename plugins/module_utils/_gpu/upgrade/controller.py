# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""State machine of a driver upgrade: the transitions of each node.

Each handler reads the snapshot and plans one state's transition in a `NodeStep`.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ..._base.types import Manifest
from ..._builders.pod import has_ended, is_pod_ready
from ..._engine.desired import Eviction
from ..._engine.disruption import budgets_of, why_held, why_never_evicted
from ..components import DRIVER, VALIDATOR, Component
from ..diagnosis import diagnose, explain_pod
from ..node_problems import problems_of_validation
from . import labels, states
from .guard import lost_services, why_not_begin, why_not_evict, why_undrainable
from .pods import (
    gpu_pods,
    is_leaving,
    name_of_pod,
    name_pods,
    to_drain,
    why_not_evictable,
)
from .policy import Evicting, UpgradePolicy
from .slots import count_slots
from .snapshot import Node, UpgradeSnapshot
from .step import NodeStep, Step, driver_of, release, short

VALIDATION_SECONDS = 600

_DRIVER, _VALIDATOR = Component(DRIVER, ""), Component(VALIDATOR, "")
_LEAD = ", which waits for "


@dataclass
class _Pass:
    """Shared data of one step.

    ``running``, ``emptying``: the nodes in such a state before or after this step. ``unread``: the
    nodes whose pods must be read. ``chosen``: the pods that this step evicts.
    """

    snapshot: UpgradeSnapshot
    policy: UpgradePolicy
    slots: int
    running: set[str]
    emptying: set[str]
    unread: set[str] = field(default_factory=set)
    chosen: list[Manifest] = field(default_factory=list)

    def pods(self, step: NodeStep) -> list[Manifest] | None:
        """Return the pods of a node; None, and note the node as unread, if they are unknown."""
        found = self.snapshot.pods.get(step.node.name)
        if found is None:
            self.unread.add(step.node.name)
            step.waits = "its pods to be read"
        return found


def take_step(snapshot: UpgradeSnapshot, policy: UpgradePolicy) -> Step:
    """Plan the next step of each node."""
    nodes = snapshot.managed
    running = {node.name for node in nodes if node.state in states.RUNNING}
    emptying = {node.name for node in snapshot.nodes if node.state in states.EMPTYING}
    slots = count_slots(nodes, policy)
    current = _Pass(snapshot, policy, slots, running, emptying)
    steps = [_step_of(current, node) for node in nodes]
    return Step(tuple(steps), frozenset(current.unread), slots)


def _step_of(current: _Pass, node: Node) -> NodeStep:
    step = NodeStep(node, node.state)
    is_upgrading = node.state not in (states.UNKNOWN, states.DONE)
    if current.snapshot.has_left(node):
        release(node, step)
        return step
    _HANDLERS[node.state](current, step)
    if is_upgrading and not (step.has_moved or node.since[0] or labels.SINCE in step.annotations):
        step.mark(current.snapshot.now)
    return step


def _at_rest(current: _Pass, step: NodeStep) -> None:
    node, driver = step.node, driver_of(current.snapshot, step.node)
    if driver is None:
        return
    replaces_orphan = bool(current.snapshot.owner) and driver.is_orphan
    is_outdated = replaces_orphan or (driver.is_outdated and not driver.is_orphan)
    is_requested = node.annotation(labels.REQUESTED) == "true" or node.annotation(labels.SAFE_LOAD)
    if is_outdated or is_requested:
        step.move(states.REQUIRED, current.snapshot.now, "" if is_requested else labels.OUTDATED)
    elif node.state == states.UNKNOWN:
        step.move(states.DONE, current.snapshot.now)


def _required(current: _Pass, step: NodeStep) -> None:
    node, snapshot = step.node, current.snapshot
    driver, is_requested = driver_of(snapshot, node), node.annotation(labels.REQUESTED)
    if driver is None:
        step.waits = "its driver pod"
        return
    if driver.is_ready and not is_requested and node.since[1] == labels.OUTDATED:
        step.annotations[labels.WAS_CORDONED] = None
        step.move(states.DONE, snapshot.now)
        return
    if is_requested:
        step.annotations[labels.REQUESTED] = None
        step.mark(snapshot.now)
    if why := _why_left_alone(node):
        step.hold(why)
        step.waits_for_user = True
        return
    if current.slots <= 0:
        step.waits = "its turn: the maximum number of nodes is being upgraded or unavailable"
        return
    if driver.is_outdated and driver.installs_the_same:
        step.is_cordoned = True
        step.annotations[labels.WAS_CORDONED] = None
        step.move(states.RESTART, snapshot.now)
    elif _is_held_back(current, step):
        return
    else:
        lost = lost_services(snapshot, node)
        step.notes += [f"{item} has no ready replica during the upgrade" for item in lost]
        step.annotations[labels.WAS_CORDONED] = None
        step.move(states.CORDON, snapshot.now)
        current.emptying.add(node.name)
    current.slots -= 1
    current.running.add(node.name)


def _why_left_alone(node: Node) -> str:
    """Why users keep a node from being upgraded; empty if they do not."""
    if node.label(labels.SKIP) == "true":
        return f"the label {labels.SKIP}=true to be removed"
    return "an administrator to uncordon it" if node.is_cordoned else ""


def _is_held_back(current: _Pass, step: NodeStep) -> bool:
    """Whether the guard keeps a node from starting now."""
    snapshot, node = current.snapshot, step.node
    if not snapshot.is_guarded:
        return False
    if current.pods(step) is None:
        current.slots -= 1  # reserved, so that the pods of at most this many nodes are read
        return True
    if why := why_undrainable(snapshot, node):
        step.hold(why, is_stuck=True)
        return True
    has_running = bool(current.running - {node.name})
    if why := why_not_begin(snapshot, node, current.emptying, has_running=has_running):
        step.hold(why)
    return bool(why)


def _cordon(current: _Pass, step: NodeStep) -> None:
    step.is_cordoned = True
    step.move(states.JOBS, current.snapshot.now)


def _wait_for_jobs(current: _Pass, step: NodeStep) -> None:
    waiting, now = current.policy.waiting, current.snapshot.now
    if waiting.selector is None:
        step.move(states.POD_DELETION, now)
        return
    pods = current.pods(step)
    if pods is None:
        return
    jobs = [
        pod
        for pod in pods
        if not has_ended(pod) and waiting.selector.selects(pod["metadata"].get("labels"))
    ]
    if not jobs or _is_over(current, step, labels.JOBS_SINCE, waiting.seconds):
        step.move(states.POD_DELETION, now)
        step.notes += [f"stopped waiting for {name_pods(jobs)}"] if jobs else []
        return
    step.hold(f"{name_pods(jobs)} to finish{_limit(waiting.seconds)}")


def _delete_pods(current: _Pass, step: NodeStep) -> None:
    pods = current.pods(step)
    if pods is None:
        return
    found, how = gpu_pods(pods, current.snapshot.claims), current.policy.pod_deletion
    if not found:
        step.move(states.RESTART, current.snapshot.now)
    elif why := _evict(current, step, found, how):
        if current.policy.drain:
            step.move(states.DRAIN, current.snapshot.now)
            step.notes.append(why)
        else:
            step.fail(why, current.snapshot.now)


def _drain(current: _Pass, step: NodeStep) -> None:
    how = current.policy.drain
    pods = current.pods(step) if how else []
    if pods is None:
        return
    found = to_drain(pods, how) if how else []
    if not how or not found:
        step.move(states.RESTART, current.snapshot.now)
    elif why := _evict(current, step, found, how):
        step.fail(why, current.snapshot.now)


def _evict(current: _Pass, step: NodeStep, pods: list[Manifest], how: Evicting) -> str:
    """Evict the pods that may go now; return why the eviction failed, or an empty string."""
    snapshot = current.snapshot
    if reasons := [why for pod in pods if (why := why_not_evictable(pod, how))]:
        return reasons[0]
    since, was_held = step.node.since[0], step.node.is_held
    is_over = bool(how.seconds and since and snapshot.now - since >= how.seconds and not was_held)
    held, kept, is_stuck = "", "", False
    for pod in pods:
        if is_leaving(pod):
            continue
        if why := why_not_evict(snapshot, pod, current.chosen):
            kept = kept or f"{name_of_pod(pod)}: {why}"
            continue
        if why := why_held(pod, snapshot.budgets):
            never = why_never_evicted(pod, snapshot.budgets)
            held = held or f"{name_of_pod(pod)}: {never or why}"
            is_stuck = is_stuck or bool(never)
            if len(budgets_of(pod, snapshot.budgets)) > 1:
                continue  # the API server refuses to evict it in every pass
        step.evictions.append(Eviction(pod))
        current.chosen.append(pod)
    if is_over and not kept:
        step.evictions = []
        return f"{held or name_pods(pods)}: not evicted within {how.seconds} s"
    if bool(kept) != was_held:
        step.mark(snapshot.now, labels.HELD if kept else "")
    if held or kept:
        step.hold(kept or f"{held}{_limit(how.seconds)}", is_stuck=is_stuck)
    else:
        step.waits = f"{name_pods(pods)} to be evicted{_limit(how.seconds)}"
    return ""


def _restart(current: _Pass, step: NodeStep) -> None:
    driver, now = driver_of(current.snapshot, step.node), current.snapshot.now
    if driver is None or driver.is_leaving:
        step.waits = "a new driver pod"
        return
    if not driver.is_in_sync:
        step.evictions.append(Eviction(driver.pod, is_deletion=True))
        step.waits = f"{name_of_pod(driver.pod)} to be replaced"
        return
    if step.node.annotation(labels.SAFE_LOAD):
        step.annotations[labels.SAFE_LOAD] = None
    if driver.is_ready:
        step.move(states.VALIDATION, now)
    elif container := driver.failing:
        step.fail(f"container {container} of {name_of_pod(driver.pod)} keeps failing", now)
    else:
        step.waits = (
            f"{name_of_pod(driver.pod)} to be ready{explain_pod(_DRIVER, driver.pod, _LEAD)}"
        )


def _validate(current: _Pass, step: NodeStep) -> None:
    now, pods = current.snapshot.now, current.snapshot.validators.get(step.node.name) or []
    if not pods:
        step.waits = "a pod of the DaemonSet nvidia-operator-validator"
        return
    unready = [pod for pod in pods if not is_pod_ready(pod)]
    if not unready:
        step.finish(now)
        return
    waits = f"{name_of_pod(unready[0])} to be ready{_why_not_valid(step.node, unready[0])}"
    if _is_over(current, step, labels.VALIDATION_SINCE, VALIDATION_SECONDS):
        step.fail(f"validation: waited {VALIDATION_SECONDS} s for {waits}", now)
    else:
        step.waits = f"{waits}{_limit(VALIDATION_SECONDS)}"


def _why_not_valid(node: Node, pod: Manifest) -> str:
    """The problem of a validator: a label of the node that keeps off what it waits for, first."""
    seen = diagnose(_VALIDATOR, pod)
    needs = seen.needs if seen else ""
    for problem in problems_of_validation(node.live, {needs}, needs):
        return f"{_LEAD}{problem.waits}: {problem.advice}"
    return explain_pod(_VALIDATOR, pod, _LEAD)


def _uncordon(current: _Pass, step: NodeStep) -> None:
    step.is_cordoned = False
    step.move(states.DONE, current.snapshot.now)


def _failed(current: _Pass, step: NodeStep) -> None:
    """Recover; unlike the reference, a failed validation must succeed first."""
    driver = driver_of(current.snapshot, step.node)
    validators = current.snapshot.validators.get(step.node.name) or []
    if driver and driver.is_ready and all(is_pod_ready(pod) for pod in validators):
        step.finish(current.snapshot.now)
        return
    why = (
        short(step.node.annotation(labels.WHY))
        or "the driver pod is not ready at the newest revision"
    )
    step.hold(f"manual action: {why}", is_stuck=True)


def _is_over(current: _Pass, step: NodeStep, key: str, seconds: int) -> bool:
    """Whether the time since an annotation has expired; a missing annotation is set now."""
    now = current.snapshot.now
    if not seconds or not now:
        return False
    since = step.node.seconds(key)
    if not since:
        step.annotations[key] = str(now)
    return bool(since) and now - since >= seconds


def _limit(seconds: int) -> str:
    return f" (at most {seconds} s)" if seconds else " (no time limit)"


_HANDLERS: dict[str, t.Callable[[_Pass, NodeStep], None]] = {
    states.UNKNOWN: _at_rest,
    states.DONE: _at_rest,
    states.REQUIRED: _required,
    states.CORDON: _cordon,
    states.JOBS: _wait_for_jobs,
    states.POD_DELETION: _delete_pods,
    states.DRAIN: _drain,
    states.RESTART: _restart,
    states.VALIDATION: _validate,
    states.UNCORDON: _uncordon,
    states.FAILED: _failed,
}
