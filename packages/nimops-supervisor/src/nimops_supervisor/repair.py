# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Remove the annotations that would crash the runtime. A separate program, which uses the collection.

Exit codes: 0 nothing to remove, `REPAIRED` removed some, 1 could not check.
"""

from __future__ import annotations

import os
import sys

from nimops_supervisor import collection_path, component

REPAIRED = 3


def watched_namespaces() -> list[str]:
    """The watched namespaces; a single empty name stands for all."""
    return [item.strip() for item in os.environ.get("WATCH_NAMESPACE", "").split(",")]


def main() -> int:
    """Repair all resources, and report each removal on stderr."""
    collection_path.add_to_path()
    from ansible_collections.nimops.nim.plugins.module_utils import _kinds  # noqa: PLC0415
    from ansible_collections.nimops.nim.plugins.module_utils._base import errors  # noqa: PLC0415
    from ansible_collections.nimops.nim.plugins.module_utils._cluster import client, runtime_annotations  # noqa: PLC0415

    # The operator has no permission to list a kind whose part of the installation is missing.
    installed = {"", *component.served()}
    kinds = [name for name in _kinds.kind_names() if _kinds.kind_of({"kind": name}).component in installed]
    removed = 0
    try:
        for line in runtime_annotations.remove_harmful_annotations(client.Client(), kinds, watched_namespaces()):
            print(f"supervisor: {line}", file=sys.stderr, flush=True)
            removed += 1
    except errors.ApiError as error:
        print(f"supervisor: cannot check annotations: {error}", file=sys.stderr)
        return 1
    return REPAIRED if removed else 0


if __name__ == "__main__":
    sys.exit(main())
