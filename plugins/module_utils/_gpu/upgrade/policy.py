# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Parses `upgradePolicy` of a driver; absent nested objects get their defaults as well."""

from __future__ import annotations

import math
import typing as t
from dataclasses import dataclass, field

from ..._base.errors import NimError
from ..._base.quantity import is_count_or_percentage
from ..._engine.label_selector import Selector, parse_selector
from ..fields import SpecError

WHERE = "driver.upgradePolicy"
NOT_UPGRADED = "drivers are not upgraded"

Given = t.Mapping[str, t.Any]


@dataclass(frozen=True)
class Waiting:
    """`waitForCompletion`: the jobs to wait for, if any; 0 seconds mean no limit."""

    selector: Selector | None = None
    seconds: int = 0


@dataclass(frozen=True)
class Evicting:
    """`podDeletion` or `drain`: how pods are evicted; 0 seconds mean no limit."""

    is_forced: bool = False
    seconds: int = 300
    may_lose_empty_dir: bool = False
    selector: Selector = field(default_factory=Selector)


@dataclass(frozen=True)
class UpgradePolicy:
    """How drivers are upgraded; a ``max_parallel`` of 0 means no limit."""

    auto_upgrade: bool = False
    max_parallel: int = 1
    max_unavailable: str = "25%"
    waiting: Waiting = field(default_factory=Waiting)
    pod_deletion: Evicting = field(default_factory=Evicting)
    drain: Evicting | None = None

    def count_unavailable(self, nodes: int) -> int:
        """Return how many of this many nodes may be unavailable; a percentage is rounded up."""
        number = int(self.max_unavailable.removesuffix("%"))
        return math.ceil(nodes * number / 100) if self.max_unavailable.endswith("%") else number


@dataclass(frozen=True)
class Upgrades:
    """``policies``: how drivers are upgraded, by the `UpgradeSnapshot.owner` of their nodes.

    ``reasons``: why others are not.
    """

    policies: t.Mapping[str | None, UpgradePolicy] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()


def parse_policy(
    given: Given | None, *, auto_upgrade: bool = False, where: str = WHERE
) -> UpgradePolicy:
    """Parse the field at the path ``where``; NimError, which names the field, if it is invalid.

    ``auto_upgrade``: the default of `autoUpgrade`.
    """
    spec = given or {}
    waiting, drain = spec.get("waitForCompletion") or {}, spec.get("drain") or {}
    jobs = str(waiting.get("podSelector") or "")
    return UpgradePolicy(
        auto_upgrade=_or(spec.get("autoUpgrade"), auto_upgrade),
        max_parallel=_count(spec, "maxParallelUpgrades", 1, where),
        max_unavailable=_share(spec.get("maxUnavailable"), where),
        waiting=Waiting(
            _selector(jobs, f"{where}.waitForCompletion") if jobs.strip() else None,
            _count(waiting, "timeoutSeconds", 0, f"{where}.waitForCompletion"),
        ),
        pod_deletion=_evicting(spec.get("podDeletion") or {}, where, "podDeletion"),
        drain=_evicting(drain, where, "drain") if drain.get("enable") else None,
    )


def _evicting(spec: Given, where: str, name: str) -> Evicting:
    path = f"{where}.{name}"
    return Evicting(
        is_forced=bool(spec.get("force")),
        seconds=_count(spec, "timeoutSeconds", 300, path),
        may_lose_empty_dir=bool(spec.get("deleteEmptyDir")),
        selector=_selector(str(spec.get("podSelector") or "") if name == "drain" else "", path),
    )


def _selector(text: str, path: str) -> Selector:
    try:
        return parse_selector(text, f"{path}.podSelector")
    except NimError as error:
        raise SpecError(str(error)) from error


def _share(given: t.Any, where: str) -> str:
    text = "25%" if given is None else str(given)
    if is_count_or_percentage(text):
        return text
    raise SpecError(f'{where}.maxUnavailable: "{text[:40]}" is neither a number nor a percentage')


def _count(spec: Given, name: str, default: int, where: str) -> int:
    found = _or(spec.get(name), default)
    if isinstance(found, bool) or not isinstance(found, int) or found < 0:
        raise SpecError(f"{where}.{name}: must be a number of 0 or more")
    return found


def _or(given: t.Any, default: t.Any) -> t.Any:
    return default if given is None else given
