# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""PodDisruptionBudgets: whether one blocks the eviction of a pod, now or permanently."""

from __future__ import annotations

import typing as t

from .._base.types import Fields
from .label_selector import selector_of


def budgets_of(pod: Fields, budgets: t.Iterable[Fields]) -> list[Fields]:
    """The budgets that select a pod."""
    metadata = pod["metadata"]
    return [budget for budget in budgets if _selects(budget, metadata)]


def why_held(pod: Fields, budgets: t.Iterable[Fields]) -> str:
    """Why the API server would not evict a pod now; empty if it would.

    Like the API server, it evicts ended and pending pods without checking budgets.
    """
    phase = (pod.get("status") or {}).get("phase")
    if phase in ("Succeeded", "Failed", "Pending") or pod["metadata"].get("deletionTimestamp"):
        return ""
    found = budgets_of(pod, budgets)
    if len(found) > 1:
        return f"{_names(found)} select it, and Kubernetes evicts no pod of several budgets"
    return next((why for budget in found if (why := _why_none_allowed(budget))), "")


def why_never_evicted(pod: Fields, budgets: t.Iterable[Fields]) -> str:
    """Why the eviction of a pod can never succeed, with advice; empty if it can."""
    found = budgets_of(pod, budgets)
    if len(found) > 1:
        return f"{_names(found)} select the same pod: let one budget select it"
    return next((why for budget in found if (why := _why_never(budget))), "")


def name_of_budget(budget: Fields) -> str:
    """Kind, namespace and name of a budget, for messages."""
    metadata = budget["metadata"]
    return f"PodDisruptionBudget {metadata.get('namespace', '')}/{metadata['name']}"


def _selects(budget: Fields, metadata: Fields) -> bool:
    if budget["metadata"].get("namespace") != metadata.get("namespace"):
        return False
    selector = selector_of((budget.get("spec") or {}).get("selector"))
    return selector is not None and selector.selects(metadata.get("labels"))


def _names(budgets: t.Iterable[Fields]) -> str:
    return " and ".join(sorted(name_of_budget(budget) for budget in budgets))


def _why_none_allowed(budget: Fields) -> str:
    if _count(budget, "disruptionsAllowed") > 0:
        return ""
    healthy, wanted = _count(budget, "currentHealthy"), _count(budget, "desiredHealthy")
    return (
        f"{name_of_budget(budget)} allows no disruption now ({healthy} healthy, {wanted} desired)"
    )


def _why_never(budget: Fields) -> str:
    """Why a budget never allows a disruption: it requires all expected pods to be healthy.

    The disruption controller computes both numbers from the spec.
    """
    expected, wanted = _count(budget, "expectedPods"), _count(budget, "desiredHealthy")
    if not expected or wanted < expected:
        return ""
    return (
        f"{name_of_budget(budget)} ({_limit(budget)}) never lets one of {expected} pods go:"
        " lower it, or raise the replicas"
    )


def _limit(budget: Fields) -> str:
    spec = budget.get("spec") or {}
    for field in ("maxUnavailable", "minAvailable"):
        if spec.get(field) is not None:
            return f"{field}: {str(spec[field])[:20]}"
    return "minAvailable: 1"


def _count(budget: Fields, field: str) -> int:
    found = (budget.get("status") or {}).get(field)
    return found if isinstance(found, int) else 0
