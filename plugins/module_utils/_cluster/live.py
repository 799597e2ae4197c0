# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A real cluster, for one pass."""

from __future__ import annotations

import os
import typing as t
from dataclasses import fields
from datetime import UTC, datetime

from .._base.environment import count_from
from .._base.reserved_keys import refuse_reserved_keys
from .._base.types import Json
from .._engine.adjust import Adjust
from .._engine.api_resources import api_path
from .._engine.desired import Assessment, Outcome
from .._engine.plan import Plan
from .._engine.reads import Read
from .._engine.status import SLOW_REQUEUE_SECONDS, merge_patch
from .._http.slots import Slots
from .._http.timeouts import Patience
from .client import Client
from .reader import Reader, answer_of
from .settings import read_settings
from .shared_cache import shared_answer, shared_fact
from .status_writer import refetch, write_report
from .writer import execute_plan

SLOW_REQUEUE_VARIABLE = "NIMOPS_SLOW_PAUSE"
"""Overrides the minimum requeue period of slow passes in seconds, where a run costs more."""
OBJECTS_VARIABLE = "NIMOPS_OBJECTS_PATH"
"""The path at which nimops-apiproxy answers reads of several objects; unset without it."""


class LiveCluster:
    """The answers of an API server, registries and model servers, for one pass.

    ``is_dry``: nothing is written. ``is_shared``: other passes need the worker, so the wait for
    slow servers is limited. ``is_new``: the custom resource has never been reconciled, so children
    are assumed absent without reading them. ``adjust``: see `_engine/adjust.py`.
    """

    def __init__(
        self,
        client: Client,
        namespace: str = "",
        *,
        is_dry: bool = False,
        is_shared: bool = True,
        is_new: bool = False,
        adjust: Adjust | None = None,
    ) -> None:
        self.client = client
        self.slow_period = count_from(SLOW_REQUEUE_VARIABLE, SLOW_REQUEUE_SECONDS)
        self._is_dry = is_dry
        self.is_new = is_new
        self.adjust = adjust
        self._patience = Patience(namespace, Slots()) if is_shared else None
        self.reader = Reader(client, self._patience)

    def __enter__(self) -> t.Self:
        return self

    def __exit__(self, *raised: object) -> None:
        if self._patience:
            self._patience.__exit__(*raised)

    def settings(self) -> Json:
        """The operator's configuration from the environment."""
        return read_settings()

    def prefetch(self, reads: t.Sequence[Read]) -> None:
        """Read the objects of these reads in one request, if nimops-apiproxy is there."""
        if os.environ.get(OBJECTS_VARIABLE):
            needed = [read for read in reads if not (read.is_child and self.is_new)]
            self.reader.prefetch(os.environ[OBJECTS_VARIABLE], needed)

    def answer(self, read: Read) -> t.Any:
        """The answer; empty for an optional read without permission."""
        if read.is_child and self.is_new:
            return None
        return shared_answer(read, lambda asked: answer_of(asked, self.reader))

    def write(self, plan: Plan) -> Outcome:
        """Execute a plan; in a dry run, only the planned refusals are known.

        Raises NimError for keys that Ansible reserves: they are removed from every answer, so a
        child with one would be written in each pass.
        """
        if not plan.is_empty:
            refuse_reserved_keys({item.name: getattr(plan, item.name) for item in fields(plan)})
        if not self._is_dry:
            return execute_plan(self.client, plan)
        return Outcome(
            refusals=list(plan.refusals),
            failure=plan.failure,
            failure_reason=plan.failure_reason or "Failed",
        )

    def write_status(self, resource: Json, status: Json, assessment: Assessment) -> bool:
        """Write the changes of the status, events, and triggers and patches of other resources."""
        patch = merge_patch(resource.get("status") or {}, status)
        if not self._is_dry:
            write_report(self.client, resource, patch, assessment, self.now())
        return bool(patch)

    def refetch(self, resource: Json) -> Json | None:
        """The resource with its latest status; None if it was deleted or recreated."""
        return refetch(self.client, resource)

    def watches_child(self, child: Json) -> bool:
        """Whether the runtime watches such children, because its cache contains this one."""
        metadata = child["metadata"]
        path = api_path(child["kind"], metadata.get("namespace", ""), metadata["name"])
        owners = " ".join(sorted(item["kind"] for item in metadata.get("ownerReferences") or []))
        name = f"watched: {child['kind']} of {owners}"
        return shared_fact(name, lambda: self.client.is_cached(path))

    def now(self) -> datetime:
        """The current time."""
        return datetime.now(UTC)
