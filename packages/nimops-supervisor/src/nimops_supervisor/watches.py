# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Leave out watches of kinds that the API server lacks: the runtime would exit after two minutes of waiting for them.

A separate program, which uses the collection: `WATCHES OUTPUT` writes the other watches to OUTPUT if there are kinds to
leave out. Exit codes: 0 all kinds are there, `LACKING` some are not, 1 could not ask. With `--wait` after both, it
writes nothing, but waits until there are other kinds than OUTPUT has.
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
Ask = Callable[[str], dict[str, Any] | None]
"""The document at a path of the API server; None if there is none."""


def served_watches(watches: Sequence[Watch], ask: Ask) -> list[Watch]:
    """The watches of kinds that the API server has."""
    kinds: dict[str, set[str]] = {}
    for watch in watches:
        version = f"{watch['group']}/{watch['version']}"
        if version not in kinds:
            found = ask(f"/apis/{version}") or {}
            kinds[version] = {resource["kind"] for resource in found.get("resources") or []}
    return [watch for watch in watches if watch["kind"] in kinds[f"{watch['group']}/{watch['version']}"]]


def main() -> int:
    """Ask once, or wait."""
    given, output, waiting = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:] == [WAIT]
    collection_path.add_to_path()
    import yaml  # noqa: PLC0415
    from ansible_collections.nimops.nim.plugins.module_utils._cluster import (  # type: ignore[import-untyped] # noqa: PLC0415
        client,
    )

    watches = yaml.safe_load(given.read_text())
    ask = client.Client().get
    if not waiting:
        try:
            served = served_watches(watches, ask)
        except client.ApiError as error:
            say(f"cannot ask for the kinds of the API server: {error}")
            return 1
        if served == watches:
            return 0
        output.write_text(json.dumps(served))
        for watch in watches:
            if watch not in served:
                say(f"{watch['kind']} is not watched: the API server has no such kind until its CRD is applied")
        return LACKING
    before = json.loads(output.read_text())
    while True:
        time.sleep(_WAIT_SECONDS)
        try:
            served = served_watches(watches, ask)
        except client.ApiError:
            continue  # it will come back, or the runtime ends
        if served != before:
            say("the API server has other kinds now: starting again")
            return 0


def say(text: str) -> None:
    """Print a line to stderr."""
    print(f"supervisor: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
