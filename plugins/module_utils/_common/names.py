# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Names of custom resources that their children could not carry."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError

MAX_NAME = 59
"""Children are called after it, with four characters more, and that in labels: 63 are allowed."""


def check_name(cr: t.Mapping[str, t.Any], *, is_label: bool = False) -> None:
    """NimError if no children could be called after a resource; ``is_label``: dots do not go either.

    Told before anything is made, as the API server would refuse some children and take others.
    """
    name, kind = str(cr["metadata"]["name"]), cr["kind"]
    if len(name) > MAX_NAME:
        raise NimError(
            f"metadata.name: has {len(name)} characters, and what is made for a {kind} is called"
            f" after it: make it anew under a name of at most {MAX_NAME}"
        )
    if is_label and "." in name:
        raise NimError(
            f"metadata.name: {name} has a dot, which containers and Services called after it must"
            f" not have: make the {kind} anew under a name without"
        )
