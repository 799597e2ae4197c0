# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Pieces of pods that all kinds share, and what live ones say of themselves."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.observed import TKGS

DEFAULT_USER, DEFAULT_GROUP = 1000, 2000


def image_reference(image: t.Mapping[str, t.Any]) -> str:
    """`repository:tag` of an Image."""
    return f"{image['repository']}:{image['tag']}"


def pull_secrets(names: t.Iterable[str] | None) -> list[dict[str, str]]:
    """`imagePullSecrets` of these Secrets."""
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
    """The seccomp part of a security context: TKGS insists on one."""
    return {"seccompProfile": {"type": "RuntimeDefault"}} if orchestrator == TKGS else {}


def container_security(spec: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The security context of a container that works on a cache, by the spec of the NIMCache."""
    return {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsGroup": group_id(spec),
        "runAsNonRoot": True,
        "runAsUser": user_id(spec),
    }


def pod_security(spec: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The security context of its pod."""
    return {
        "fsGroup": group_id(spec),
        "runAsNonRoot": True,
        "runAsUser": user_id(spec),
    }


def http_probe(path: str, delay: int, failures: int) -> dict[str, t.Any]:
    """A probe of the port `api`; ``delay``: seconds before the first one."""
    return {"httpGet": {"path": path, "port": "api"}, **probe_times(delay, failures)}


def probe_times(delay: int, failures: int) -> dict[str, int]:
    """When a probe is made, and how many failures are allowed."""
    return {
        "initialDelaySeconds": delay,
        "timeoutSeconds": 1,
        "periodSeconds": 10,
        "successThreshold": 1,
        "failureThreshold": failures,
    }


def phase_of(pod: t.Mapping[str, t.Any] | None) -> str:
    """The phase of a live pod, empty if there is none."""
    return str(((pod or {}).get("status") or {}).get("phase") or "")


def is_pod_ready(pod: t.Mapping[str, t.Any] | None) -> bool:
    """Whether all containers of a live pod are ready."""
    conditions = ((pod or {}).get("status") or {}).get("conditions") or []
    return any(item.get("type") == "Ready" and item.get("status") == "True" for item in conditions)


def why_not_running(pod: t.Mapping[str, t.Any] | None) -> str:
    """What the scheduler or the kubelet says about a pod that does not start, after a colon."""
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
    """Why a live pod that is over ended, in a few words; never what it printed."""
    status: dict[str, t.Any] = pod.get("status") or {}
    for container in status.get("containerStatuses") or []:
        ended = (container.get("state") or {}).get("terminated") or {}
        if ended:
            return f"{ended.get('reason') or 'Ended'}, exit code {ended.get('exitCode')}"
    said = " ".join(filter(None, (status.get("reason"), status.get("message"))))
    return said or "no reason given"


def without_empty(fields: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The fields that say something: None, "", {}, [] and False are left out, 0 is kept."""
    return {
        key: value
        for key, value in fields.items()
        if not (value is None or value is False or value in ("", {}, []))
    }
