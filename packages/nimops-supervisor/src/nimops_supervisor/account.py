# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Warn about invalid mirrors, and if no policy limits the operator's account.

A separate program, which uses the collection.

Exit codes: 0 checked, 1 could not check.
"""

from __future__ import annotations

import sys

from nimops_supervisor import collection_path, repair

SECONDS = 3600.0
"""Interval of the check; the first one follows a start."""


def main() -> int:
    """Check once, and report on stderr."""
    collection_path.add_to_path()
    from ansible_collections.nimops.nim.plugins.module_utils._base import errors  # noqa: PLC0415
    from ansible_collections.nimops.nim.plugins.module_utils._cluster import account_limits, client  # noqa: PLC0415
    from ansible_collections.nimops.nim.plugins.module_utils._http import mirrors  # noqa: PLC0415

    if problem := mirrors.find_problem():
        _warn(problem)
    connection = client.Client()
    try:
        namespace = repair.watched_namespaces()[0] or connection.namespace
        for line in account_limits.find_missing_limits(connection, namespace):
            _warn(line)
    except errors.ApiError as error:
        print(f"supervisor: cannot check what limits the operator's account: {error}", file=sys.stderr)
        return 1
    return 0


def _warn(text: str) -> None:
    print(f"supervisor: WARNING: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
