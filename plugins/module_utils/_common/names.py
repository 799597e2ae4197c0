# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Names of custom resources that their children could not carry."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError

MAX_NAME = 59
"""Where children are called after it, with four characters more, and that in labels."""
MAX_LABEL = 63
"""Where it stands in labels only."""


def check_name(
    cr: t.Mapping[str, t.Any], longest: int = MAX_NAME, *, is_label: bool = False
) -> None:
    """NimError if no children could be called after a resource; ``is_label``: nor with dots.

    Told before anything is made, as the API server would take some children and refuse others.
    """
    name, kind = str(cr["metadata"]["name"]), cr["kind"]
    if len(name) > longest:
        raise NimError(
            f"metadata.name: has {len(name)} characters, and what is made for a {kind} is named or"
            f" labelled after it: make it anew under a name of at most {longest}"
        )
    if is_label and "." in name:
        raise NimError(
            f"metadata.name: {name} has a dot, which containers and Services named after it must"
            f" not have: make the {kind} anew under a name without"
        )
