# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Leftovers in /tmp."""

from __future__ import annotations

from pathlib import Path

import pytest
from nimops_faults.leftovers import judge_paths
from nimops_harness.files import list_paths

RUNS = "ansible-operator/runner/apps.nvidia.com/v1alpha1"


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        ([], []),
        (["ansible-operator/", "ansible-operator/runner/", f"{RUNS}/NIMService/", ".ansible/tmp/"], []),
        ([f"{RUNS}/NIMService/x/a/env/extravars", f"{RUNS}/NIMService/x/a/inventory/hosts"],
         ["1 work folders: NIMService/x/a"]),
        ([f"{RUNS}/NIMService/x/a/", f"{RUNS}/NIMCache/x/c/"],
         ["2 work folders: NIMCache/x/c, NIMService/x/a"]),
        (["kubeconfig1", ".ansible/tmp/ansible-local-7/x/y", ".ansible/tmp/ansible-local-7/z"],
         ["2 temporary files: .ansible/tmp/ansible-local-7, kubeconfig1"]),
        ([".ansible/tmp/ansible-local-7/"], ["1 temporary files: .ansible/tmp/ansible-local-7"]),
    ],
    ids=["nothing", "made-once", "one-run", "two-runs", "files", "empty-folder-of-a-run"],
)  # fmt: skip
def test_judge_paths(paths: list[str], expected: list[str]) -> None:
    assert judge_paths(paths) == expected


def test_judge_paths_mounted() -> None:
    paths = ["checkout/", "checkout/file", "other/"]
    assert judge_paths(paths, [Path("/tmp/checkout")]) == [
        "2 temporary files: checkout/file, other"
    ]


def test_list_paths(tmp_path: Path) -> None:
    assert list_paths(tmp_path) == [""]
    for folder in ("a/b", "c"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "a" / "file").touch()
    assert list_paths(tmp_path) == ["a/b/", "a/file", "c/"]
