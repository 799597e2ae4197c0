# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Selects unready pods to read, from rows of the API server's table.

Two hundred whole pods are megabytes, and a few are enough to explain a problem. Pods that are only
starting do not.
"""

from __future__ import annotations

import re
from collections import Counter

from .._base.types import Fields
from .conditions import find_condition

MAX_PODS = 5
"""Maximum number of pods to read."""
_NAME, _READY, _STATUS, _RESTARTS = "Name", "Ready", "Status", "Restarts"
_STARTING = re.compile(r"Running|ContainerCreating|PodInitializing|Init:\d+/\d+")


def unready_names(table: Fields) -> list[str]:
    """The names of a few unready pods: one per state first, then more of each state."""
    columns = [str(column.get("name")) for column in table.get("columnDefinitions") or []]
    before: Counter[tuple[str, bool]] = Counter()
    found = []
    for row in table.get("rows") or []:
        cells = dict(zip(columns, map(str, row.get("cells") or []), strict=False))
        ready, _sign, wanted = cells.get(_READY, "").partition("/")
        status, is_new = cells.get(_STATUS, ""), cells.get(_RESTARTS, "0").startswith("0")
        is_ready = status == "Running" and ready == wanted
        if _NAME in cells and not is_ready and not (is_new and _STARTING.fullmatch(status)):
            found.append((before[status, is_new], cells[_NAME]))
            before[status, is_new] += 1
    found.sort(key=lambda item: item[0])
    return [name for _number, name in found[:MAX_PODS]]


def is_unready(pod: Fields) -> bool:
    """Whether a whole pod is not ready."""
    conditions = (pod.get("status") or {}).get("conditions")
    return (find_condition(conditions, "Ready") or {}).get("status") != "True"
