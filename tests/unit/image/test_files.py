# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import platform
import shutil
import subprocess

import pytest
from ansible_prefork import native
from nimops_image import files


def test_write_client_version(tmp_path):
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    files.write_client(tmp_path, platform.machine(), pytest.fail)
    shown = subprocess.run([tmp_path / native.NAME], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == native.digest()


def test_write_client_without_compiler(tmp_path):
    messages = []
    files.write_client(tmp_path, "vax", messages.append)
    assert list(tmp_path.iterdir()) == []
    assert "no vax-linux-gnu-gcc" in messages[0]
