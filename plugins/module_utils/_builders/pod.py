# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Parts of pods that all kinds share, and the state of live pods."""

from __future__ import annotations

import typing as t

from .._base.types import Fields, Json
from .._engine.observed import TKGS

DEFAULT_USER, DEFAULT_GROUP = 1000, 2000


def image_reference(image: Fields) -> str:
    """Return `repository:tag` of an image in a spec. KeyError if one of them is missing."""
    return f"{image['repository']}:{image['tag']}"


def pull_secrets(names: t.Iterable[str] | None) -> list[dict[str, str]]:
    """`imagePullSecrets` for these Secrets."""
    return [{"name": name} for name in names or []]


def user_id(spec: Fields) -> int:
    """`spec.userID`, or its default."""
    value = spec.get("userID")
    return DEFAULT_USER if value is None else int(value)


def group_id(spec: Fields) -> int:
    """`spec.groupID`, or its default."""
    value = spec.get("groupID")
    return DEFAULT_GROUP if value is None else int(value)


def seccomp(orchestrator: str) -> Json:
    """The seccomp profile of a security context, which TKGS requires; empty elsewhere."""
    return {"seccompProfile": {"type": "RuntimeDefault"}} if orchestrator == TKGS else {}


def container_security(user: int, group: int) -> Json:
    """The security context of a container for a cache, with the ids of the NIMCache."""
    return {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsGroup": group,
        "runAsNonRoot": True,
        "runAsUser": user,
    }


def pod_security(user: int, group: int) -> Json:
    """The security context of a pod for a cache."""
    return {
        "fsGroup": group,
        "runAsNonRoot": True,
        "runAsUser": user,
    }


def http_probe(path: str, delay: int, failures: int) -> Json:
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


def find_container(template: Fields, name: str, where: str = "containers") -> Json:
    """A container of a live pod template; empty if no container has that name."""
    items = (template.get("spec") or {}).get(where) or []
    return next((item for item in items if item.get("name") == name), {})


def phase_of(pod: Fields | None) -> str:
    """The phase of a live pod; empty if there is no pod."""
    return str(((pod or {}).get("status") or {}).get("phase") or "")


def is_pod_ready(pod: Fields | None) -> bool:
    """Whether all containers of a live pod are ready."""
    conditions = ((pod or {}).get("status") or {}).get("conditions") or []
    return any(item.get("type") == "Ready" and item.get("status") == "True" for item in conditions)


def has_ended(pod: Fields | None) -> bool:
    """Whether all containers of a live pod ended and will not restart."""
    return phase_of(pod) in ("Failed", "Succeeded")


def without_empty(fields: Fields) -> Json:
    """The fields without None, "", {}, [] and False; 0 is kept."""
    return {
        key: value
        for key, value in fields.items()
        if not (value is None or value is False or value in ("", {}, []))
    }
