# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""nim_install applies the same objects as the kustomizations in config/."""

from __future__ import annotations

import functools
import os
import shutil
from pathlib import Path

import nimops_kustomize as kustomize
import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._commands.install.manifests import (
    COMPONENTS,
    Order,
    select_manifests,
)

ROOT = Path(__file__).resolve().parents[3]
IMAGE = "registry.example.com/nim-operator:1.2.3"
PUBLISHER = yaml.safe_load((ROOT / "release/publisher.yaml").read_text())
NEMO = frozenset({"nemo"})

pytestmark = pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl is not on PATH")


WITH_SCHEMAS = "overlays/gpu"
"""The overlay with all CRDs. The other builds are of CRDs without schemas, which take kubectl a second less."""


@pytest.fixture(scope="module")
def build():
    """Build an overlay with an image, below the checkout, as kustomize requires."""
    folder = ROOT / "build/install-manifests"
    folder.mkdir(parents=True, exist_ok=True)

    @functools.cache
    def run(overlay):
        name, _colon, tag = IMAGE.rpartition(":")
        images = [{"name": f"{PUBLISHER['registry']}/nim-operator", "newName": name, "newTag": tag}]
        config = ROOT / "config" if overlay == WITH_SCHEMAS else kustomize.copy_config()
        place = os.path.relpath(config / overlay, folder)
        content = {"resources": [place], "images": images}
        (folder / "kustomization.yaml").write_text(yaml.safe_dump(content))
        return kustomize.build(folder)

    yield run
    shutil.rmtree(folder)


def by_key(items):
    found = {}
    for item in items:
        metadata = item["metadata"]
        if item["kind"].startswith("ValidatingAdmissionPolicy"):  # cluster-scoped
            metadata.pop("namespace", None)
        found[item["kind"], metadata.get("namespace"), metadata["name"]] = item
    assert len(found) == len(items)
    return found


OVERLAYS = {
    "default": Order(NEMO, IMAGE),
    "overlays/gpu": Order(NEMO | {"gpu"}, IMAGE),
    "overlays/without-nemo": Order(frozenset(), IMAGE),
    "overlays/namespaced": Order(NEMO, IMAGE, ("nim",)),
}


def without_schemas(items):
    return [
        kustomize.without_schema(item) if item["kind"] == "CustomResourceDefinition" else item
        for item in items
    ]


@pytest.mark.parametrize(("overlay", "order"), OVERLAYS.items(), ids=OVERLAYS)
def test_select_manifests_like_overlay(build, overlay, order):
    found = select_manifests(order)
    if overlay != WITH_SCHEMAS:
        found = without_schemas(found)
    assert by_key(found) == by_key(build(overlay))


def test_select_manifests_without_operator(build):
    shared = by_key(without_schemas(select_manifests(Order())))
    built = by_key(build("default"))
    assert {key: built[key] for key in shared} == shared
    assert {kind for kind, _namespace, _name in shared} == {
        "ClusterRole",
        "CustomResourceDefinition",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    }
    files = {path.stem for path in (ROOT / "config/rbac").glob("*_role.yaml")}
    for_users = {
        name for name in files if name.endswith(("admin_role", "editor_role", "viewer_role"))
    }
    roles = {name for kind, _namespace, name in shared if kind == "ClusterRole"}
    assert roles == {f"nimops-{name.replace('_', '-')}" for name in for_users}


def test_components():
    names = {path.name for path in (ROOT / "config/components").iterdir()}
    assert set(COMPONENTS) == {name for name in names if not name.startswith("without-")}
