# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Custom resources that the reference operator serves are accepted, and its bad ones refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
CONFORMANCE = ROOT.parent / "shared/conformance"
KINDS = {
    yaml.safe_load(path.read_text())["spec"]["names"]["kind"]
    for path in (ROOT / "config/crd/bases").glob("*.yaml")
}


def manifests(*folders: Path) -> list[Any]:
    return [
        pytest.param(document, id=f"{path.stem}-{document['kind']}-{document['metadata']['name']}")
        for folder in folders
        for path in sorted(folder.glob("*.yaml"))
        for document in yaml.safe_load_all(path.read_text())
        if document and document.get("kind") in KINDS
    ]


@pytest.mark.skipif(not CONFORMANCE.is_dir(), reason="there are no cases at ../shared/conformance")
@pytest.mark.parametrize("manifest", manifests(CONFORMANCE / "cases", CONFORMANCE / "nemo/cases"))
def test_conformance_case(cluster: Any, manifest: dict[str, Any]) -> None:
    assert cluster.create(manifest) is None


@pytest.mark.skipif(not CONFORMANCE.is_dir(), reason="there are no cases at ../shared/conformance")
@pytest.mark.parametrize("manifest", manifests(CONFORMANCE / "bad"))
def test_conformance_invalid_case(cluster: Any, manifest: dict[str, Any]) -> None:
    refusal = cluster.create(manifest)
    assert refusal, "accepted"
    assert "spec." in refusal.message


@pytest.mark.parametrize("manifest", manifests(ROOT / "config/samples"))
def test_conformance_sample(cluster: Any, manifest: dict[str, Any]) -> None:
    assert cluster.create(manifest) is None
