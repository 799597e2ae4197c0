# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""One pass over a custom resource in one task, which also reports its own failure."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, field
from pathlib import Path

from ansible_collections.nimops.nim.plugins.module_utils._base.errors import ApiError, NimError
from ansible_collections.nimops.nim.plugins.module_utils._base.types import Json
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._cluster.counters import count_pass
from ansible_collections.nimops.nim.plugins.module_utils._cluster.live import LiveCluster
from ansible_collections.nimops.nim.plugins.module_utils._cluster.load_resource import load_resource
from ansible_collections.nimops.nim.plugins.module_utils._cluster.settings import read_settings
from ansible_collections.nimops.nim.plugins.module_utils._engine import steps
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import Outcome
from ansible_collections.nimops.nim.plugins.module_utils._engine.reconcile import reconcile
from ansible_collections.nimops.nim.plugins.module_utils._engine.runtime_annotations import (
    PERIOD,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.status import status_of
from ansible_collections.nimops.nim.plugins.module_utils._engine.steps import (
    EMPTY_REPORT,
    Report,
    is_deleted,
)
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_of
from ansible_collections.nimops.nim.plugins.plugin_utils._action import CLUSTER_SPEC, Action
from ansible_collections.nimops.nim.plugins.plugin_utils._child_filters import child_filters

_LAST_RUN = "last-run"
_NEVER = "0s"
_FOR_FINALIZER = "1s"


@dataclass(frozen=True)
class PassResult:
    """The result of a pass. ``resource``: as it was read, None if it was deleted."""

    resource: Json | None
    report: Report = EMPTY_REPORT
    outcome: Outcome = field(default_factory=Outcome)
    is_changed: bool = False

    @property
    def result(self) -> Json:
        """The result of the task: failed if an error remains, so that the caller retries."""
        error = self.report.error
        return {
            "changed": self.is_changed,
            "written": sorted(self.outcome.written),
            "deleted": sorted(self.outcome.deleted),
            **({"failed": True, "msg": error} if error else {}),
        }


class ReconcileAction(Action):
    """The base class of actions that run a pass; in check mode nothing is written."""

    spec = CLUSTER_SPEC

    def reconcile(self, arguments: Json) -> PassResult:
        """Run one pass; an error is reported in the status of the resource.

        Raises an error that could not be reported, or that is not one of ours.
        """
        client = self.connect(arguments)
        done = self._try_pass(client, arguments)
        if not self._task.check_mode:
            count(done)
        return done

    def _try_pass(self, client: Client, arguments: Json) -> PassResult:
        try:
            return self._pass(client, arguments["resource"])
        except Exception as error:
            is_known = isinstance(error, (ApiError, NimError))
            name = "" if is_known else f"unexpected {type(error).__name__}: "
            done = self._report_failure(client, arguments["resource"], f"{name}{error}")
            if done is None or not is_known:
                raise
            return done

    def _pass(self, client: Client, given: Json) -> PassResult:
        kind, resource = kind_of(given), load_resource(client, given)
        if resource is None or is_deleted(resource):
            mark_work_folder_unused()
        if resource is None:
            return PassResult(None)
        is_dry = self._task.check_mode
        namespace = resource["metadata"].get("namespace") or ""
        is_new = not is_dry and not status_of(resource)
        with LiveCluster(
            client, namespace, is_dry=is_dry, is_new=is_new, adjust=child_filters()
        ) as cluster:
            done = reconcile(kind, resource, cluster)
        is_changed = done.report.changed or not done.plan.is_empty
        return PassResult(resource, done.report, done.outcome, is_changed)

    def _report_failure(self, client: Client, given: Json, failure: str) -> PassResult | None:
        with contextlib.suppress(ApiError, NimError):
            kind, resource = kind_of(given), load_resource(client, given, strict=False)
            if resource is None:
                return PassResult(None)
            cluster = LiveCluster(client, is_dry=self._task.check_mode, is_shared=False)
            report = steps.report(kind, resource, {}, Outcome(failure=failure), cluster)
            return PassResult(resource, report, is_changed=report.changed)
        return None


def count(done: PassResult) -> None:
    """Add a pass to the counters that the operator serves as metrics."""
    if done.resource is not None:
        version = read_settings()["version"]
        report = done.report
        count_pass(done.resource, report.status, done.outcome, version, report.gauges)


def period_of(done: PassResult) -> str:
    """The requeue period; without this task the runtime would use its default."""
    if done.resource is None:
        return _NEVER
    if is_deleted(done.resource):
        return _FOR_FINALIZER
    annotations = done.resource["metadata"].get("annotations") or {}
    return done.report.period or annotations.get(PERIOD) or kind_of(done.resource).reconcile_period


def mark_work_folder_unused() -> None:
    """Mark the operator's work folder of this run as no longer needed."""
    if artifacts := os.environ.get("AWX_ISOLATED_DATA_DIR"):  # <work folder>/artifacts/<run>
        with contextlib.suppress(OSError):
            Path(artifacts).parents[1].joinpath(_LAST_RUN).touch(mode=0o600)
