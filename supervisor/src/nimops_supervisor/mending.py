# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Has the collection take off annotations that the runtime would not survive: a program of its own.

It ends with 0, with `MENDED` if it removed any, or with 1 if it could not look.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

MENDED = 3
_DEFAULT_COLLECTIONS = "~/.ansible/collections:/usr/share/ansible/collections"


def find_collections() -> None:
    """Let Python import collections from where Ansible finds them."""
    given = os.environ.get("ANSIBLE_COLLECTIONS_PATH") or _DEFAULT_COLLECTIONS
    sys.path += [str(Path(item).expanduser()) for item in given.split(os.pathsep) if item]


def watched_namespaces() -> list[str]:
    """The namespaces that are watched; one empty name for all."""
    return [item.strip() for item in os.environ.get("WATCH_NAMESPACE", "").split(",")]


def main() -> int:
    """Mend all resources, and say which."""
    find_collections()
    from ansible_collections.nimops.nim.plugins.module_utils._k8s import (  # type: ignore[import-untyped] # noqa: PLC0415
        client,
        runtime_annotations,
    )

    told = 0
    try:
        for line in runtime_annotations.remove_harmful_annotations(client.Client(), watched_namespaces()):
            print(f"supervisor: {line}", file=sys.stderr, flush=True)
            told += 1
    except client.ApiError as error:
        print(f"supervisor: annotations could not be looked at: {error}", file=sys.stderr)
        return 1
    return MENDED if told else 0


if __name__ == "__main__":
    sys.exit(main())
