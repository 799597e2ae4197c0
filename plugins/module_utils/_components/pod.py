# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Parts of pods that all kinds share, and what the state of live pods means."""

from __future__ import annotations

import typing as t

from .._engine.observed import TKGS

DEFAULT_USER, DEFAULT_GROUP = 1000, 2000


def image_reference(image: t.Mapping[str, t.Any]) -> str:
    """`repository:tag` of an Image."""
    return f"{image['repository']}:{image['tag']}"


def pull_secrets(names: t.Iterable[str] | None) -> list[dict[str, str]]:
    """`imagePullSecrets` for these Secrets."""
    return [{"name": name} for name in names or []]


def user_id(spec: t.Mapping[str, t.Any]) -> int:
    """`spec.userID`, or its default."""
    value = spec.get("userID")
    return DEFAULT_USER if value is None else int(value)


def group_id(spec: t.Mapping[str, t.Any]) -> int:
    """`spec.groupID`, or its default."""
    value = spec.get("groupID")
    return DEFAULT_GROUP if value is None else int(value)


def seccomp(orchestrator: str) -> dict[str, t.Any]:
    """The seccomp part of a security context: TKGS requires one."""
    return {"seccompProfile": {"type": "RuntimeDefault"}} if orchestrator == TKGS else {}


def container_security(spec: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The security context of a container that works on a cache, from the spec of the NIMCache."""
    return {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsGroup": group_id(spec),
        "runAsNonRoot": True,
        "runAsUser": user_id(spec),
    }


def pod_security(spec: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The security context of the pod of that container."""
    return {
        "fsGroup": group_id(spec),
        "runAsNonRoot": True,
        "runAsUser": user_id(spec),
    }


def http_probe(path: str, delay: int, failures: int) -> dict[str, t.Any]:
    """A probe of the port `api`; ``delay``: seconds before the first one."""
    return {"httpGet": {"path": path, "port": "api"}, **probe_times(delay, failures)}


def probe_times(delay: int, failures: int) -> dict[str, int]:
    """The initial delay of a probe in seconds, and its failure threshold."""
    return {
        "initialDelaySeconds": delay,
        "timeoutSeconds": 1,
        "periodSeconds": 10,
        "successThreshold": 1,
        "failureThreshold": failures,
    }


def find_container(
    template: t.Mapping[str, t.Any], name: str, where: str = "containers"
) -> dict[str, t.Any]:
    """A container of a live pod template, empty if no container has that name."""
    items = (template.get("spec") or {}).get(where) or []
    return next((item for item in items if item.get("name") == name), {})


def phase_of(pod: t.Mapping[str, t.Any] | None) -> str:
    """The phase of a live pod, empty if there is no pod."""
    return str(((pod or {}).get("status") or {}).get("phase") or "")


def is_pod_ready(pod: t.Mapping[str, t.Any] | None) -> bool:
    """Whether all containers of a live pod are ready."""
    conditions = ((pod or {}).get("status") or {}).get("conditions") or []
    return any(item.get("type") == "Ready" and item.get("status") == "True" for item in conditions)


def why_not_running(pod: t.Mapping[str, t.Any] | None) -> str:
    """Why a pod does not start, from the scheduler or the kubelet, after a colon."""
    status: dict[str, t.Any] = (pod or {}).get("status") or {}
    for container in status.get("containerStatuses") or []:
        waiting = (container.get("state") or {}).get("waiting") or {}
        if waiting.get("reason") not in (None, "ContainerCreating", "PodInitializing"):
            return f": {waiting['reason']} {waiting.get('message') or ''}".rstrip()
    for item in status.get("conditions") or []:
        if item.get("type") == "PodScheduled" and item.get("status") == "False":
            return f": {item.get('reason')} {item.get('message') or ''}".rstrip()
    return ""


def why_ended(pod: t.Mapping[str, t.Any]) -> str:
    """Why a live pod terminated, in a few words; never its output."""
    status: dict[str, t.Any] = pod.get("status") or {}
    for container in status.get("containerStatuses") or []:
        ended = (container.get("state") or {}).get("terminated") or {}
        if ended:
            return f"{ended.get('reason') or 'Ended'}, exit code {ended.get('exitCode')}"
    said = " ".join(filter(None, (status.get("reason"), status.get("message"))))
    return said or "no reason given"


def without_empty(fields: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The fields without None, "", {}, [] and False; 0 is kept."""
    return {
        key: value
        for key, value in fields.items()
        if not (value is None or value is False or value in ("", {}, []))
    }
