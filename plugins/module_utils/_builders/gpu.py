# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The GPUs that a profile needs, as container resources."""

from __future__ import annotations

from .._base.errors import NimError
from .._base.types import Fields

GPU = "nvidia.com/gpu"

Amounts = dict[str, dict[str, str]]


def amounts_of(resources: Fields | None) -> Amounts:
    """Requests and limits, each present even if empty.

    Quantities are strings, as in stored objects except a LeaderWorkerSet.
    """
    given = resources or {}
    return {
        key: {name: str(amount) for name, amount in (given.get(key) or {}).items()}
        for key in ("requests", "limits")
    }


def has_gpus(amounts: Amounts) -> bool:
    """Whether GPUs are requested."""
    return any(GPU in named for named in amounts.values())


def with_gpus(amounts: Amounts, count: str) -> Amounts:
    """The amounts with this number of GPUs."""
    return {key: {**named, GPU: count} for key, named in amounts.items()}


def parallelism_of(profile: Fields) -> str:
    """The number of GPUs that share the model, from the tags of a profile; empty if unset."""
    config = profile.get("config") or {}
    return str(config.get("tensorParallelism") or config.get("tp") or "").strip()


def parse_parallelism(text: str, profile: str, advice: str) -> str:
    """The number of GPUs; NimError, which ends with ``advice``, unless it is a positive number."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise NimError(
            f"profile {profile} has tensor parallelism {text!r}, which is not a number of GPUs:"
            f" {advice}"
        )
    return str(int(text))
