# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Which pods tell why they are not ready, by what the API server's table shows of them.

Two hundred whole pods are megabytes, and a few tell why. Those that are only starting do not.
"""

from __future__ import annotations

import re
import typing as t
from collections import Counter

from .conditions import find_condition

MOST = 5
"""How many are looked at."""
_NAME, _READY, _STATUS, _RESTARTS = "Name", "Ready", "Status", "Restarts"
_STARTING = re.compile(r"Running|ContainerCreating|PodInitializing|Init:\d+/\d+")


def unready_names(table: t.Mapping[str, t.Any]) -> list[str]:
    """The first few: one of each state, then more of the same."""
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
    return [name for _number, name in found[:MOST]]


def is_unready(pod: t.Mapping[str, t.Any]) -> bool:
    """Whether a whole pod is not ready."""
    conditions = (pod.get("status") or {}).get("conditions")
    return (find_condition(conditions, "Ready") or {}).get("status") != "True"
