# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Remove the watches of kinds that the API server lacks; the runtime would exit after waiting for them for two minutes.

A separate program, which uses the collection. `WATCHES OUTPUT` writes the remaining watches to OUTPUT if kinds are
missing. Exit codes: 0 all kinds exist, `LACKING` some are missing, 1 could not check. `WATCHES OUTPUT --wait` writes
nothing, and waits until the kinds of the API server differ from those in OUTPUT.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from nimops_supervisor import collection_path

LACKING = 3
WAIT = "--wait"
_WAIT_SECONDS = 10.0

Watch = dict[str, Any]
Get = Callable[[str], dict[str, Any] | None]
"""Returns the document at a path of the API server, or None."""


def served_watches(watches: Sequence[Watch], get: Get) -> list[Watch]:
    """The watches of the kinds that the API server has."""
    kinds: dict[str, set[str]] = {}
    for watch in watches:
        version = f"{watch['group']}/{watch['version']}"
        if version not in kinds:
            found = get(f"/apis/{version}") or {}
            kinds[version] = {resource["kind"] for resource in found.get("resources") or []}
    return [watch for watch in watches if watch["kind"] in kinds[f"{watch['group']}/{watch['version']}"]]


def main() -> int:
    """Check once, or wait for a change."""
    given, output, waiting = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:] == [WAIT]
    collection_path.add_to_path()
    import yaml  # noqa: PLC0415
    from ansible_collections.nimops.nim.plugins.module_utils._base import errors  # noqa: PLC0415
    from ansible_collections.nimops.nim.plugins.module_utils._cluster import client  # noqa: PLC0415

    watches = yaml.safe_load(given.read_text())
    get = client.Client().get
    if not waiting:
        try:
            served = served_watches(watches, get)
        except errors.ApiError as error:
            log(f"cannot read the kinds of the API server: {error}")
            return 1
        if served == watches:
            return 0
        output.write_text(json.dumps(served))
        for watch in watches:
            if watch not in served:
                log(f"{watch['kind']} is not watched: the API server has no such kind until its CRD is applied")
        return LACKING
    before = json.loads(output.read_text())
    while True:
        time.sleep(_WAIT_SECONDS)
        try:
            served = served_watches(watches, get)
        except errors.ApiError:
            continue  # The API server comes back, or the runtime exits.
        if served != before:
            log("the kinds of the API server changed: restarting the runtime")
            return 0


def log(text: str) -> None:
    """Print a line to stderr."""
    print(f"supervisor: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
