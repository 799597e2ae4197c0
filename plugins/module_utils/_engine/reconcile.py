# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""One reconcile pass over one custom resource, in a live or simulated cluster."""

from __future__ import annotations

from dataclasses import dataclass

from .._base.types import Json
from . import steps
from .desired import Desired, Outcome
from .kind import AnyKind
from .observed import Observed
from .plan import Plan
from .steps import Cluster, Report


@dataclass(frozen=True)
class Pass:
    """The answers, desired objects, plan, outcome and report of one pass."""

    answers: Json
    desired: Desired
    plan: Plan
    outcome: Outcome
    report: Report


def reconcile(kind: AnyKind, resource: Json, cluster: Cluster) -> Pass:
    """Observe, plan, write, and report. Raises ApiError if the API server does not answer.

    If a child of a new resource already exists, for example after a restore from a backup, creating
    it is refused and the pass restarts.
    """
    while True:
        answers = steps.observe(kind, resource, cluster)
        desired, plan = steps.plan(kind, resource, Observed(answers), cluster.adjust)
        outcome = steps.write(plan, cluster)
        if not (outcome.raced and cluster.is_new):
            break
        cluster.is_new = False
    report = steps.report(kind, resource, answers, outcome, cluster)
    return Pass(answers, desired, plan, outcome, report)
