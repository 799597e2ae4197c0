# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The GPUs that a profile needs, as resources of a container."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError

GPU = "nvidia.com/gpu"

Amounts = dict[str, dict[str, str]]


def amounts_of(resources: t.Mapping[str, t.Any] | None) -> Amounts:
    """Requests and limits, each there if empty.

    Text is how the API server writes quantities; within a LeaderWorkerSet it does not do so.
    """
    given = resources or {}
    return {
        key: {name: str(amount) for name, amount in (given.get(key) or {}).items()}
        for key in ("requests", "limits")
    }


def has_gpus(amounts: Amounts) -> bool:
    """Whether GPUs are asked for."""
    return any(GPU in named for named in amounts.values())


def with_gpus(amounts: Amounts, count: str) -> Amounts:
    """The amounts with this many GPUs."""
    return {key: {**named, GPU: count} for key, named in amounts.items()}


def parallelism_of(profile: t.Mapping[str, t.Any]) -> str:
    """How many GPUs share the model, as the tags of a cache's profile say; empty if none does."""
    config = profile.get("config") or {}
    return str(config.get("tensorParallelism") or config.get("tp") or "").strip()


def parse_parallelism(text: str, profile: str, advice: str) -> str:
    """The number of GPUs; NimError, which ends with ``advice``, if it is no positive number."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise NimError(
            f"profile {profile} has tensor parallelism {text!r}, which is no number of GPUs:"
            f" {advice}"
        )
    return str(int(text))
