# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import io
import tarfile
from pathlib import Path

from nimops_attack.secrets import find_needles, read_tar

NEEDLES = {"canary-4711": "ngc-secret[key]"}


def test_find_needles_in_archive(tmp_path: Path) -> None:
    path = tmp_path / "a.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, text in (("logs/a.log", b"x canary-4711"), ("index.json", b"{}")):
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
    assert find_needles(read_tar(path), NEEDLES) == ["ngc-secret[key] in gather logs/a.log"]
