# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The states of a node, and what leads from one to the next.

Each function is about one state. It looks at the scene, and says in a `NodeStep` what to do.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ..._base.types import Manifest
from ..._builders.pod import has_ended, is_pod_ready
from ..._builders.pod_faults import why_not_ready
from ..._engine.desired import Eviction
from ..._engine.disruption import budgets_of, never_lets_go, why_held
from . import names
from .guard import lost_services, why_never, why_not_begin, why_not_evict
from .pods import (
    is_leaving,
    name_of_pod,
    name_pods,
    of_gpus,
    to_drain,
    why_not_evictable,
)
from .policy import Evicting, UpgradePolicy
from .scene import Node, Scene
from .slots import count_slots
from .step import NodeStep, Step, driver_of, release, short

VALIDATION_SECONDS = 600


@dataclass
class _Pass:
    """``running``, ``emptying``: the nodes in such states, before this step or after it."""

    scene: Scene
    policy: UpgradePolicy
    slots: int
    running: set[str]
    emptying: set[str]
    unread: set[str] = field(default_factory=set)
    chosen: list[Manifest] = field(default_factory=list)

    def pods(self, step: NodeStep) -> list[Manifest] | None:
        """The pods of a node; None, and a note of that, if they were not read."""
        found = self.scene.pods.get(step.node.name)
        if found is None:
            self.unread.add(step.node.name)
            step.waits = "its pods to be looked at"
        return found


def take_step(scene: Scene, policy: UpgradePolicy) -> Step:
    """What to do now with each node."""
    nodes = scene.managed
    running = {node.name for node in nodes if node.state in names.RUNNING}
    emptying = {node.name for node in scene.nodes if node.state in names.EMPTYING}
    current = _Pass(scene, policy, count_slots(nodes, policy), running, emptying)
    steps = [_step_of(current, node) for node in nodes]
    return Step(tuple(steps), frozenset(current.unread))


def _step_of(current: _Pass, node: Node) -> NodeStep:
    step = NodeStep(node, node.state)
    is_on_its_way = node.state not in (names.UNKNOWN, names.DONE)
    has_driver = driver_of(current.scene, node) is not None
    if is_on_its_way and not has_driver and node.label(names.DEPLOY_DRIVER) != "true":
        release(node, step)
        return step
    _HANDLERS[node.state](current, step)
    if is_on_its_way and not (step.has_moved or node.since[0] or names.SINCE in step.annotations):
        step.mark(current.scene.now)
    return step


def _at_rest(current: _Pass, step: NodeStep) -> None:
    node, driver = step.node, driver_of(current.scene, step.node)
    if driver is None:
        return
    replaces_orphan = bool(current.scene.owner) and driver.is_orphan
    is_outdated = replaces_orphan or (driver.is_outdated and not driver.is_orphan)
    is_asked = node.annotation(names.REQUESTED) == "true" or node.annotation(names.SAFE_LOAD)
    if is_outdated or is_asked:
        step.move(names.REQUIRED, current.scene.now, "" if is_asked else names.OUTDATED)
        step.annotations[names.WAS_CORDONED] = "true" if node.is_cordoned else None
    elif node.state == names.UNKNOWN:
        step.move(names.DONE, current.scene.now)


def _required(current: _Pass, step: NodeStep) -> None:
    node, scene = step.node, current.scene
    driver, is_asked = driver_of(scene, node), node.annotation(names.REQUESTED)
    if driver is None:
        step.waits = "its driver pod"
        return
    if driver.is_ready and not is_asked and node.since[1] == names.OUTDATED:
        step.annotations[names.WAS_CORDONED] = None
        step.move(names.DONE, scene.now)
        return
    if is_asked:
        step.annotations[names.REQUESTED] = None
        step.mark(scene.now)
    if node.label(names.SKIP) == "true":
        step.hold(f"the label {names.SKIP}=true to be removed")
        return
    if current.slots <= 0 and not node.is_cordoned:
        step.waits = "its turn: as many nodes as allowed are being upgraded or unavailable"
        return
    if driver.is_outdated and driver.installs_the_same:
        step.is_cordoned = True
        step.move(names.RESTART, scene.now)
    elif _is_kept(current, step):
        return
    else:
        lost = lost_services(scene, node)
        step.notes += [f"{item} has no ready replica meanwhile" for item in lost]
        step.move(names.CORDON, scene.now)
        current.emptying.add(node.name)
    current.slots -= 1
    current.running.add(node.name)


