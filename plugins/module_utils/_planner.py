# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""From a custom resource and what was observed to what has to be written, as plain data."""

from __future__ import annotations

import typing as t
from dataclasses import asdict

from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._common.plan import Plan, make_plan
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_of

Json = dict[str, t.Any]


def plan_for(resource: Json, answers: Json) -> Json:
    """The lists of `Plan`, ``failure`` and ``failure_reason``.

    A spec that cannot be served is a failure in the plan, not an error. What is being deleted wants
    nothing.
    """
    seen = Observed(answers)
    made, failure, reason = Plan(), "", ""
    try:
        if not resource["metadata"].get("deletionTimestamp"):
            wanted = kind_of(resource).desired(resource, seen)
            made = make_plan(resource, wanted, seen)
            if wanted.failure:
                raise wanted.failure
    except NimError as error:
        failure, reason = str(error), error.reason
    return asdict(made) | {"failure": failure, "failure_reason": reason}
