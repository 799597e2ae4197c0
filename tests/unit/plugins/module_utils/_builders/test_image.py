# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._builders.image import Image, parse_image

GIVEN = {"repository": "h:5000/a", "tag": "1"}


@pytest.mark.parametrize(
    ("given", "image"),
    [
        pytest.param(GIVEN, Image("h:5000/a:1", "1"), id="plain"),
        pytest.param(
            GIVEN | {"pullPolicy": None, "pullSecrets": None}, Image("h:5000/a:1", "1"), id="unset"
        ),
        pytest.param(
            GIVEN | {"pullPolicy": "Always", "pullSecrets": ["a", "b"]},
            Image("h:5000/a:1", "1", "Always", ["a", "b"]),
            id="all",
        ),
        pytest.param(None, Image(""), id="none"),
    ],
)
def test_parse_image(given: t.Any, image: Image) -> None:
    assert parse_image(given) == image