def _is_kept(current: _Pass, step: NodeStep) -> bool:
    """Whether the guard lets a node not begin yet."""
    scene, node = current.scene, step.node
    if not scene.is_guarded:
        return False
    if current.pods(step) is None:
        current.slots -= 1  # kept for it, so no more pods are read than nodes may begin
        return True
    if why := why_never(scene, node):
        step.hold(why, is_stuck=True)
        return True
    has_running = bool(current.running - {node.name})
    if why := why_not_begin(scene, node, current.emptying, has_running=has_running):
        step.hold(why)
    return bool(why)


def _cordon(current: _Pass, step: NodeStep) -> None:
    step.is_cordoned = True
    step.move(names.JOBS, current.scene.now)


def _wait_for_jobs(current: _Pass, step: NodeStep) -> None:
    waiting, now = current.policy.waiting, current.scene.now
    if waiting.selector is None:
        step.move(names.POD_DELETION, now)
        return
    pods = current.pods(step)
    if pods is None:
        return
    jobs = [
        pod
        for pod in pods
        if not has_ended(pod) and waiting.selector.selects(pod["metadata"].get("labels"))
    ]
    if not jobs or _is_over(current, step, names.JOBS_SINCE, waiting.seconds):
        step.move(names.POD_DELETION, now)
        step.notes += [f"did not wait any longer for {name_pods(jobs)}"] if jobs else []
        return
    step.hold(f"{name_pods(jobs)} to finish{_limit(waiting.seconds)}")


def _delete_pods(current: _Pass, step: NodeStep) -> None:
    pods = current.pods(step)
    if pods is None:
        return
    found, how = of_gpus(pods, current.scene.claims), current.policy.pod_deletion
    if not found:
        step.move(names.RESTART, current.scene.now)
    elif why := _evict(current, step, found, how):
        if current.policy.drain:
            step.move(names.DRAIN, current.scene.now)
            step.notes.append(why)
        else:
            step.fail(why, current.scene.now)


def _drain(current: _Pass, step: NodeStep) -> None:
    how = current.policy.drain
    pods = current.pods(step) if how else []
    if pods is None:
        return
    found = to_drain(pods, how) if how else []
    if not how or not found:
        step.move(names.RESTART, current.scene.now)
    elif why := _evict(current, step, found, how):
        step.fail(why, current.scene.now)


def _evict(current: _Pass, step: NodeStep, pods: list[Manifest], how: Evicting) -> str:
    """Evict what may go now; why that has failed, empty if it has not."""
    scene = current.scene
    if faults := [why for pod in pods if (why := why_not_evictable(pod, how))]:
        return faults[0]
    since, word = step.node.since
    was_held = word == names.HELD
    is_over = bool(how.seconds and since and scene.now - since >= how.seconds and not was_held)
    held, kept, is_stuck = "", "", False
    for pod in pods:
        if is_leaving(pod):
            continue
        if why := why_not_evict(scene, pod, current.chosen):
            kept = kept or f"{name_of_pod(pod)}: {why}"
            continue
        if why := why_held(pod, scene.budgets):
            never = never_lets_go(pod, scene.budgets)
            held = held or f"{name_of_pod(pod)}: {never or why}"
            is_stuck = is_stuck or bool(never)
            if len(budgets_of(pod, scene.budgets)) > 1:
                continue  # the API server would refuse to evict it, in each pass
        step.evictions.append(Eviction(pod))
        current.chosen.append(pod)
    if is_over and not kept:
        step.evictions = []
        return f"{held or name_pods(pods)}: not evicted within {how.seconds} s"
    if bool(kept) != was_held:
        step.mark(scene.now, names.HELD if kept else "")
    if held or kept:
        step.hold(kept or f"{held}{_limit(how.seconds)}", is_stuck=is_stuck)
    else:
        step.waits = f"{name_pods(pods)} to be evicted{_limit(how.seconds)}"
    return ""


