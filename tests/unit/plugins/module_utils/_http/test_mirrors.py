# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Mirrors of registries; test_image_registry.py asks one."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._http.mirrors import (
    VARIABLE,
    MirrorError,
    find_mirror,
    find_problem,
)

NGC, ALL = "nvcr.io=m.example:5000/nvidia/x", "*=m.example/all"


@pytest.mark.parametrize(
    ("text", "host", "expected"),
    [
        ("", "nvcr.io", ("nvcr.io", "nim/a")),
        (NGC, "nvcr.io", ("m.example:5000", "nvidia/x/nim/a")),
        (NGC, "docker.io", ("docker.io", "nim/a")),
        (NGC, "m.example:5000", ("m.example:5000", "nim/a")),
        ("nvcr.io=m.example", "nvcr.io", ("m.example", "nim/a")),
        (ALL, "nvcr.io", ("m.example", "all/nvcr.io/nim/a")),
        (ALL, "r.example:5000", ("m.example", "all/r.example_5000/nim/a")),
        (ALL, "m.example", ("m.example", "nim/a")),
        (f" {NGC} , {ALL}, ", "nvcr.io", ("m.example:5000", "nvidia/x/nim/a")),
        (f"{NGC},{ALL}", "docker.io", ("m.example", "all/docker.io/nim/a")),
    ],
)
def test_find_mirror(monkeypatch, text, host, expected):
    monkeypatch.setenv(VARIABLE, text)
    assert find_mirror(host, "nim/a") == expected
    assert find_problem() == ""


@pytest.mark.parametrize(
    "text",
    [
        *("nvcr.io", "=m.example", "nvcr.io=", "nvcr.io=https://m.example", "nvcr.io=m.example/A"),
        *("nvcr.io=me@m.example", "nvcr.io=m.example/../x", f"nvcr.io=m.example/{'a' * 2000}"),
    ],
)
def test_find_mirror_invalid(monkeypatch, text):
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(MirrorError, match=r"NIMOPS_REGISTRY_MIRRORS: .* is not HOST=MIRROR"):
        find_mirror("nvcr.io", "nim/a")
    problem = find_problem()
    assert problem.startswith("NIMOPS_REGISTRY_MIRRORS: ")
    assert "correct this variable" in problem
