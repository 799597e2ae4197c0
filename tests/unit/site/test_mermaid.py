# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import base64
import hashlib
import io
import tarfile

import pytest
from site_mermaid import SCRIPT, FetchError, read_script


def pack(name: str, content: bytes) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return file.getvalue()


def integrity_of(package: bytes) -> str:
    return f"sha512-{base64.b64encode(hashlib.sha512(package).digest()).decode()}"


def test_read_script() -> None:
    package = pack(SCRIPT, b"draw()")
    assert read_script(package, integrity_of(package)) == b"draw()"


def test_read_script_of_another_package() -> None:
    pinned = integrity_of(pack(SCRIPT, b"draw()"))
    with pytest.raises(FetchError, match="the package has the digest sha512-"):
        read_script(pack(SCRIPT, b"steal()"), pinned)