def _restart(current: _Pass, step: NodeStep) -> None:
    driver, now = driver_of(current.scene, step.node), current.scene.now
    if driver is None or driver.is_leaving:
        step.waits = "a new driver pod"
        return
    if not driver.is_in_sync:
        step.evictions.append(Eviction(driver.pod, is_deletion=True))
        step.waits = f"{name_of_pod(driver.pod)} to be replaced"
        return
    if step.node.annotation(names.SAFE_LOAD):
        step.annotations[names.SAFE_LOAD] = None
    if driver.is_ready:
        step.move(names.VALIDATION, now)
    elif container := driver.failing:
        step.fail(f"container {container} of {name_of_pod(driver.pod)} keeps failing", now)
    else:
        step.waits = f"{name_of_pod(driver.pod)} to be ready{why_not_ready(driver.pod)}"


def _validate(current: _Pass, step: NodeStep) -> None:
    now, pods = current.scene.now, current.scene.validators.get(step.node.name) or []
    if not pods:
        step.waits = "a pod of the DaemonSet nvidia-operator-validator"
        return
    unready = [pod for pod in pods if not is_pod_ready(pod)]
    if not unready:
        step.finish(now)
        return
    waits = f"{name_of_pod(unready[0])} to be ready{why_not_ready(unready[0])}"
    if _is_over(current, step, names.VALIDATION_SINCE, VALIDATION_SECONDS):
        step.fail(f"validation: waited {VALIDATION_SECONDS} s for {waits}", now)
    else:
        step.waits = f"{waits}{_limit(VALIDATION_SECONDS)}"


def _uncordon(current: _Pass, step: NodeStep) -> None:
    step.is_cordoned = False
    step.move(names.DONE, current.scene.now)


def _failed(current: _Pass, step: NodeStep) -> None:
    """Recover; after a failed validation not before it succeeds, unlike the reference."""
    driver = driver_of(current.scene, step.node)
    validators = current.scene.validators.get(step.node.name) or []
    if driver and driver.is_ready and all(is_pod_ready(pod) for pod in validators):
        step.finish(current.scene.now)
        return
    why = (
        short(step.node.annotation(names.WHY))
        or "the driver pod is not of the newest revision and ready"
    )
    step.hold(f"help: {why}", is_stuck=True)


def _is_over(current: _Pass, step: NodeStep, key: str, seconds: int) -> bool:
    """Whether the time is over that an annotation says the beginning of; it is set if missing."""
    now = current.scene.now
    if not seconds or not now:
        return False
    since = step.node.seconds(key)
    if not since:
        step.annotations[key] = str(now)
    return bool(since) and now - since >= seconds


def _limit(seconds: int) -> str:
    return f" (at most {seconds} s)" if seconds else " (without a limit)"


_HANDLERS: dict[str, t.Callable[[_Pass, NodeStep], None]] = {
    names.UNKNOWN: _at_rest,
    names.DONE: _at_rest,
    names.REQUIRED: _required,
    names.CORDON: _cordon,
    names.JOBS: _wait_for_jobs,
    names.POD_DELETION: _delete_pods,
    names.DRAIN: _drain,
    names.RESTART: _restart,
    names.VALIDATION: _validate,
    names.UNCORDON: _uncordon,
    names.FAILED: _failed,
}
