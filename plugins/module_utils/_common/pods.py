# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Pieces of pod templates that all kinds share."""

from __future__ import annotations

import typing as t

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
    return {"seccompProfile": {"type": "RuntimeDefault"}} if orchestrator == "TKGS" else {}


def without_empty(fields: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The fields that say something: None, "", {}, [] and False are left out, 0 is kept."""
    return {
        key: value
        for key, value in fields.items()
        if not (value is None or value is False or value in ("", {}, []))
    }
