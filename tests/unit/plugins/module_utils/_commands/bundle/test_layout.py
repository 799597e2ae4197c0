# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Folders in OCI's image layout."""

from __future__ import annotations

import json

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._commands.bundle import layout as module
from ansible_collections.nimops.nim.plugins.module_utils._commands.bundle.layout import (
    Descriptor,
    Entry,
    Layout,
    descriptor_of,
    parts_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._http.registry_auth import RegistryError
from ansible_collections.nimops.nim.plugins.module_utils._http.registry_client import (
    Manifest,
    digest_of,
)

DIGEST = digest_of(b"x")
TYPE = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
BLOB = {"mediaType": "t", "digest": DIGEST, "size": 1}


def manifest(document, media_type=TYPE):
    content = json.dumps(document).encode()
    return Manifest(media_type, digest_of(content), content)


def test_create_twice(tmp_path):
    folder = tmp_path / "new/bundle"
    layout = Layout.create(folder)
    layout.add("b:1", Descriptor(TYPE, DIGEST, 1))
    layout.add("a:1", Descriptor(TYPE, DIGEST, 2), is_model=True)
    layout.add("b:1", Descriptor(TYPE, DIGEST, 3))
    again = Layout.create(folder)
    assert again.entries() == [
        Entry("a:1", Descriptor(TYPE, DIGEST, 2), is_model=True),
        Entry("b:1", Descriptor(TYPE, DIGEST, 3), is_model=False),
    ]
    assert sorted(file.name for file in folder.iterdir()) == ["blobs", "index.json", "oci-layout"]


@pytest.mark.parametrize(
    ("index", "why"),
    [
        ("", "is not the index"),
        ("[]", "is not the index"),
        ("[" * 100_000, "is not the index"),
        (json.dumps({"manifests": [BLOB | {"digest": "../../x"}]}), "is not a digest"),
        (json.dumps({"manifests": [BLOB | {"size": -1}]}), "no size"),
    ],
)
def test_entries_invalid(tmp_path, index, why):
    layout = Layout.create(tmp_path / "bundle")
    (layout.folder / "index.json").write_text(index)
    with pytest.raises(NimError, match=why):
        layout.entries()


def test_entries_too_large(tmp_path, monkeypatch):
    layout = Layout.create(tmp_path / "bundle")
    layout.add("a:1", Descriptor(TYPE, DIGEST, 1))
    monkeypatch.setattr(module, "_INDEX_LIMIT", 20)
    with pytest.raises(NimError, match="is not the index"):
        layout.entries()


def test_read_manifest_damaged(tmp_path):
    layout = Layout.create(tmp_path / "bundle")
    digest = layout.store(b"x")
    assert layout.read_manifest(Descriptor(TYPE, digest, 1)).content == b"x"
    layout.path_of(digest).write_bytes(b"y")
    with pytest.raises(RegistryError, match="is damaged: run bundle again"):
        layout.read_manifest(Descriptor(TYPE, digest, 1))
    layout.path_of(digest).unlink()
    with pytest.raises(RegistryError, match="is missing: run bundle again"):
        layout.read_manifest(Descriptor(TYPE, digest, 1))


def test_read_part(tmp_path):
    layout = Layout.create(tmp_path / "bundle")
    digest = layout.store(b"0123456789")
    assert b"".join(layout.read_part(digest, 3, 4)) == b"3456"
    assert b"".join(layout.read_part(digest, 8, 4)) == b"89"


def test_parts_of():
    image = manifest({"config": BLOB, "layers": [BLOB, BLOB | {"digest": digest_of(b"y")}]})
    assert parts_of(image) == (
        [],
        [Descriptor("t", DIGEST, 1), Descriptor("t", digest_of(b"y"), 1)],
    )
    index = manifest({"manifests": [BLOB]}, INDEX)
    assert parts_of(index) == ([Descriptor("t", DIGEST, 1)], [])
    assert parts_of(manifest({})) == ([], [])


@pytest.mark.parametrize(
    "document", [{"layers": 5}, {"layers": [BLOB] * 5000}, {"layers": [{}]}, {"layers": ["x"]}]
)
def test_parts_of_invalid(document):
    with pytest.raises(RegistryError):
        parts_of(manifest(document))


@pytest.mark.parametrize(
    "fields", [{"size": True}, {"size": "1"}, {"mediaType": None}, {"mediaType": "a\nb"}]
)
def test_descriptor_of_invalid(fields):
    with pytest.raises(RegistryError, match="a descriptor has no"):
        descriptor_of(BLOB | fields)
