# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import re

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import OPERATOR, Observed
from ansible_collections.nimops.nim.plugins.module_utils._gpu.images import (
    IMAGES,
    given_image,
    precompiled_image,
    resolve_image,
    with_os,
)
from ansible_collections.nimops.nim.plugins.module_utils._gpu.operand_spec import parse_operand

REFERENCE = re.compile(r"[a-z0-9.-]+\.[a-z]+(/[a-z0-9-]+)+:[A-Za-z0-9.-]+")


def operand(repository="", image="", version=""):
    return parse_operand({"repository": repository, "image": image, "version": version})


@pytest.mark.parametrize("name", sorted(IMAGES))
def test_images_whole_references(name):
    assert REFERENCE.fullmatch(IMAGES[name])


@pytest.mark.parametrize(
    ("given", "image"),
    [
        (("r.test/x", "y", "1"), "r.test/x/y:1"),
        (("r.test/x", "y", "sha256:abc"), "r.test/x/y@sha256:abc"),
        (("", "r.test/x/y:1", ""), "r.test/x/y:1"),
        (("", "r.test/x/y@sha256:abc", ""), "r.test/x/y@sha256:abc"),
    ],
)
def test_given_image(given, image):
    assert given_image(operand(*given)) == image


@pytest.mark.parametrize(
    "given", [("r", "y", ""), ("r", "", "1"), ("", "y", "1"), ("r", "", ""), ("", "", "1")]
)
def test_given_image_incomplete(given):
    with pytest.raises(NimError) as caught:
        given_image(operand(*given))
    repository, image, version = given
    assert str(caught.value) == (
        "invalid image specification: repository, image and version must all be set"
        f" (repository={repository}, image={image}, version={version})"
    )


def test_resolve_image_environment():
    observed = Observed({OPERATOR: {"images": {"DCGM_IMAGE": "mirror.test/dcgm:1"}}})
    assert resolve_image(operand(), "DCGM_IMAGE", observed) == "mirror.test/dcgm:1"
    assert resolve_image(operand(), "GFD_IMAGE", observed) == IMAGES["GFD_IMAGE"]
    assert resolve_image(operand(image="r.test/a:1"), "DCGM_IMAGE", observed) == "r.test/a:1"


def test_with_os():
    assert with_os("r/d:1", "rhel9") == "r/d:1-rhel9"
    assert with_os("r/d@sha256:aa", "rhel9") == "r/d@sha256:aa"


def test_precompiled_image():
    assert precompiled_image(operand("r", "d", "1"), "6.8", "u24") == "r/d:1-6.8-u24"
    assert precompiled_image(operand(image="r/d:1"), "6.8", "u24") == "r/d:1-6.8-u24"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (("", "", ""), "have to be specified in the ClusterPolicy"),
        (("r", "d", "sha256:aa"), "driver.version: sha256:aa is a digest"),
    ],
)
def test_precompiled_image_invalid(given, why):
    with pytest.raises(NimError, match=re.escape(why)):
        precompiled_image(operand(*given), "6.8", "u24")
