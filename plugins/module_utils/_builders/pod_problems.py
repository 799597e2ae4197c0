# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Problems of pods that do not serve, from the reports of the scheduler and the kubelet.

The messages go into a status, so they stay the same while the reason does: they contain no times
and no unbounded counts. They never contain output of a container.
"""

from __future__ import annotations

import re
import typing as t

from .._base.printable import printable
from .._base.types import Fields
from .._engine.conditions import find_condition
from .pod import has_ended

_MAX_TEXT, _MAX_PODS, _MAX_ENDS = 400, 3, 5

_STARTING = ("", "ContainerCreating", "PodInitializing")
_RESTARTING = (*_STARTING, "CrashLoopBackOff", "RunContainerError")
"""Reasons that are less specific than the exit of the container."""

_NOT_STARTED = ("StartError", "ContainerCannotRun")
"""Reasons whose message is from the container runtime, not from the container."""

_PULLING = ("ErrImagePull", "ImagePullBackOff")
_BACK_OFF = "Back-off pulling image "
_LWS = "leaderworkerset.sigs.k8s.io"
_DEPLOYED = "pod-template-hash"
_REVISIONS = (_DEPLOYED, f"{_LWS}/template-revision-hash", "controller-revision-hash")
"""Labels with the revision of a pod. Pods of groups have the last one as well, with a value that
differs between the StatefulSets of a LeaderWorkerSet."""

_CHANGING = re.compile(
    r"(?<=:)\d+(?=->)|(?<!sha256:)\b[0-9a-f]{64}\b|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"
)
"""Parts of messages that differ at each attempt: source ports, IDs of containers and requests."""

_COMBINED = "(combined from similar events): "
_GENERATED = re.compile(r'(?<=pods ")([^"]{1,253}-)[bcdfghjklmnpqrstvwxz2456789]{5}(?=")')
"""The name of a pod that the API server completed with five random characters."""


def explain_pods(pods: t.Iterable[Fields], *, are_outdated: bool = False) -> str:
    """The problems of a workload's pods: each once, with the first affected pod.

    Only pods of the latest revision count, which is that of the newest pod unless all
    ``are_outdated``. If they have no problem, pods of an older revision count that their controller
    does not replace before they are ready. Ended pods only count if no other pod has a problem.
    """
    live = [pod for pod in pods if not pod["metadata"].get("deletionTimestamp")]
    current: list[Fields] = []
    older = live
    if live and not are_outdated:
        latest = _revision_of(max(live, key=_age_of))
        current = [pod for pod in live if _revision_of(pod) == latest]
        older = [pod for pod in live if _revision_of(pod) != latest]
    if problems := _problems_of(current):
        return "; ".join(list(problems)[:_MAX_PODS])
    older = [pod for pod in older if _DEPLOYED not in _labels_of(pod)]
    if not (problems := _problems_of(older)):
        return ""
    names = dict.fromkeys(_leader_of(pod) for found in problems.values() for pod in found)
    return (
        f"the update waits for pods of an older revision: {'; '.join(list(problems)[:_MAX_PODS])};"
        f" delete Pod {', '.join(list(names)[:_MAX_PODS])} to replace them"
    )


def _problems_of(pods: t.Sequence[Fields]) -> dict[str, list[Fields]]:
    """Each problem with the name of the first affected pod, and all affected pods."""
    found: dict[str, list[Fields]] = {}
    for pod in sorted(pods, key=lambda pod: (has_ended(pod), str(pod["metadata"]["name"]))):
        if has_ended(pod) and found:
            break
        if why := why_not_ready(pod):
            found.setdefault(why, []).append(pod)
    return {f"Pod {found[why][0]['metadata']['name']}{why}": found[why] for why in found}


def why_not_ready(pod: Fields | None) -> str:
    """The problem of a pod, formatted to follow its name; empty if it is only starting."""
    status: Fields = (pod or {}).get("status") or {}
    if status.get("reason"):
        return f": {describe(status)}"
    for kind in ("initContainerStatuses", "containerStatuses"):
        for container in status.get(kind) or []:
            if not container.get("ready") and (why := _why_waiting(container)):
                return _clean(f", container {container.get('name')}: {why}")
    for item in status.get("conditions") or []:
        if item.get("type") == "PodScheduled" and item.get("status") == "False":
            return f": {describe(item)}"
    return ""


def why_ended(pod: Fields) -> str:
    """Why a live pod terminated, without its output."""
    status: Fields = pod.get("status") or {}
    for container in status.get("containerStatuses") or []:
        if ended := (container.get("state") or {}).get("terminated"):
            return _exit_of(ended)
    return describe(status) or "no reason given"


def creation_failure(live: Fields | None) -> Fields:
    """The condition of a Deployment whose pods the API server refuses; empty if it refuses none."""
    conditions = ((live or {}).get("status") or {}).get("conditions")
    failure = find_condition(conditions, "ReplicaFailure") or {}
    return failure if failure.get("status") == "True" else {}


def violates_pod_security(message: object, standard: str = "") -> bool:
    """Whether a refusal of a pod is one by a Pod Security Standard; by default, by any."""
    return f'violates PodSecurity "{standard}' in str(message)


def describe_refusal(message: str) -> str:
    """The message of an event `FailedCreate`, with the same text for each attempt."""
    text = _GENERATED.sub(r"\1…", without_count(message))
    return describe({"reason": "FailedCreate", "message": text})


def without_count(message: str) -> str:
    """The message of an event, which Kubernetes marks when it combines many similar ones."""
    return message.removeprefix(_COMBINED)


def describe(item: Fields) -> str:
    """The reason and message of a condition or a status."""
    return _clean(_join(item))


def _why_waiting(container: Fields) -> str:
    """The problem of a waiting container; a crash has the same text before and after a restart."""
    state: Fields = container.get("state") or {}
    waiting: Fields = state.get("waiting") or {}
    reason, message = str(waiting.get("reason") or ""), str(waiting.get("message") or "")
    ended = state.get("terminated") or (container.get("lastState") or {}).get("terminated")
    if ended and reason in _RESTARTING:
        count = int(container.get("restartCount") or 0) + (0 if state.get("running") else 1)
        return _how_ended(ended, count)
    if reason in _STARTING:
        return ""
    if reason == "CrashLoopBackOff":
        return reason
    if reason in _PULLING:
        return _why_not_pulled(message)
    return _join(waiting)


def _how_ended(ended: Fields, count: int) -> str:
    often = f"{count} times" if count <= _MAX_ENDS else f"more than {_MAX_ENDS} times"
    intro = "ended with" if count <= 1 else f"ended {often}, last with"
    why = ended.get("message") if ended.get("reason") in _NOT_STARTED else ""
    return f"{intro} {_exit_of(ended)}" + (f": {why}" if why else "")


def _exit_of(ended: Fields) -> str:
    return f"{ended.get('reason') or 'Ended'}, exit code {ended.get('exitCode')}"


def _why_not_pulled(message: str) -> str:
    """The reason of a failed pull, with the same text during and between attempts.

    Between attempts, the kubelet repeats the last error, but not before Kubernetes 1.32.
    """
    if message.startswith(_BACK_OFF):
        return message.partition(": ")[2] or _PULLING[0]
    return _join({"reason": _PULLING[0], "message": message})


def _join(item: Fields) -> str:
    return ": ".join(str(item[key]) for key in ("reason", "message") if item.get(key))


def _clean(text: str) -> str:
    return printable(_CHANGING.sub("…", " ".join(text.split())), _MAX_TEXT)


def _labels_of(pod: Fields) -> Fields:
    return pod["metadata"].get("labels") or {}


def _revision_of(pod: Fields) -> t.Any:
    """The revision of a pod; None if it has none."""
    labels = _labels_of(pod)
    return next((labels[label] for label in _REVISIONS if label in labels), None)


def _leader_of(pod: Fields) -> str:
    """The pod whose deletion replaces this one: the leader of its group, or itself."""
    labels = _labels_of(pod)
    name, index = labels.get(f"{_LWS}/name"), labels.get(f"{_LWS}/group-index")
    return f"{name}-{index}" if name and index else str(pod["metadata"]["name"])


def _age_of(pod: Fields) -> str:
    return str(pod["metadata"].get("creationTimestamp") or "")
