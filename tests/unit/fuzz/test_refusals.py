# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Refusals of an API server."""

from __future__ import annotations

import pytest
from nimops_fuzz.cluster import kind_of_refusal, names_field

LONG = 'Service "x" is invalid: [metadata.name: Invalid value: "x:y": must be no more than 63 characters]'


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        (LONG, "Service: metadata.name: Invalid value: must be no more than N characters]"),
        ('Job "a" is invalid: spec.a[3].b: Required value', "Service: spec.a[].b: Required value"),
        ("nothing of that kind", "Service: nothing of that kind"),
    ],
)
def test_kind_of_refusal(message: str, kind: str) -> None:
    assert kind_of_refusal("Service", message) == kind


@pytest.mark.parametrize(
    ("names", "named"), [(("name",), True), (("b", "metadata"), True), (("spec",), False)]
)
def test_names_field(names: tuple[str, ...], named: bool) -> None:
    assert names_field(LONG, names) is named
