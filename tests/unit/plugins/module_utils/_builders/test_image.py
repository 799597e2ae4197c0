# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._builders.image import Image, parse_image

GIVEN = {"repository": "h:5000/a", "tag": "1"}


PARSE_IMAGE_CASES = {
    "plain": (GIVEN, Image("h:5000/a:1", "1")),
    "unset": (GIVEN | {"pullPolicy": None, "pullSecrets": None}, Image("h:5000/a:1", "1")),
    "all": (
        GIVEN | {"pullPolicy": "Always", "pullSecrets": ["a", "b"]},
        Image("h:5000/a:1", "1", "Always", ["a", "b"]),
    ),
    "none": (None, Image("")),
}


@pytest.mark.parametrize(("given", "image"), PARSE_IMAGE_CASES.values(), ids=PARSE_IMAGE_CASES)
def test_parse_image(given: t.Any, image: Image) -> None:
    assert parse_image(given) == image
