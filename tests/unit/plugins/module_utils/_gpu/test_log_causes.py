# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._gpu.log_causes import (
    MAX_LOG,
    explain_log,
    explain_pull,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Unloading nouveau driver...\nmodprobe: FATAL: Module nouveau is in use.", "blacklist it"),
        ("Could not resolve Linux kernel version", "no kernel headers"),
        ("E: Unable to locate package linux-headers-6.8.0-45-generic", "no kernel headers"),
        ("Failed to initialize NVML: Driver/library version mismatch", "another driver version"),
        ("rmmod: ERROR: Module nvidia is in use by: nvidia_uvm", "the old driver is still in use"),
        ("modprobe: ERROR: could not insert 'nvidia': Required key not available", "Secure Boot"),
        ("No devices found. Waiting indefinitely.", "no GPU is found"),
        ('FailedCreatePodSandBox: no runtime for "nvidia" is configured', "RuntimeClass"),
        ("could not load NVML library: libnvidia-ml.so.1", "no driver libraries"),
        ("CUDA driver version is insufficient for CUDA runtime version", "CUDA does not work"),
        ("everything is fine", ""),
        ("", ""),
    ],
)
def test_explain_log(text, expected):
    found = explain_log(text)
    assert (expected in found) if expected else found == ""


def test_explain_log_fixed_texts():
    assert "s3cret" not in explain_log("nouveau s3cret\x1b[31m")


def test_explain_log_end_only():
    assert explain_log("nouveau" + " " * MAX_LOG) == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("manifest for r/driver:1-ubuntu24.04 not found: manifest unknown", "no such image"),
        ("pull access denied, 401 Unauthorized", "imagePullSecrets"),
        ("dial tcp: lookup r: no such host", "cannot reach the registry"),
        ("something else", ""),
    ],
)
def test_explain_pull(text, expected):
    found = explain_pull(text)
    assert (expected in found) if expected else found == ""
