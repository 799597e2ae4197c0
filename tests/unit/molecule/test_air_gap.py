# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The images and models of the scenario air_gap."""

from __future__ import annotations

import io
import json
import sys
import tarfile
from pathlib import Path

import yaml
from oci_registry import Registry, digest_of

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "molecule/air_gap"))

import bundle_images

ROOT = Path(__file__).resolve().parents[3]


def test_add_archive(tmp_path):
    """The update has the same layers and another digest."""
    files = {
        "manifest.json": json.dumps(
            [{"Config": "c.json", "RepoTags": ["r.example/acme/tiny-llm:1.0.0"], "Layers": ["l"]}]
        ).encode(),
        "c.json": json.dumps({"config": {"Env": ["A=1"]}}).encode(),
        "l": b"layer",
    }
    with tarfile.open(tmp_path / "nim.tar", "w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    registry = Registry()
    bundle_images.add_archive(registry, tmp_path / "nim.tar")
    found = {
        tag: json.loads(registry.manifests["acme/tiny-llm", tag][1]) for tag in ("1.0.0", "1.1.0")
    }
    assert [item["layers"][0]["digest"] for item in found.values()] == [digest_of(b"layer")] * 2
    assert found["1.0.0"]["config"]["digest"] == digest_of(files["c.json"])
    config = registry.blobs["acme/tiny-llm", found["1.1.0"]["config"]["digest"]]
    assert json.loads(config) == {"config": {"Env": ["A=1", "RELEASE=1.1.0"]}}


def test_make_model(tmp_path):
    """The profile that the scenario expects is one of those of the image, and there is another."""
    folder = bundle_images.make_model(tmp_path / "model", "2")
    variables = yaml.safe_load((ROOT / "molecule/shared/group_vars/all.yml").read_text())
    profiles = sorted(item.name for item in (folder / "profiles").iterdir())
    assert variables["air_gap_profile"] in profiles
    assert len(profiles) == 2
    manifest = (ROOT / "sandbox/manifest.yaml").read_text()
    assert all(f"\n{profile}:" in manifest for profile in profiles)
