# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from nimops_image.architecture import read_architecture, require_architecture
from nimops_sandbox.errors import SetupError


@pytest.mark.parametrize(
    ("given", "name"),
    [("", "x86_64"), ("aarch64", "aarch64"), ("arm64", "aarch64"), ("amd64", "x86_64")],
)
def test_read_architecture(given, name):
    assert read_architecture({"IMAGE_ARCH": given}, "x86_64") == name


def test_read_architecture_unsupported():
    with pytest.raises(SetupError, match="IMAGE_ARCH=riscv64: must be"):
        read_architecture({"IMAGE_ARCH": "riscv64"}, "x86_64")


QEMU = "{}\ninterpreter /usr/libexec/qemu-binfmt/aarch64-binfmt-P\nflags: {}\noffset 0\n"


@pytest.mark.parametrize(
    ("wanted", "entry"),
    [
        pytest.param("x86_64", None, id="its own"),
        pytest.param("aarch64", QEMU.format("enabled", "POCF"), id="emulated"),
    ],
)
def test_buildable_architectures(tmp_path, wanted, entry):
    if entry:
        (tmp_path / "qemu-aarch64").write_text(entry)
    require_architecture(wanted, "x86_64", tmp_path)


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(None, id="no emulator"),
        pytest.param(QEMU.format("disabled", "POCF"), id="off"),
        pytest.param(QEMU.format("enabled", "POC"), id="not in a chroot"),
    ],
)
def test_unbuildable_architectures(tmp_path, entry):
    if entry:
        (tmp_path / "qemu-aarch64").write_text(entry)
    with pytest.raises(SetupError, match=r"this machine is x86_64.*register an emulator"):
        require_architecture("aarch64", "x86_64", tmp_path)
