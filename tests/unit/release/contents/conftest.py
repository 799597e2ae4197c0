# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import io
import json
import tarfile

import pytest
from nimops_release.contents.image import Image


def pack_layer(files: dict[str, str | bytes | None], links: dict[str, str]) -> bytes:
    """A layer; None denotes a folder."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            data = content.encode() if isinstance(content, str) else content or b""
            member.size = len(data)
            member.type = tarfile.DIRTYPE if content is None else tarfile.REGTYPE
            archive.addfile(member, io.BytesIO(data))
        for name, target in links.items():
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, target
            archive.addfile(member)
    return packed.getvalue()


@pytest.fixture
def make_image(tmp_path):
    """Build an image from layers."""

    def make(*layers: dict[str, str | bytes | None], links=None, config=None) -> Image:
        files = {"c0ffee.json": json.dumps(config or {}).encode()}
        files |= {f"{i}.tar": pack_layer(layer, links or {}) for i, layer in enumerate(layers)}
        manifest = [
            {
                "Config": "c0ffee.json",
                "RepoTags": ["a.example/b:1"],
                "Layers": [name for name in files if name.endswith(".tar")],
            }
        ]
        files["manifest.json"] = json.dumps(manifest).encode()
        archive = tmp_path / "image.tar"
        archive.write_bytes(pack_layer(files, {}))
        return Image(archive)

    return make
