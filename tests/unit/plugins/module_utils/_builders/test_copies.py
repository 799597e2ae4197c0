# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import TOO_LARGE, NimError
from ansible_collections.nimops.nim.plugins.module_utils._builders.copies import refuse_copies

KIB = "x" * 1022
"""1 KiB as JSON."""


def test_refuse_copies_names_fields() -> None:
    shared = {"spec.env": [KIB] * 3, "spec.proxy": "x"}
    with pytest.raises(NimError) as caught:
        refuse_copies(shared, "spec.sidecarContainers", 900)
    assert caught.value.reason == TOO_LARGE
    assert str(caught.value) == (
        "spec.env (3 KiB) in each of 900 spec.sidecarContainers makes 2.6 MiB, and an object may"
        " have 1 MiB: use fewer or smaller entries (running workloads stay unchanged)"
    )


@pytest.mark.parametrize(("copies", "is_refused"), [(0, False), (1024, False), (1025, True)])
def test_refuse_copies_limit(copies: int, is_refused: bool) -> None:
    try:
        refuse_copies({"spec.env": KIB, "spec.proxy": None}, "spec.initContainers", copies)
    except NimError:
        assert is_refused
    else:
        assert not is_refused
