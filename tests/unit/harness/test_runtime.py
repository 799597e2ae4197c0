# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The folders and the environment of an operator."""

from __future__ import annotations

import typing as t

import pytest
from nimops_harness.runtime import list_kept, make_environment


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"PATH": "/usr/bin:/bin"}, []),
        ({"PATH": "/usr/bin:/tmp/a/b/bin:/tmp/a/bin"}, ["/tmp/a"]),
        ({"KUBECONFIG": "/tmp/c/kubeconfig"}, ["/tmp/c"]),
        ({"PATH": "/tmpa/bin", "KUBECONFIG": "/var/tmp/k"}, []),
    ],
    ids=["nothing-below-tmp", "programs", "kubeconfig", "other-folders"],
)
def test_list_kept(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], expected: list[str]
) -> None:
    import nimops_harness.runtime as module

    monkeypatch.setattr(module, "ROOT", module.Path("/checkout"))
    monkeypatch.setattr(module.sys, "prefix", "/checkout/.venv")
    monkeypatch.setattr(module.sys, "base_prefix", "/usr")
    assert [str(path) for path in list_kept(environment)] == expected


@pytest.mark.parametrize(
    ("side", "expected"), [("stock", {"PREFORK": "off", "A": "1"}), ("prefork", {"A": "1"})]
)
def test_make_environment(
    monkeypatch: pytest.MonkeyPatch, side: t.Any, expected: dict[str, str]
) -> None:
    monkeypatch.setenv("PREFORK_DIR", "/somewhere")
    made = make_environment(side, A="1")
    assert {k: v for k, v in made.items() if k.startswith("PREFORK") or k == "A"} == expected
