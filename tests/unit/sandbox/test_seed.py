# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

from nimops_sandbox import seed


def test_api_paths(tmp_path: Path) -> None:
    file = tmp_path / "objects.yaml"
    file.write_text(
        "apiVersion: v1\n---\napiVersion: resource.k8s.io/v1\nspec:\n  apiVersion: inner/v1\n"
    )
    assert seed.api_paths(file) == ["/api/v1", "/apis/resource.k8s.io/v1"]


def test_digest_folder(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "kustomization.yaml").write_text("a")
    before = seed.digest([tmp_path])
    (tmp_path / "inner/more.yaml").write_text("b")
    assert seed.digest([tmp_path]) == before
    (tmp_path / "kustomization.yaml").write_text("b")
    assert seed.digest([tmp_path]) != before
