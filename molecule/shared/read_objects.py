# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Prints the list of objects on stdin, from kubectl, as one object by `Kind/name`.

Templates parse it at each use, so entries of managed fields have no `fieldsV1`, except with
`--fields`.
"""

from __future__ import annotations

import json
import sys


def by_key(text: str, with_fields: bool) -> dict[str, object]:
    """The items of a List by `Kind/name`, in their order."""
    items = json.loads(text)["items"]
    if not with_fields:
        for item in items:
            for entry in item["metadata"].get("managedFields", ()):
                entry.pop("fieldsV1", None)
    return {f"{item['kind']}/{item['metadata']['name']}": item for item in items}


if __name__ == "__main__":
    json.dump(by_key(sys.stdin.read(), "--fields" in sys.argv), sys.stdout, separators=(",", ":"))
